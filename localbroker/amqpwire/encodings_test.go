package amqpwire

import (
	"bytes"

	"cloudqueue/localbroker/amqpwire/wiretest"
)

var (
	encodings = wiretest.Encodings
	long      = wiretest.Long
	flagged   = wiretest.Flagged
	table     = wiretest.Table
)

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
