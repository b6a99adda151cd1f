// Package federation is the vocabulary and the protocol state of Cloudqueue: what a message, an entry, a batch, a lane
// and a receipt are, how they look in bytes, and which of them may move when.
//
// Everything here is pure: no I/O, no goroutine, no clock, no log. What needs the time takes it as an argument.
//
// Words (docs/design.md section 2 has all of them):
//
//	site         one data center: one local broker, one store, one router
//	lane         one ordered stream: origin site + route id + kind (+ shard); the unit of order, dedup and accounting
//	offset       what a lane numbers: 1, 2, 3 …, dense, never reset within a generation
//	generation   identity of a lane's numbering; ordered
//	batch        a run of entries of one lane, sealed: compressed once, checksummed, immutable
//	destination  (site, target) of a route
//	journal      the destination's mark per lane: done, reserved and counters
//	receipt      the destination's cumulative word that offsets up to done are finished; only it lets the origin forget
//	seal epoch   the origin's epoch when a batch was sealed
//
// All integers on disk and on the wire are little endian (docs/design.md section 13).
package federation
