// Package spool is the durable log of one router: batches, marks and parked messages of all lanes, in one sequence of
// groups.
//
//	Submit ──► queue ──► writer ──► active segment ── full ──► footer ──► older segments
//	                       │              ▲                                   │
//	                       │ one sync     │ opened ahead                      │ nothing live: MOVED, removed
//	                       ▼              │                                   │ little live: rewritten to the log's end
//	           marks, index, parking    keeper ◄──────────────────────────────┘
//	                       │
//	Mark, Read, Parked ◄───┘
//
//	segment    header │ group │ group │ … │ footer          written once, from front to back
//	group      header │ record │ record │ … │ zeros         what one sync made durable; LSNs are consecutive
//	record     BATCH, MARK, PARK, UNPARK, AUDIT             what callers commit
//	           CHECKPOINT, RECOVERED, MOVED                 what the spool writes for itself
//
// # The promise
//
// Commit returns nil: all its records are durable, and whatever was submitted before them is. It returns an error:
// nobody knows; they may turn up after a restart. The records of one Submit stand in one group. What survives a crash
// is a prefix by LSN.
//
// A store keeps bytes (Segments): memstore and localdir are two. Everything that must be true of them is in the comment
// of Segments and in the suite storetest.
//
// # Crash safety
//
// One group syncs at a time, while the next one collects. Its header says which LSN was durable when it was written. So
// at the first bad group x of a scan:
//
//   - if anything behind it, a group's header or a footer, says that x was durable, x is corrupt: it is never served, and it is loud;
//   - if nothing does, nobody was told that x is durable: the log ends before x.
//
// A flip in the newest group can therefore only be cut. Checksums are seeded with a random number of the segment's
// header and with the position, so that no message's body can pose as a group.
//
// After a failed write or sync the segment is left, and the group is written again, with the same LSN and the same
// records, as the first of a new one, until the store says that it is durable. Nothing is ever written twice to the
// same place, and no file handle is asked again after an error (a second fsync may say nil with the data gone).
//
// Which copy counts follows from one rule: segments are used in the order of their numbers, and a segment's first LSN
// ends all earlier ones. An opening begins a segment with the groups that it found at the end and that nothing says
// were durable (what was served must not be lost by a later power failure), RECOVERED and a CHECKPOINT; whatever older
// segments hold at or above that LSN never counts again. So a cut is decided once.
//
// Marks are merged by the LSN at which they were first written, not by where they stand; PARK and UNPARK too. A new
// segment begins with a CHECKPOINT of all marks, so that older segments hold nothing but batches and parked messages,
// and with the table of the older segments: one that is missing, cut or bad is found at the next opening. A corrupt
// stretch behind the newest CHECKPOINT may have held marks, and stops the spool (CorruptError.Marks); one before it
// stops lanes: those whose batch it is, and where nobody knows, those in which an offset is missing that was stored
// once.
//
// # Recovery and memory
//
// An opening reads the segments from the newest back to one with a complete CHECKPOINT, and the footers' summaries of
// the others: its time does not depend on the backlog. In memory stay the marks, the parking's index, and per segment
// and lane some runs of offsets; where each batch stands is read from the footers when the lane is.
//
// # Space
//
// The quota counts all bytes of all segments. Batches and parked messages are refused when they would reach into the
// reserve, so that marks, checkpoints and cleaning always have room. A segment is rewritten only when at most half of
// it is live (a quarter, while there is room): at most one byte is written for each that comes back.
//
// # What it does not do
//
// It does not interpret marks, order lanes among each other, or know receipts: who forgets what is the router's word.
// Forget is not durable. A store that was put back to an older state looks like a store that never went further: peers
// find it out (design 5).
//
// Where to start: segments.go (what a store promises), spool.go (Open), queue.go (Submit), writer.go (a group's way),
// recover.go (what counts after a crash), cleaner.go. docs/formats-spool.md has the bytes.
package spool
