package amqpwire

import "encoding/binary"

// property is the index of a property in the list; its flag is bit 15 - index.
type property int

const (
	contentType property = iota
	contentEncoding
	headers
	deliveryMode
	priority
	correlationID
	replyTo
	expiration
	messageID
	timestamp
	typeName
	userID
	appID
	clusterID
	propertyCount
)

const continuation = 1 << 0 // a second word of flags follows

func (p property) flag() uint16 { return 1 << (15 - p) }

// layout tells where each property stands in raw: at[p] to at[p+1], empty for an absent one, whose place that is.
type layout struct {
	flags uint16
	at    [propertyCount + 1]int
}

func (l *layout) has(p property) bool { return l.flags&p.flag() != 0 }

func layoutOf(raw []byte) (layout, error) {
	var l layout
	if len(raw) < 2 {
		return l, malformed("%d bytes, the flags alone take 2", len(raw))
	}
	l.flags = binary.BigEndian.Uint16(raw)
	if l.flags&continuation != 0 {
		return l, malformed("the flags %#04x announce a second word of flags", l.flags)
	}
	at := 2
	for p := range propertyCount {
		l.at[p] = at
		if !l.has(p) {
			continue
		}
		size, ok := propertySize(p, raw[at:])
		if !ok {
			return l, malformed("%s is cut off", propertyNames[p])
		}
		at += size
	}
	l.at[propertyCount] = at
	return l, nil
}

// propertySize gives the bytes of the property that begins b.
func propertySize(p property, b []byte) (int, bool) {
	size := 1
	switch p {
	case deliveryMode, priority:
	case timestamp:
		size = 8
	case headers:
		if len(b) < 4 {
			return 0, false
		}
		n := binary.BigEndian.Uint32(b)
		if uint64(n) > uint64(len(b)-4) {
			return 0, false
		}
		size = 4 + int(n)
	default:
		if len(b) == 0 {
			return 0, false
		}
		size = 1 + int(b[0])
	}
	return size, size <= len(b)
}

var propertyNames = [propertyCount]string{"content-type", "content-encoding", "headers", "delivery-mode", "priority",
	"correlation-id", "reply-to",
	"expiration", "message-id", "timestamp", "type", "user-id", "app-id", "cluster-id"}

// table gives the fields of the headers, empty when there are none.
func (l *layout) table(raw []byte) []byte {
	if !l.has(headers) {
		return nil
	}
	return raw[l.at[headers]+4 : l.at[headers+1]]
}

// short gives the bytes of a short string property, empty when it is absent.
func (l *layout) short(raw []byte, p property) []byte {
	if !l.has(p) {
		return nil
	}
	return raw[l.at[p]+1 : l.at[p+1]]
}
