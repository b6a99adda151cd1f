package router

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// ParkName writes a park's name as people type it: lane@generation:offset>destination.
func ParkName(id spool.ParkID) string {
	return fmt.Sprintf("%s@%d:%d>%s", id.Lane, id.Generation, id.Offset, id.Destination)
}

// ParseParkName reads what ParkName writes.
func ParseParkName(name string) (spool.ParkID, error) {
	bad := admin.Errorf(admin.BadRequest,
		"names look like 'ams/orders@1764534000000:12>nyc', in quotes: the shell takes > for itself; cloudqueue parking list",
		"%q names no parked message", name)
	head, dest, ok1 := strings.Cut(name, ">")
	head, offset, ok2 := cutLast(head, ":")
	laneName, gen, ok3 := cutLast(head, "@")
	lane, err := federation.ParseLane(laneName)
	if !ok1 || !ok2 || !ok3 || err != nil {
		return spool.ParkID{}, bad
	}
	g, err1 := strconv.ParseUint(gen, 10, 64)
	n, err2 := strconv.ParseUint(offset, 10, 64)
	site, target, hasTarget := strings.Cut(dest, ":")
	id := spool.ParkID{Lane: lane, Generation: federation.Generation(g), Offset: federation.Offset(n), Destination: federation.Destination{Site: federation.SiteID(site)}}
	if hasTarget {
		t, err := strconv.ParseUint(target, 10, 8)
		if err != nil {
			return spool.ParkID{}, bad
		}
		id.Destination.Target = uint8(t)
	}
	if err1 != nil || err2 != nil {
		return spool.ParkID{}, bad
	}
	return id, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// comparePark is the order of a list: lane, generation, offset, destination.
func comparePark(a, b spool.ParkID) int {
	return cmp.Or(strings.Compare(a.Lane.String(), b.Lane.String()), cmp.Compare(a.Generation, b.Generation),
		cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Destination.String(), b.Destination.String()))
}
