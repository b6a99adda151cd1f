package spool

import (
	"time"

	"cloudqueue/federation"
)

// Record is what callers commit: one of BatchRecord, MarkRecord, ParkRecord, UnparkRecord and AuditRecord.
type Record interface{ record() }

// BatchRecord stores a sealed batch. A batch of the same name must have the same bytes, whenever it is stored again.
type BatchRecord struct{ Batch *federation.Batch }

// MarkRecord sets a mark. Of two in one group the later wins.
type MarkRecord struct {
	Key   federation.MarkKey
	Value []byte // at most MaxMarkValue bytes
}

// ParkRecord keeps one message that cannot be delivered for a reason of its own.
type ParkRecord struct {
	Lane        federation.Lane
	Generation  federation.Generation
	Offset      federation.Offset
	Destination federation.Destination
	Reason      string // of the fixed set, at most 63 bytes
	Errors      string // what was said, for people; at most 4,096 bytes
	Attempts    uint32
	First, Last time.Time // first and last attempt, whole milliseconds
	Taken       time.Time // when its origin took it, by the origin's clock, whole milliseconds
	// Entry is the message, with the path and the lifetime that it had left when it was parked: parking ages nothing.
	Entry federation.Entry
}

// ID names the parked message.
func (p *ParkRecord) ID() ParkID { return ParkID{p.Lane, p.Generation, p.Offset, p.Destination} }

// UnparkRecord ends the parking of a message.
type UnparkRecord struct {
	Park     ParkID
	Outcome  string // redriven or dropped
	Who, Why string // at most 255 bytes each
	At       time.Time
}

// AuditRecord keeps the word of an admin.
type AuditRecord struct {
	Who, What string // at most 255 and 4,096 bytes
	At        time.Time
}

// ParkID names a parked message. It is comparable.
type ParkID struct {
	Lane        federation.Lane
	Generation  federation.Generation
	Offset      federation.Offset
	Destination federation.Destination
}

func (BatchRecord) record()  {}
func (MarkRecord) record()   {}
func (ParkRecord) record()   {}
func (UnparkRecord) record() {}
func (AuditRecord) record()  {}
