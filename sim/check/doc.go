// Package check judges a run by what stands at the brokers: what publishers were told, and what lies in the queues.
//
//	publisher ── confirms ──► []Published  ┐
//	                                       ├─ Judge ─► Verdict ─► Report
//	queue of a destination ─► []Appearance ┘
//
// It never asks a router, a journal or a counter of ours: a router that loses a message and forgets to count it must be
// caught. The checks are the guarantees of docs/guarantees.md as they show from outside:
//
//   - G1: every confirmed message appears, or is accounted for by a reason that the caller names (lost otherwise);
//   - G2: an unflagged appearance has a higher index, and a higher (generation, offset) in its x-cq-id, than whatever stands
//     before it, flagged or not (an inversion otherwise); a flagged first appearance below another one is late, counted, and
//     allowed to what the broker refused;
//   - G3: an unflagged appearance is the first one of its message (an unflagged duplicate otherwise); a flagged first
//     appearance is a false flag, counted, and wrong only in a run without faults;
//   - G11: bodies are those that were published, an x-cq-id is there and stands for one message (altered otherwise), and
//     nothing appears that nobody published, or that is accounted for elsewhere (alien).
//
// The words: a publish is one call of a publisher, numbered 1, 2, 3 … in its lane (the index); publishing again after an
// unknown outcome is another publish with another index, as the broker may well hold both. An appearance is one message
// that stands in a queue.
//
// Everything here is pure: no I/O, no time, and no testing, so that programs can use it. Start reading at Judge.
package check
