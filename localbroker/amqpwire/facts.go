package amqpwire

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Names of our own headers.
const (
	HeaderID        = "x-cq-id"        // S: lane "@" generation ":" offset
	HeaderOrigin    = "x-cq-origin"    // S: the site where it entered
	HeaderPath      = "x-cq-path"      // A of S: the sites that it has visited, oldest first
	HeaderTime      = "x-cq-time"      // l: when it entered, ms since 1970 by the origin's clock
	HeaderDuplicate = "x-cq-duplicate" // t: it may have been delivered before; absent otherwise
	HeaderUserID    = "x-cq-user-id"   // S: the user-id that the origin's broker had checked
)

// Limits of x-cq-path, those of an entry's path (docs/formats.md).
const (
	MaxPath = 32 // sites
	MaxSite = 63 // bytes of a site's name
)

// Facts are what the router has to know of a message's properties.
type Facts struct {
	DeliveryMode  uint8 // 0: absent, 1: transient, 2: persistent
	HasExpiration bool
	Expiration    time.Duration // whole milliseconds; the largest duration when it does not fit
	ID            string        // x-cq-id of a message that crossed before
	Path          []string      // x-cq-path, oldest first
	Duplicate     bool          // x-cq-duplicate
	Redelivered   bool          // x-delivery-count or x-acquired-count is over 0
}

// Read scans raw. Errors wrap ErrMalformed and say what is; one of them never concerns another message, and the facts
// that could be read come with it. Of our own headers x-cq-path alone is checked, because it survives into what is
// published; the others are replaced.
func Read(raw []byte) (Facts, error) {
	var facts Facts
	l, err := layoutOf(raw)
	if err != nil {
		return facts, err
	}
	if l.has(deliveryMode) {
		facts.DeliveryMode = raw[l.at[deliveryMode]]
	}
	wrong := facts.readExpiration(raw, &l)
	return facts, errors.Join(wrong, facts.readHeaders(l.table(raw)))
}

func (facts *Facts) readExpiration(raw []byte, l *layout) (err error) {
	if l.has(expiration) {
		facts.Expiration, err = parseExpiration(string(l.short(raw, expiration)))
		facts.HasExpiration = err == nil
	}
	return err
}

// parseExpiration reads what RabbitMQ takes for one: a decimal number of milliseconds.
func parseExpiration(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, malformed("expiration %q is not a number of milliseconds", text)
	}
	if err != nil || n > math.MaxInt64/uint64(time.Millisecond) {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * time.Millisecond, nil
}

// readHeaders reads on behind a path that is wrong, and tells of it in the end.
func (facts *Facts) readHeaders(table []byte) (wrong error) {
	for len(table) > 0 {
		f, err := nextField(table)
		if err != nil {
			return errors.Join(wrong, err)
		}
		table = table[f.size:]
		if len(f.name) < 2 || f.name[0] != 'x' || f.name[1] != '-' {
			continue
		}
		if err := facts.readHeader(&f); err != nil && wrong == nil {
			wrong = err
		}
	}
	if wrong != nil {
		facts.Path = nil
	}
	return wrong
}

func (facts *Facts) readHeader(f *field) (err error) {
	switch string(f.name) {
	case HeaderID:
		if f.kind == 'S' {
			facts.ID = string(f.value)
		}
	case HeaderPath:
		facts.Path, err = appendPath(facts.Path, f)
	case HeaderDuplicate:
		facts.Duplicate = facts.Duplicate || f.isTrue()
	case "x-delivery-count", "x-acquired-count":
		if n, ok := f.integer(); ok && n > 0 {
			facts.Redelivered = true
		}
	}
	return err
}

// appendPath adds the sites of an x-cq-path. Every element is checked: what no site can be named would be sealed into
// entries, which hold names of sites alone, and one that nobody bounds would grow with every hop.
func appendPath(path []string, f *field) ([]string, error) {
	if f.kind != 'A' {
		return nil, malformed("%s has type %q: write an array of strings", f.name, f.kind)
	}
	for rest := f.value; len(rest) > 0; {
		value, size, ok := cutValue(rest[0], rest[1:])
		if !ok || rest[0] != 'S' || !isSite(value) {
			return nil, malformed("%s holds something else than site names of 1 to %d of a-z 0-9 -", f.name, MaxSite)
		}
		if len(path) == MaxPath {
			return nil, malformed("%s holds more than %d sites", f.name, MaxPath)
		}
		path = append(path, string(value))
		rest = rest[1+size:]
	}
	return path, nil
}

// isSite tells whether a site can have the name: federation.SiteID.Valid, which this package does not import.
func isSite[S string | []byte](name S) bool {
	for i := range len(name) {
		if c := name[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return false
		}
	}
	return len(name) > 0 && len(name) <= MaxSite
}

// Redelivered tells whether the broker counts an earlier delivery in a header of its own, as quorum queues do.
// Properties that it cannot read tell nothing.
func Redelivered(raw []byte) bool {
	l, err := layoutOf(raw)
	if err != nil {
		return false
	}
	for table := l.table(raw); len(table) > 0; {
		f, err := nextField(table)
		if err != nil {
			return false
		}
		table = table[f.size:]
		if string(f.name) == "x-delivery-count" || string(f.name) == "x-acquired-count" {
			if n, ok := f.integer(); ok && n > 0 {
				return true
			}
		}
	}
	return false
}

// ID gives x-cq-id, empty without one or in properties that cannot be read.
func ID(raw []byte) string {
	l, err := layoutOf(raw)
	if err != nil {
		return ""
	}
	for table := l.table(raw); len(table) > 0; {
		f, err := nextField(table)
		if err != nil {
			return ""
		}
		table = table[f.size:]
		if f.kind == 'S' && string(f.name) == HeaderID {
			return string(f.value)
		}
	}
	return ""
}
