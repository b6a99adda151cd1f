// Package federation is the vocabulary and the protocol state of Cloudqueue: what a message, an entry, a batch, a lane
// and a receipt are, how they look in bytes, and which of them may move when.
//
//	origin                                               destination
//	Entry ─▶ Seal ─▶ Batch ──── COPY frame ────▶ ParseBatch ─▶ Open ─▶ Entry
//	Ledger: sent, receipted, ◀─── ACK frame ───  PositionWindow: what may wait here
//	repair due               ◀── RECEIPT frame ─ JournalState: what may be published, what is done
//
// Everything here is pure: no I/O, no goroutine, no clock, no log. What needs the time takes it as an argument. Nothing
// here is safe for concurrent use unless it says so: one goroutine owns each piece of state.
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
//	opening      one time that a store was opened: its epoch, and its last LSN
//	branch       what a lane became after one state of its origin's store: a copy put back gives it two
//
// What it holds to, whatever arrives: a decoder allocates no more than a small multiple of its input, or the limit in
// limits.go; a damaged batch is never opened to something else; every list and window is bounded; what state
// machines say is by the rules that sim/model checks (G1, G2, G3, G14).
//
// What it does not do: it moves no bytes (wan), stores none (router/spool), talks to no broker (localbroker), and
// decides no route (topology). The router asks it and acts.
//
// Start reading with message.go, entry.go and batch.go for the vocabulary, fields.go and batch_format.go for the bytes
// (docs/formats.md tells them in prose), ledger.go, journal.go and branch.go for the protocol. protocol_test.go runs
// both ends against each other.
package federation
