package embedded

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// property is a content property by its place in the list.
type property int

const (
	propContentType property = iota
	propContentEncoding
	propHeaders
	propDeliveryMode
	propPriority
	propCorrelationID
	propReplyTo
	propExpiration
	propMessageID
	propTimestamp
	propType
	propUserID
	propAppID
	propClusterID
	propCount
)

// bit is the property's flag: the first property has the highest bit.
func (p property) bit() uint16 { return 0x8000 >> p }

// properties is a message's property list, kept raw, with the place of each property.
//
//	flags short · one encoding per flag that is set, in order
//	bit 15 content-type shortstr · 14 content-encoding shortstr · 13 headers table · 12 delivery-mode octet · 11 priority octet
//	10 correlation-id shortstr · 9 reply-to shortstr · 8 expiration shortstr · 7 message-id shortstr · 6 timestamp longlong
//	5 type shortstr · 4 user-id shortstr · 3 app-id shortstr · 2 cluster-id shortstr · 1 unused · 0 another flags word follows
//
// Bit 1 means nothing and stays. Bit 0, and bytes behind the last property, are refused: RabbitMQ answers them with
// 541.
type properties struct {
	raw    []byte
	starts [propCount + 1]uint32 // starts[p] to starts[p+1] is property p, empty when it is absent
}

// scanProperties finds the properties in raw, which it keeps. ok is false when the encoding is wrong.
func scanProperties(raw []byte) (p properties, ok bool) {
	d := decoder{rest: raw}
	flags := d.short()
	if flags&1 != 0 {
		return properties{}, false
	}
	p.raw = raw
	for i := property(0); i < propCount; i++ {
		p.starts[i] = uint32(len(raw) - len(d.rest))
		if flags&i.bit() != 0 && !skipProperty(&d, i) {
			return properties{}, false
		}
	}
	p.starts[propCount] = uint32(len(raw) - len(d.rest))
	return p, !d.broken && len(d.rest) == 0
}

func skipProperty(d *decoder, p property) bool {
	switch p {
	case propHeaders:
		return validTable(d.longBytes(), 0) && !d.broken
	case propDeliveryMode, propPriority:
		d.octet()
	case propTimestamp:
		d.longlong()
	default:
		d.shortBytes()
	}
	return !d.broken
}

func (p *properties) span(which property) []byte {
	return p.raw[p.starts[which]:p.starts[which+1]]
}

func (p *properties) has(which property) bool { return len(p.span(which)) > 0 }

// text is a shortstr property, "" when absent.
func (p *properties) text(which property) string {
	if span := p.span(which); len(span) > 0 {
		return string(span[1:])
	}
	return ""
}

func (p *properties) octet(which property) byte {
	if span := p.span(which); len(span) > 0 {
		return span[0]
	}
	return 0
}

// headers splits the headers table; nil when absent.
func (p *properties) headers() table {
	span := p.span(propHeaders)
	if len(span) == 0 {
		return nil
	}
	fields, _ := parseTable(span[4:])
	return fields
}

// header looks one header up without splitting the table.
func (p *properties) header(name string) value {
	span := p.span(propHeaders)
	if len(span) == 0 {
		return nil
	}
	for rest := span[4:]; len(rest) > 0; {
		found, val, next, ok := splitField(rest, 0)
		if !ok {
			return nil
		}
		if string(found) == name {
			return val
		}
		rest = next
	}
	return nil
}

// replace returns the list with one property set to the encoding, or removed when it is nil; all else is kept byte for
// byte.
func (p *properties) replace(which property, encoding []byte) properties {
	flags := binary.BigEndian.Uint16(p.raw)
	if encoding == nil {
		flags &^= which.bit()
	} else {
		flags |= which.bit()
	}
	raw := make([]byte, 0, len(p.raw)+len(encoding))
	raw = appendShort(raw, flags)
	raw = append(raw, p.raw[2:p.starts[which]]...)
	raw = append(raw, encoding...)
	raw = append(raw, p.raw[p.starts[which+1]:]...)
	changed, _ := scanProperties(raw)
	return changed
}

// expiration is the message's own time to live in milliseconds, if it has one that checkExpiration lets pass.
func (p *properties) expiration() (ms int64, present bool) {
	if !p.has(propExpiration) {
		return 0, false
	}
	ms, err := strconv.ParseInt(p.text(propExpiration), 10, 64)
	return ms, err == nil
}

// checkExpiration returns why an expiration is not valid, in RabbitMQ's words, or "".
func checkExpiration(text string) string {
	digits := strings.TrimLeft(text, "+-")
	end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(digits)
	}
	if end == 0 || len(text)-len(digits) > 1 {
		return "no_integer"
	}
	if rest := digits[end:]; rest != "" {
		return fmt.Sprintf("{leftover_string,%q}", rest)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case n < 0:
		return fmt.Sprintf("{value_negative,%d}", n)
	case err != nil || n > maxExpiry.Milliseconds():
		return fmt.Sprintf("{value_too_large,%s}", text)
	}
	return ""
}
