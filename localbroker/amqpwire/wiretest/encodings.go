// Package wiretest holds the 55 encodings of properties that have to pass byte for byte, for every test that has to show that they do.
package wiretest

import "strings"

// Encoding is one way to write properties that RabbitMQ takes and hands on byte for byte (decisions.md, M4).
type Encoding struct {
	Name string
	Raw  []byte // property flags and property list
}

// Encodings are 55 of them: every type of a field, every property, and what codecs that decode and encode again change.
func Encodings() []Encoding {
	var all []Encoding
	for _, f := range []struct{ name, value string }{
		{"t true", "t\x01"}, {"t false", "t\x00"}, {"t with value 2", "t\x02"},
		{"b", "b\x80"}, {"B", "B\xff"}, {"s", "s\x80\x00"}, {"u", "u\xff\xff"},
		{"I", "I\x80\x00\x00\x00"}, {"i", "i\xff\xff\xff\xff"},
		{"l", "l\x80\x00\x00\x00\x00\x00\x00\x00"}, {"L", "L\x7f\xff\xff\xff\xff\xff\xff\xff"},
		{"f", "f\x3f\x80\x00\x00"}, {"d", "d\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{"D", "D\x02\x00\x00\x01\x00"}, {"D scale 255", "D\xff\x00\x00\x00\x01"}, {"D 2^31+1", "D\x00\x80\x00\x00\x01"},
		{"S", "S\x00\x00\x00\x03abc"}, {"S empty", "S\x00\x00\x00\x00"}, {"S not UTF-8", "S\x00\x00\x00\x02\xff\xfe"}, {"S 70000 bytes", "S" + Long(strings.Repeat("x", 70000))},
		{"x", "x\x00\x00\x00\x02\x00\x01"}, {"x empty", "x\x00\x00\x00\x00"},
		{"T", "T\x00\x00\x00\x00\x65\x00\x00\x00"}, {"T 0", "T\x00\x00\x00\x00\x00\x00\x00\x00"}, {"T in ms", "T\x00\x00\x01\x8b\xcf\xe5\x68\x00"}, {"T over 2^63", "T\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"V", "V"},
		{"A empty", "A\x00\x00\x00\x00"}, {"A of mixed", "A" + Long("t\x01S\x00\x00\x00\x01aV")}, {"A of A", "A" + Long("A"+Long("A"+Long("B\x01")))},
		{"A of 9000 V", "A" + Long(strings.Repeat("V", 9000))},
		{"F empty", "F\x00\x00\x00\x00"}, {"F", "F" + Long("\x01kS\x00\x00\x00\x01v")},
		{"F 40 deep", nested(40)},
	} {
		all = append(all, Encoding{f.name, Table("\x01k" + f.value)})
	}
	for _, h := range []struct{ name, fields string }{
		{"headers present and empty", ""}, {"a name of 0 bytes", "\x00V"}, {"a name of 255 bytes", "\xff" + strings.Repeat("n", 255) + "V"},
		{"a name twice", "\x01kB\x01\x01kB\x02"}, {"order z a m", "\x01zV\x01aV\x01mV"},
	} {
		all = append(all, Encoding{h.name, Table(h.fields)})
	}
	list := []Encoding{
		{"no properties", []byte{0, 0}},
		{"content-type empty", Flagged(0x8000, "\x00")},
		{"content-type and -encoding", Flagged(0xc000, "\x0atext/plain\x04gzip")},
		{"delivery-mode 1", Flagged(0x1000, "\x01")}, {"delivery-mode 2", Flagged(0x1000, "\x02")},
		{"priority 0", Flagged(0x0800, "\x00")}, {"priority 255", Flagged(0x0800, "\xff")},
		{"correlation-id", Flagged(0x0400, "\x02id")}, {"reply-to empty", Flagged(0x0200, "\x00")}, {"expiration", Flagged(0x0100, "\x0560000")},
		{"message-id not UTF-8", Flagged(0x0080, "\x02\xff\xfe")},
		{"timestamp of the year 1", Flagged(0x0040, "\xff\xff\xff\xf1\x88\x6e\x09\x00")},
		{"type", Flagged(0x0020, "\x01t")},
		{"cluster-id", Flagged(0x0004, "\x01c")},
		{"flag bit 1", []byte{0x10, 0x02, 2}},
		{"everything", Flagged(0xffec, "\x01a\x01b"+Long("\x01kL\x00\x00\x00\x00\x00\x00\x00\x01")+"\x02\x05\x01c\x01r\x0260\x01m\x00\x00\x00\x00\x65\x00\x00\x00\x01t\x03app\x01c")},
	}
	return append(all, list...)
}

// Long gives s with the length of a long string, a table or an array in front.
func Long(s string) string {
	n := len(s)
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + s
}

// Flagged gives properties of flags and a list.
func Flagged(flags uint16, list string) []byte {
	return append([]byte{byte(flags >> 8), byte(flags)}, list...)
}

// Table gives properties that are headers alone, of these fields.
func Table(fields string) []byte { return Flagged(0x2000, Long(fields)) }

func nested(depth int) string {
	value := "V"
	for range depth {
		value = "F" + Long("\x01k"+value)
	}
	return value
}
