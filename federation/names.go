package federation

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// SiteID names a site: 1 to 63 of [a-z0-9-].
type SiteID string

// RouteID names a route for ever, also after the route is renamed: 1 to 63 of [a-z0-9-.].
type RouteID string

// Kind tells where a lane's messages come from.
type Kind uint8

// Kinds of lanes (design section 13, batch header).
const (
	KindRoute     Kind = 0 // a route of the topology
	KindAddressed Kind = 1 // the exchange "cloudqueue"; the route id is "to.<site>"
	KindReplay    Kind = 2
)

// Lane is one ordered stream. It is comparable and is never deleted, not even with its route.
type Lane struct {
	Origin SiteID
	Route  RouteID
	Shard  uint16
	Kind   Kind
}

// String gives "ams/orders", with "#shard" and "~kind" where these are not zero.
func (l Lane) String() string {
	s := string(l.Origin) + "/" + string(l.Route)
	if l.Shard != 0 {
		s += "#" + strconv.Itoa(int(l.Shard))
	}
	if l.Kind != KindRoute {
		s += "~" + strconv.Itoa(int(l.Kind))
	}
	return s
}

// ParseLane reads what Lane.String gives.
func ParseLane(s string) (Lane, error) {
	var l Lane
	origin, rest, ok := strings.Cut(s, "/")
	if !ok || origin == "" {
		return l, fmt.Errorf("lane %q: want origin/route, for example ams/orders", s)
	}
	if head, kind, ok := strings.Cut(rest, "~"); ok {
		n, err := strconv.ParseUint(kind, 10, 8)
		if err != nil {
			return l, fmt.Errorf("lane %q: kind %q is not a number", s, kind)
		}
		rest, l.Kind = head, Kind(n)
	}
	if head, shard, ok := strings.Cut(rest, "#"); ok {
		n, err := strconv.ParseUint(shard, 10, 16)
		if err != nil {
			return l, fmt.Errorf("lane %q: shard %q is not a number below 65536", s, shard)
		}
		rest, l.Shard = head, uint16(n)
	}
	if rest == "" {
		return l, fmt.Errorf("lane %q: the route is empty", s)
	}
	l.Origin, l.Route = SiteID(origin), RouteID(rest)
	return l, nil
}

// Generation is the identity of a lane's numbering. A greater one is later.
type Generation uint64

// Epoch is the fencing number of a store's opening. A greater one is later.
type Epoch uint64

// Offset numbers the entries of a lane from 1; 0 is "before the first".
type Offset uint64

// LSN numbers the groups of a spool's log from 1, consecutively; 0 is "before the first".
type LSN uint64

// Span is a run of offsets, both ends included. It is empty when Last < First.
type Span struct{ First, Last Offset }

// Empty tells whether no offset is in the span.
func (s Span) Empty() bool { return s.Last < s.First }

// Contains tells whether the offset is in the span.
func (s Span) Contains(n Offset) bool { return s.First <= n && n <= s.Last }

// Count is the number of offsets in the span.
func (s Span) Count() uint64 {
	if s.Empty() {
		return 0
	}
	return uint64(s.Last - s.First + 1)
}

// Destination is (site, target) of a route. Target 0 is "same exchange and key".
type Destination struct {
	Site   SiteID
	Target uint8
}

// String gives "nyc" or "nyc:2".
func (d Destination) String() string {
	if d.Target == 0 {
		return string(d.Site)
	}
	return string(d.Site) + ":" + strconv.Itoa(int(d.Target))
}

// StoreID is the identity of a spool: 128 random bits, minted by `cloudqueue spool init`.
type StoreID [16]byte

// String gives 32 hexadecimal digits.
func (id StoreID) String() string { return hex.EncodeToString(id[:]) }

// IsZero tells whether no store is named.
func (id StoreID) IsZero() bool { return id == StoreID{} }

// BootID is random per process.
type BootID [16]byte

// String gives 32 hexadecimal digits.
func (id BootID) String() string { return hex.EncodeToString(id[:]) }

// BatchName names a sealed batch for ever.
type BatchName struct {
	Lane       Lane
	Generation Generation
	First      Offset
}

// String gives "ams/orders@1764534000000:120".
func (n BatchName) String() string {
	return fmt.Sprintf("%s@%d:%d", n.Lane, n.Generation, n.First)
}
