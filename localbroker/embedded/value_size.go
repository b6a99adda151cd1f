package embedded

import (
	"encoding/binary"
	"math"
)

// maxTableDepth is how many values may be within each other. RabbitMQ has no bound; real headers nest two or three
// deep, and 128 keeps the recursion of the scanner within a few kilobytes of stack.
const maxTableDepth = 128

func validArray(raw []byte, depth int) bool {
	for len(raw) > 0 {
		n, ok := valueSize(raw, depth)
		if !ok {
			return false
		}
		raw = raw[n:]
	}
	return true
}

// valueSize returns how many bytes the value at the front of raw has, its type octet included.
func valueSize(raw []byte, depth int) (int, bool) {
	if len(raw) == 0 || depth >= maxTableDepth {
		return 0, false
	}
	size := 1
	switch raw[0] {
	case 'V':
	case 't', 'b', 'B':
		size += 1
	case 's', 'u':
		size += 2
	case 'I', 'i', 'f':
		size += 4
	case 'D':
		size += 5
	case 'l', 'L', 'T', 'd':
		size += 8
	case 'S', 'x', 'A', 'F':
		return longValueSize(raw, depth)
	default:
		return 0, false
	}
	return size, size <= len(raw) && validFloat(raw)
}

func longValueSize(raw []byte, depth int) (int, bool) {
	if len(raw) < 5 {
		return 0, false
	}
	n := binary.BigEndian.Uint32(raw[1:])
	if uint64(n) > uint64(len(raw)-5) {
		return 0, false
	}
	size := 5 + int(n)
	switch raw[0] {
	case 'A':
		return size, validArray(raw[5:size], depth+1)
	case 'F':
		return size, validTable(raw[5:size], depth+1)
	}
	return size, true
}

// validFloat refuses NaN and the infinities, which RabbitMQ cannot represent: it closes the connection with 541.
func validFloat(raw []byte) bool {
	f, _ := value(raw).float()
	return !math.IsNaN(f) && !math.IsInf(f, 0)
}
