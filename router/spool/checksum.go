package spool

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is a constant: crc32 builds it once and shares it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// salted is the CRC32C of b, seeded with the segment's salt and with b's position in it. Without the salt, which never
// leaves the store, the body of a message cannot pose as a group, not even one that is itself a copy of a segment; with
// the position, bytes that landed in the wrong place are bad.
func salted(salt uint64, position int64, b []byte) uint32 {
	var seed [16]byte
	binary.LittleEndian.PutUint64(seed[:], salt)
	binary.LittleEndian.PutUint64(seed[8:], uint64(position))
	return crc32.Update(crc32.Checksum(seed[:], castagnoli), castagnoli, b)
}
