package embedded

import "encoding/binary"

// decoder reads a method's arguments or a property list from its front. After the first field that does not fit it is
// broken: it gives zero values from there on, and the caller asks once, at the end. What it returns as bytes is a part
// of its input.
//
//	octet 1 byte · short 2 · long 4 · longlong 8 (all big endian, unsigned)
//	shortstr octet length + bytes · longstr long length + bytes · table as longstr of fields
//	bits packed into octets, lowest bit first
type decoder struct {
	rest   []byte
	broken bool
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.rest, d.broken = nil, true
		return nil
	}
	part := d.rest[:n:n]
	d.rest = d.rest[n:]
	return part
}

func (d *decoder) octet() byte {
	if part := d.take(1); part != nil {
		return part[0]
	}
	return 0
}

func (d *decoder) short() uint16 {
	if part := d.take(2); part != nil {
		return binary.BigEndian.Uint16(part)
	}
	return 0
}

func (d *decoder) long() uint32 {
	if part := d.take(4); part != nil {
		return binary.BigEndian.Uint32(part)
	}
	return 0
}

func (d *decoder) longlong() uint64 {
	if part := d.take(8); part != nil {
		return binary.BigEndian.Uint64(part)
	}
	return 0
}

func (d *decoder) shortBytes() []byte { return d.take(int(d.octet())) }

func (d *decoder) shortString() string { return string(d.shortBytes()) }

func (d *decoder) longBytes() []byte {
	n := d.long()
	if uint64(n) > uint64(len(d.rest)) {
		d.rest, d.broken = nil, true
		return nil
	}
	return d.take(int(n))
}

// bits is an octet of packed flags.
type bits byte

func (d *decoder) bits() bits { return bits(d.octet()) }

func (b bits) has(n uint) bool { return b&(1<<n) != 0 }

func appendShort(b []byte, v uint16) []byte    { return binary.BigEndian.AppendUint16(b, v) }
func appendLong(b []byte, v uint32) []byte     { return binary.BigEndian.AppendUint32(b, v) }
func appendLonglong(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// appendShortString cuts at 255 bytes: only reply texts can be longer, and they are for people.
func appendShortString(b []byte, s string) []byte {
	if len(s) > 255 {
		s = s[:255]
	}
	b = append(b, byte(len(s)))
	return append(b, s...)
}

func appendLongString[T string | []byte](b []byte, s T) []byte {
	b = appendLong(b, uint32(len(s)))
	return append(b, s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
