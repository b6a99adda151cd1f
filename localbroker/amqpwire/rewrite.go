package amqpwire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Edit is what Rewrite changes. Its zero value changes nothing.
type Edit struct {
	ID, Origin string    // x-cq-id, x-cq-origin; empty: left alone
	Path       []string  // joins x-cq-path, which only grows: what it lacks is added behind
	Time       time.Time // x-cq-time, in whole milliseconds; zero: left alone
	Duplicate  bool      // x-cq-duplicate only ever becomes true
	DropLocal  bool      // drops what the source's broker wrote for itself (IsLocal)
	// drops our headers that the edit does not set, whatever is in them; an x-cq-duplicate of true stays
	DropForged    bool
	ClearUserID   bool          // user-id, if there is one, moves into the header x-cq-user-id
	SetExpiration bool          // replaces expiration
	Expiration    time.Duration // rounded up to a millisecond; below 0 is 0
}

// IsLocal tells whether a header is the source broker's bookkeeping, which must not reach another broker: a foreign
// x-death makes a broker's cycle check drop the message silently, counts and offsets of the source's queue would be
// taken for the destination's. One of another type than brokers write (kind) is the publisher's own and passes:
// RabbitMQ ignores an x-death that is text (embedded/testdata/conformance/lifetime.txt).
func IsLocal(name string, kind byte) bool {
	switch name {
	case "x-death":
		return kind == 'A'
	case "x-delivery-count", "x-acquired-count", "x-stream-offset":
		return strings.IndexByte("bBsUuIilL", kind) >= 0 // the types of field.integer
	}
	return kind == 'S' && (hasPrefix(name, "x-first-death-") || hasPrefix(name, "x-last-death-"))
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// Rewrite gives raw with the edit. What the edit does not name stays byte for byte, in its order; what it sets stands
// at the end of the headers, once. Errors wrap ErrMalformed. raw is not changed.
func Rewrite(raw []byte, edit Edit) ([]byte, error) {
	return Append(make([]byte, 0, len(raw)+edit.room()), raw, edit)
}

// room is about what an edit adds.
func (e *Edit) room() int {
	n := 160 + len(e.ID) + len(e.Origin)
	for _, site := range e.Path {
		n += 5 + len(site)
	}
	return n
}

// Append is Rewrite behind dst.
func Append(dst, raw []byte, edit Edit) ([]byte, error) {
	l, err := layoutOf(raw)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, raw[:l.at[headers]]...)
	flags := l.flags
	dst, withHeaders, err := edit.appendHeaders(dst, raw, &l)
	if err != nil {
		return dst[:start], err
	}
	if withHeaders {
		flags |= headers.flag()
	}
	dst = append(dst, raw[l.at[deliveryMode]:l.at[expiration]]...)
	if edit.SetExpiration {
		flags |= expiration.flag()
		dst = appendExpiration(dst, edit.Expiration)
	} else {
		dst = append(dst, raw[l.at[expiration]:l.at[messageID]]...)
	}
	dst = append(dst, raw[l.at[messageID]:l.at[userID]]...)
	if edit.ClearUserID {
		flags &^= userID.flag()
	} else {
		dst = append(dst, raw[l.at[userID]:l.at[appID]]...)
	}
	dst = append(dst, raw[l.at[appID]:]...)
	binary.BigEndian.PutUint16(dst[start:], flags)
	return dst, nil
}

