package amqpwire

import (
	"bytes"
	"strings"
)

// encoding is one way to write properties that RabbitMQ takes and hands on byte for byte (decisions.md, M4).
type encoding struct {
	name string
	raw  []byte
}

// encodings are 55 of them: every type of a field, every property, and what codecs that decode and encode again change.
func encodings() []encoding {
	var all []encoding
	for _, f := range []struct{ name, value string }{
		{"t true", "t\x01"}, {"t false", "t\x00"}, {"t with value 2", "t\x02"},
		{"b", "b\x80"}, {"B", "B\xff"}, {"s", "s\x80\x00"}, {"u", "u\xff\xff"},
		{"I", "I\x80\x00\x00\x00"}, {"i", "i\xff\xff\xff\xff"},
		{"l", "l\x80\x00\x00\x00\x00\x00\x00\x00"}, {"L", "L\x7f\xff\xff\xff\xff\xff\xff\xff"},
		{"f", "f\x3f\x80\x00\x00"}, {"d", "d\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{"D", "D\x02\x00\x00\x01\x00"}, {"D scale 255", "D\xff\x00\x00\x00\x01"}, {"D 2^31+1", "D\x00\x80\x00\x00\x01"},
		{"S", "S\x00\x00\x00\x03abc"}, {"S empty", "S\x00\x00\x00\x00"}, {"S not UTF-8", "S\x00\x00\x00\x02\xff\xfe"}, {"S 70000 bytes", "S" + long(strings.Repeat("x", 70000))},
		{"x", "x\x00\x00\x00\x02\x00\x01"}, {"x empty", "x\x00\x00\x00\x00"},
		{"T", "T\x00\x00\x00\x00\x65\x00\x00\x00"}, {"T 0", "T\x00\x00\x00\x00\x00\x00\x00\x00"}, {"T in ms", "T\x00\x00\x01\x8b\xcf\xe5\x68\x00"}, {"T over 2^63", "T\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"V", "V"},
		{"A empty", "A\x00\x00\x00\x00"}, {"A of mixed", "A" + long("t\x01S\x00\x00\x00\x01aV")}, {"A of A", "A" + long("A"+long("A"+long("B\x01")))},
		{"A of 9000 V", "A" + long(strings.Repeat("V", 9000))},
		{"F empty", "F\x00\x00\x00\x00"}, {"F", "F" + long("\x01kS\x00\x00\x00\x01v")},
		{"F 40 deep", nested(40)},
	} {
		all = append(all, encoding{f.name, table("\x01k" + f.value)})
	}
	for _, h := range []struct{ name, fields string }{
		{"headers present and empty", ""}, {"a name of 0 bytes", "\x00V"}, {"a name of 255 bytes", "\xff" + strings.Repeat("n", 255) + "V"},
		{"a name twice", "\x01kB\x01\x01kB\x02"}, {"order z a m", "\x01zV\x01aV\x01mV"},
	} {
		all = append(all, encoding{h.name, table(h.fields)})
	}
	list := []encoding{
		{"no properties", []byte{0, 0}},
		{"content-type empty", flagged(0x8000, "\x00")},
		{"content-type and -encoding", flagged(0xc000, "\x0atext/plain\x04gzip")},
		{"delivery-mode 1", flagged(0x1000, "\x01")}, {"delivery-mode 2", flagged(0x1000, "\x02")},
		{"priority 0", flagged(0x0800, "\x00")}, {"priority 255", flagged(0x0800, "\xff")},
		{"correlation-id", flagged(0x0400, "\x02id")}, {"reply-to empty", flagged(0x0200, "\x00")}, {"expiration", flagged(0x0100, "\x0560000")},
		{"message-id not UTF-8", flagged(0x0080, "\x02\xff\xfe")},
		{"timestamp of the year 1", flagged(0x0040, "\xff\xff\xff\xf1\x88\x6e\x09\x00")},
		{"type", flagged(0x0020, "\x01t")},
		{"cluster-id", flagged(0x0004, "\x01c")},
		{"flag bit 1", []byte{0x10, 0x02, 2}},
		{"everything", flagged(0xffec, "\x01a\x01b"+long("\x01kL\x00\x00\x00\x00\x00\x00\x00\x01")+"\x02\x05\x01c\x01r\x0260\x01m\x00\x00\x00\x00\x65\x00\x00\x00\x01t\x03app\x01c")},
	}
	return append(all, list...)
}

func long(s string) string {
	n := len(s)
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + s
}

func flagged(flags uint16, list string) []byte {
	return append([]byte{byte(flags >> 8), byte(flags)}, list...)
}

func table(fields string) []byte { return flagged(0x2000, long(fields)) }

func nested(depth int) string {
	value := "V"
	for range depth {
		value = "F" + long("\x01k"+value)
	}
	return value
}

// decodeTable is the simple reader of a table: all fields, as name, type and value bytes.
func decodeTable(fields []byte) (names []string, values [][]byte) {
	for r := bytes.NewReader(fields); r.Len() > 0; {
		at := len(fields) - r.Len()
		f, err := nextField(fields[at:])
		if err != nil {
			return names, values
		}
		names = append(names, string(f.name))
		values = append(values, fields[at:at+f.size])
		_, _ = r.Seek(int64(f.size), 1) // within the reader
	}
	return names, values
}
