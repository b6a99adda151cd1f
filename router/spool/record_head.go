package spool

import (
	"encoding/binary"
	"fmt"

	"cloudqueue/federation"
)

// recordType is the type byte of a record.
type recordType uint8

// Types of records (design section 13). 2 COPY, 9 HANDED and 12 TIME are reserved for relays; 7 VOID and 8 LANE are
// marks.
const (
	typeBatch      recordType = 1
	typeMark       recordType = 3
	typeCheckpoint recordType = 4
	typePark       recordType = 5
	typeUnpark     recordType = 6
	typeRecovered  recordType = 10
	typeMoved      recordType = 11
	typeAudit      recordType = 13
)

var recordNames = map[recordType]string{typeBatch: "BATCH", typeMark: "MARK", typeCheckpoint: "CHECKPOINT",
	typePark:   "PARK",
	typeUnpark: "UNPARK", typeRecovered: "RECOVERED", typeMoved: "MOVED", typeAudit: "AUDIT"}

// String gives the record's name as it stands in the design, "RECORD_n" for an unknown one.
func (t recordType) String() string {
	if s, ok := recordNames[t]; ok {
		return s
	}
	return fmt.Sprintf("RECORD_%d", uint8(t))
}

const (
	recordHeadSize = 8
	flagCritical   = 1 // a reader that does not know the type must not open the spool

	// maxRecord bounds a record's payload: a batch of the greatest size, or a parked message with what is said of it.
	maxRecord = federation.MaxEncodedBatch + 64<<10
)

// A record stands in a group's body, one after the other without padding between them:
//
//	off size field
//	  0    1 type
//	  1    1 flags: bit 0 critical
//	  2    2 zero
//	  4    4 length of the payload, at most 16 MiB + 128 KiB
//	  8      payload
//
// An unknown type that is critical stops the opening; one that is not is kept and rewritten byte for byte.
func appendRecordHead(dst []byte, t recordType, flags uint8, length int) []byte {
	dst = append(dst, byte(t), flags, 0, 0)
	return binary.LittleEndian.AppendUint32(dst, uint32(length))
}

// rawRecord is a record as it stands in a body; payload shares it.
type rawRecord struct {
	kind    recordType
	flags   uint8
	payload []byte
	offset  int // of the record's head in the body
}

// splitRecords calls visit for each of n records of a body and checks that zeros alone follow. Errors wrap
// federation.ErrCorrupt; an error of visit ends it.
func splitRecords(body []byte, n uint32, visit func(rawRecord) error) error {
	at := 0
	for range n {
		if len(body)-at < recordHeadSize {
			return fmt.Errorf("a record's head is cut off: %w", federation.ErrCorrupt)
		}
		head := body[at : at+recordHeadSize]
		length := binary.LittleEndian.Uint32(head[4:])
		if head[2] != 0 || head[3] != 0 || length > maxRecord || int(length) > len(body)-at-recordHeadSize {
			return fmt.Errorf("a record of %d bytes: %w", length, federation.ErrCorrupt)
		}
		end := at + recordHeadSize + int(length)
		if err := visit(rawRecord{recordType(head[0]), head[1], body[at+recordHeadSize : end : end], at}); err != nil {
			return err
		}
		at = end
	}
	for _, b := range body[at:] {
		if b != 0 {
			return fmt.Errorf("padding that is not zero: %w", federation.ErrCorrupt)
		}
	}
	return nil
}