func appendExpiration(dst []byte, d time.Duration) []byte {
	ms := int64(0)
	if d > 0 {
		ms = int64((d-1)/time.Millisecond) + 1
	}
	at := len(dst)
	dst = strconv.AppendInt(append(dst, 0), ms, 10)
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

// appendHeaders appends the headers property and tells whether there is one.
func (e *Edit) appendHeaders(dst, raw []byte, l *layout) ([]byte, bool, error) {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	path, err := e.mergedPath(l.table(raw))
	if err != nil {
		return dst, false, err
	}
	user := l.short(raw, userID)
	moveUser := e.ClearUserID && l.has(userID)
	dst, err = e.appendKept(dst, l.table(raw), path != nil, moveUser)
	if err != nil {
		return dst, false, err
	}
	if moveUser {
		dst = appendString(dst, HeaderUserID, user)
	}
	dst = e.appendOwn(dst, path)
	size := len(dst) - at - 4
	if size == 0 && !l.has(headers) {
		return dst[:at], false, nil
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(size))
	return dst, true, nil
}

// mergedPath gives the path to write, nil when the one that stands there is to stay.
func (e *Edit) mergedPath(table []byte) ([]string, error) {
	if len(e.Path) == 0 {
		return nil, nil
	}
	path, err := pathOf(table)
	if err != nil {
		return nil, err
	}
	for _, site := range e.Path {
		if !isSite(site) {
			return nil, malformed("%q is not a site name of 1 to %d of a-z 0-9 -", site, MaxSite)
		}
		if !slices.Contains(path, site) {
			path = append(path, site)
		}
	}
	if len(path) > MaxPath {
		return nil, malformed("%s would hold %d sites, at most %d fit", HeaderPath, len(path), MaxPath)
	}
	return path, nil
}

// pathOf reads x-cq-path alone: nothing else that a publisher wrote is in its way.
func pathOf(table []byte) (path []string, err error) {
	if !bytes.Contains(table, []byte(HeaderPath)) {
		return nil, nil
	}
	for len(table) > 0 && err == nil {
		var f field
		if f, err = nextField(table); err == nil && string(f.name) == HeaderPath {
			path, err = appendPath(path, &f)
		}
		table = table[f.size:]
	}
	return path, err
}

// appendKept copies the fields that the edit neither drops nor replaces, in runs.
func (e *Edit) appendKept(dst, table []byte, path, user bool) ([]byte, error) {
	run := 0
	for at := 0; at < len(table); {
		f, err := nextField(table[at:])
		if err != nil {
			return dst, err
		}
		if e.drops(&f, path, user) {
			dst = append(dst, table[run:at]...)
			run = at + f.size
		}
		at += f.size
	}
	return append(dst, table[run:]...), nil
}

func (e *Edit) drops(f *field, path, user bool) bool {
	if len(f.name) < 2 || f.name[0] != 'x' || f.name[1] != '-' {
		return false
	}
	switch string(f.name) {
	case HeaderID:
		return e.DropForged || e.ID != ""
	case HeaderOrigin:
		return e.DropForged || e.Origin != ""
	case HeaderPath:
		return e.DropForged || path
	case HeaderTime:
		return e.DropForged || !e.Time.IsZero()
	case HeaderDuplicate:
		return e.Duplicate || e.DropForged && !f.isTrue()
	case HeaderUserID:
		return e.DropForged || user
	}
	return e.DropLocal && IsLocal(string(f.name), f.kind)
}

// appendOwn appends our headers that the edit sets.
func (e *Edit) appendOwn(dst []byte, path []string) []byte {
	if e.ID != "" {
		dst = appendString(dst, HeaderID, e.ID)
	}
	if e.Origin != "" {
		dst = appendString(dst, HeaderOrigin, e.Origin)
	}
	if path != nil {
		dst = appendPathField(dst, path)
	}
	if !e.Time.IsZero() {
		dst = append(appendName(dst, HeaderTime), 'l')
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Time.UnixMilli()))
	}
	if e.Duplicate {
		dst = append(appendName(dst, HeaderDuplicate), 't', 1)
	}
	return dst
}

func appendName(dst []byte, name string) []byte {
	return append(append(dst, byte(len(name))), name...)
}

func appendString[S string | []byte](dst []byte, name string, value S) []byte {
	dst = append(appendName(dst, name), 'S')
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
	return append(dst, value...)
}

func appendPathField(dst []byte, path []string) []byte {
	dst = append(appendName(dst, HeaderPath), 'A')
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, site := range path {
		dst = append(dst, 'S')
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(site)))
		dst = append(dst, site...)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
