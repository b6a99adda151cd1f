package spool

import (
	"encoding/binary"
	"fmt"

	"cloudqueue/federation"
)

const (
	// MaxMarkValue is the bytes of a mark's value. Chosen: three times the longest that a format allows, a LANE mark of
	// 1,024 members (81 KiB); a lower limit than that one would refuse marks that must be written.
	MaxMarkValue = 256 << 10

	maxReason = 63
	maxShort  = 255  // bytes of who, why and outcome
	maxLong   = 4096 // bytes of errors and of what an audit says
)

// Payloads. "own LSN" is the LSN of the group in which the record was first written; of two that say different things
// about one key the greater own LSN wins, wherever they stand. It is set when the group gets its LSN, and kept when the
// record is rewritten.
//
//	BATCH   the batch's bytes (federation/batch_format.go)
//	MARK    own LSN u64, key (federation.AppendMarkKey), value: u32 length + bytes, at most MaxMarkValue
//	PARK    own LSN u64, id, reason text <= 63, errors text <= 4,096, attempts u32, first ms u64, last ms u64, taken ms u64, entry (federation.AppendEntry)
//	UNPARK  own LSN u64, id, outcome text, who text, why text, each <= 255; at ms u64
//	AUDIT   own LSN u64, who text <= 255, what text <= 4,096, at ms u64
//
//	id      key of a JOURNAL mark (lane, generation, destination), offset u64
//	text    u16 length + bytes
//
// All critical but AUDIT. A reader that meets a bad payload under a good checksum regards the group as corrupt.

func appendMark(dst []byte, lsn federation.LSN, key federation.MarkKey, value []byte) []byte {
	dst = appendU64(dst, uint64(lsn))
	dst = federation.AppendMarkKey(dst, key)
	return appendBytes(dst, value)
}

func (f *fields) mark() (federation.MarkKey, mark) {
	lsn := f.lsn()
	key := f.key()
	value := f.bytes()
	if f.err == nil && len(value) > MaxMarkValue {
		f.fail("a mark's value is too long")
	}
	return key, mark{lsn, value}
}

func appendPark(dst []byte, lsn federation.LSN, p *ParkRecord) ([]byte, error) {
	dst = appendU64(dst, uint64(lsn))
	dst = appendParkID(dst, p.ID())
	dst = appendText(dst, p.Reason)
	dst = appendText(dst, p.Errors)
	dst = appendU32(dst, p.Attempts)
	dst = appendTime(dst, p.First)
	dst = appendTime(dst, p.Last)
	dst = appendTime(dst, p.Taken)
	return federation.AppendEntry(dst, &p.Entry)
}

// parseParkHead reads a PARK up to its entry, whose bytes it leaves in the result's rest.
func parseParkHead(payload []byte) (p ParkRecord, lsn federation.LSN, rest []byte, err error) {
	f := fields{b: payload}
	lsn = f.lsn()
	id := f.parkID()
	p.Lane, p.Generation, p.Offset, p.Destination = id.Lane, id.Generation, id.Offset, id.Destination
	p.Reason, p.Errors = f.text(), f.text()
	p.Attempts = f.u32()
	p.First, p.Last, p.Taken = f.time(), f.time(), f.time()
	if f.err == nil && (len(p.Reason) > maxReason || len(p.Errors) > maxLong) {
		f.fail("a parked message's reason is too long")
	}
	return p, lsn, f.b, f.err
}

// parsePark reads a whole PARK. Its entry shares payload.
func parsePark(payload []byte) (ParkRecord, federation.LSN, error) {
	p, lsn, rest, err := parseParkHead(payload)
	if err != nil {
		return p, 0, err
	}
	p.Entry, rest, err = federation.ParseEntry(rest)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("bytes after a parked message: %w", federation.ErrCorrupt)
	}
	return p, lsn, err
}

func appendUnpark(dst []byte, lsn federation.LSN, u *UnparkRecord) []byte {
	dst = appendU64(dst, uint64(lsn))
	dst = appendParkID(dst, u.Park)
	dst = appendText(dst, u.Outcome)
	dst = appendText(dst, u.Who)
	dst = appendText(dst, u.Why)
	return appendTime(dst, u.At)
}

func parseUnpark(payload []byte) (UnparkRecord, federation.LSN, error) {
	f := fields{b: payload}
	lsn := f.lsn()
	u := UnparkRecord{Park: f.parkID(), Outcome: f.text(), Who: f.text(), Why: f.text(), At: f.time()}
	return u, lsn, f.end()
}

func appendAudit(dst []byte, lsn federation.LSN, a *AuditRecord) []byte {
	dst = appendU64(dst, uint64(lsn))
	dst = appendText(dst, a.Who)
	dst = appendText(dst, a.What)
	return appendTime(dst, a.At)
}

func (f *fields) audit() ownAudit {
	return ownAudit{f.lsn(), AuditRecord{Who: f.text(), What: f.text(), At: f.time()}}
}

// setOwnLSN writes the LSN of its group into a payload that begins with an own LSN and has none yet.
func setOwnLSN(payload []byte, lsn federation.LSN) {
	if binary.LittleEndian.Uint64(payload) == 0 {
		binary.LittleEndian.PutUint64(payload, uint64(lsn))
	}
}

// ownLSN reads the LSN that a payload with an own LSN begins with.
func ownLSN(payload []byte) federation.LSN {
	return federation.LSN(binary.LittleEndian.Uint64(payload))
}
