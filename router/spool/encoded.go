package spool

import (
	"fmt"

	"cloudqueue/federation"
)

// encoded is a record on its way into a group.
type encoded struct {
	kind    recordType
	flags   uint8
	payload []byte // of a batch: its own bytes; else the record's, which begin with the own LSN where hasOwnLSN says so

	batch *federation.Batch // of a BATCH
	key   federation.MarkKey
	value []byte     // of a MARK, within payload
	park  ParkedInfo // of a PARK, and the id of an UNPARK
	audit AuditRecord
	moved []uint64
}

// claim is what a submission asks of the quota.
type claim struct {
	bytes uint64                     // of batches and parked messages
	lanes map[federation.Lane]uint64 // of batches
	parks int
}

func (r *encoded) hasOwnLSN() bool {
	return r.kind == typeMark || r.kind == typePark || r.kind == typeUnpark || r.kind == typeAudit
}

// encodeRecords checks and encodes what callers commit.
func encodeRecords(records []Record) (*submission, error) {
	s := &submission{records: make([]encoded, len(records)), done: make(chan struct{})}
	for i, r := range records {
		e, err := encodeRecord(r)
		if err != nil {
			return nil, err
		}
		s.records[i] = e
		s.claim.add(&e)
	}
	return s, s.measure()
}

// newSubmission is for records that the spool writes for itself.
func newSubmission(records ...encoded) (*submission, error) {
	s := &submission{records: records, done: make(chan struct{})}
	return s, s.measure()
}

// measure fills in the size and refuses what no group may hold.
func (s *submission) measure() error {
	for i := range s.records {
		n := len(s.records[i].payload)
		if n > maxRecord {
			return fmt.Errorf("%s of %d bytes: %w", s.records[i].kind, n, federation.ErrTooLarge)
		}
		s.size += recordHeadSize + n
	}
	if s.size > MaxGroup {
		return fmt.Errorf("records of %d bytes in one group: %w", s.size, federation.ErrTooLarge)
	}
	return nil
}

func encodeRecord(r Record) (e encoded, err error) {
	e.flags = flagCritical
	switch r := r.(type) {
	case BatchRecord:
		e.kind, e.batch, e.payload = typeBatch, r.Batch, r.Batch.Bytes()
	case MarkRecord:
		return encodeMark(r)
	case ParkRecord:
		return encodePark(r)
	case UnparkRecord:
		return encodeUnpark(r)
	case AuditRecord:
		if len(r.Who) > maxShort || len(r.What) > maxLong {
			return e, fmt.Errorf("audit by %.40q: %w", r.Who, federation.ErrTooLarge)
		}
		e.kind, e.flags, e.audit, e.payload = typeAudit, 0, r, appendAudit(nil, 0, &r)
	default:
		panic(fmt.Sprintf("spool: record %T", r)) // the set is sealed
	}
	return e, nil
}

func encodeMark(r MarkRecord) (encoded, error) {
	if err := validKey(r.Key); err != nil {
		return encoded{}, fmt.Errorf("mark: %w", err)
	}
	if len(r.Value) > MaxMarkValue {
		return encoded{}, fmt.Errorf("mark of %d bytes: %w", len(r.Value), federation.ErrTooLarge)
	}
	e := encoded{kind: typeMark, flags: flagCritical, key: r.Key, payload: appendMark(nil, 0, r.Key, r.Value)}
	e.value = e.payload[len(e.payload)-len(r.Value):]
	return e, nil
}

func encodePark(r ParkRecord) (encoded, error) {
	e := encoded{kind: typePark, flags: flagCritical}
	if err := validPark(r.ID()); err != nil {
		return e, err
	}
	if len(r.Reason) > maxReason || len(r.Errors) > maxLong {
		return e, fmt.Errorf("park %s: the reason: %w", r.Lane, federation.ErrTooLarge)
	}
	var err error
	if e.payload, err = appendPark(nil, 0, &r); err != nil {
		return e, fmt.Errorf("park %s %d: %w", r.Lane, r.Offset, err)
	}
	e.park = r.info(len(e.payload))
	return e, nil
}

func encodeUnpark(r UnparkRecord) (encoded, error) {
	e := encoded{kind: typeUnpark, flags: flagCritical, park: ParkedInfo{ID: r.Park}}
	if err := validPark(r.Park); err != nil {
		return e, err
	}
	if len(r.Outcome) > maxShort || len(r.Who) > maxShort || len(r.Why) > maxShort {
		return e, fmt.Errorf("unpark %s: the words: %w", r.Park.Lane, federation.ErrTooLarge)
	}
	e.payload = appendUnpark(nil, 0, &r)
	return e, nil
}

func validPark(id ParkID) error {
	err := validKey(federation.MarkKey{Kind: federation.MarkJournal, Lane: id.Lane, Generation: id.Generation,
		Dest: id.Destination})
	if err != nil {
		return fmt.Errorf("parked message: %w", err)
	}
	return nil
}

func (c *claim) add(e *encoded) {
	switch e.kind {
	case typeBatch:
		if c.lanes == nil {
			c.lanes = make(map[federation.Lane]uint64, 1)
		}
		c.lanes[e.batch.Header.Lane] += uint64(len(e.payload))
		c.bytes += uint64(len(e.payload))
	case typePark:
		c.parks++
		c.bytes += uint64(len(e.payload))
	}
}
