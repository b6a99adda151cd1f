package federation

import (
	"fmt"
	"slices"
)

// JournalState is the destination's side of a lane, generation and destination (docs/design.md section 6.1): what is
// finished, what was published and waits for its outcome, what may be published next and whether flagged.
//
//	          done            last taken        reserved (durable)
//	────────────┼──────────────────┼──────────────────┼────────▶ offsets
//	 delivered, │ published, its   │ may be taken     │ StepReserve:
//	 parked,    │ outcome to come, │                  │ commit a mark first
//	 expired …  │ or come already  │                  │
//
// After a restart: up to done skip; what is parked above done is passed; between done and reserved everything may have
// been published, so it is published flagged; above reserved nothing was, so it is not flagged. That is true as long as
// the mark is durable before the first publish of what it reserves, which Take sees to.
//
// The router takes offsets in order (Take), publishes, and tells how each ended (End, Fail) in any order; it commits
// Mark whenever Changed, and tells when it is durable (Committed). Acks and receipts are made of Durable alone. One
// goroutine at a time may use it.
type JournalState struct {
	known   bool
	stopped bool
	limit   int
	mark    Journal // as outcomes have it; not durable yet
	durable Journal
	last    Offset              // last offset taken; done when nothing is in between
	flagTo  Offset              // up to here an earlier process may have published
	slots   []slot              // of done+1 … last
	failed  int                 // of slots
	parked  map[Offset]struct{} // found at the restart: PARKs above done without UNPARK
	voids   *SpanSet            // given up by an audited word, above done
}

type slot struct {
	state   slotState
	end     End
	flagged bool
}

type slotState uint8

const (
	slotTaken slotState = iota
	slotFailed
	slotEnded
)

// End is how an offset ended at its destination.
type End uint8

// Ends of an offset.
const (
	EndDelivered End = iota // confirmed by the broker, and not returned
	EndParked               // its PARK has a lower LSN than the mark that will count it
	EndExpired              // its lifetime ended before it was published
	EndExcluded             // the loop rule, or another tombstone
)

// Step is what to do with an offset.
type Step uint8

// Steps that Take answers.
const (
	// StepPublish: publish it, unflagged unless the entry says otherwise. End or Fail must follow.
	StepPublish Step = iota
	// StepFlagged: publish it with the duplicate flag. End or Fail must follow.
	StepFlagged
	// StepParked: an earlier process parked it: it is passed, go on with the next one.
	StepParked
	// StepPast: it was taken before.
	StepPast
	// StepReserve: it is above the durable reserved: Reserve, commit Mark, then take it.
	StepReserve
	// StepWait: it is not the next one, or limit offsets are unfinished, or a failed one is to be published again first
	// (else a higher offset would appear before it, G2), or a void begins here and something below it is unfinished, or
	// there is no journal yet, or the state is stopped.
	StepWait
	// StepConflict: it is sealed earlier than what was last taken: hold, answer CONFLICT.
	StepConflict
)

// NewJournalState makes the state of a destination without a journal: it has to ask SYNC and Adopt the answer first. At
// most limit offsets are between done and the last taken.
func NewJournalState(limit int) *JournalState {
	return &JournalState{limit: max(limit, 1), parked: map[Offset]struct{}{}, voids: NewSpanSet(MaxVoids)}
}

// RestoreJournal makes the state after a restart, from the durable mark and the offsets parked without UNPARK. It
// returns an error when the mark contradicts itself.
func RestoreJournal(j Journal, parked []Offset, limit int) (*JournalState, error) {
	if wrong := j.valid(); wrong != "" {
		return nil, fmt.Errorf("restore journal: %w: %s", ErrCorrupt, wrong)
	}
	s := NewJournalState(limit)
	s.known = true
	s.mark = cloneJournal(j)
	s.durable = cloneJournal(j)
	s.last, s.flagTo = j.Done, j.Reserved
	for _, n := range parked {
		if n > j.Done {
			s.parked[n] = struct{}{}
		}
	}
	return s, nil
}

// Known tells whether there is a journal.
func (s *JournalState) Known() bool { return s.known }

// Next is the next offset to take.
func (s *JournalState) Next() Offset { return s.last + 1 }

// Unfinished is the number of offsets between done and the last taken, whether their outcome is still to come or has
// come out of order.
func (s *JournalState) Unfinished() int { return len(s.slots) }

// Look says what Take would, and changes nothing: who looks, publishes and takes only what was handed to the broker
// leaves no offset taken that certainly was not published.
func (s *JournalState) Look(n Offset, seal Epoch) Step {
	switch {
	case s.known && n <= s.last:
		return StepPast
	case !s.known || s.stopped || n != s.last+1 || len(s.slots) >= s.limit || s.failed > 0 || s.voids.Contains(n) || s.forgetsDone(n, seal):
		return StepWait
	case s.oldBranch(n, seal):
		return StepConflict
	}
	if _, parked := s.parked[n]; parked {
		return StepParked
	}
	switch {
	case n > s.durable.Reserved:
		return StepReserve
	case n <= s.flagTo:
		return StepFlagged
	}
	return StepPublish
}

// Take takes offset n, of a batch sealed in epoch seal that Judge let pass, and says what to do with it. Only
// StepPublish, StepFlagged and StepParked take it; after the others nothing has changed.
func (s *JournalState) Take(n Offset, seal Epoch) Step {
	step := s.Look(n, seal)
	switch step {
	case StepParked:
		s.take(n, seal, slot{state: slotEnded, end: EndParked})
		s.settle()
	case StepPublish, StepFlagged:
		s.take(n, seal, slot{flagged: step == StepFlagged})
	}
	return step
}

func (s *JournalState) take(n Offset, seal Epoch, as slot) {
	s.mark.Seals = recordSeal(s.mark.Seals, n, seal)
	s.slots = append(s.slots, as)
	s.last = n
}

// End records how a taken offset ended. It returns false, and changes nothing, for one that waits for no outcome.
func (s *JournalState) End(n Offset, end End) bool {
	at := s.at(n)
	if at == nil || at.state == slotEnded {
		return false
	}
	if at.state == slotFailed {
		s.failed--
	}
	at.state, at.end = slotEnded, end
	s.settle()
	return true
}

// Fail records that a publish did not end well (nacked, returned by an alarm, channel closed): the broker may hold a
// copy, so it is published again, flagged: Retry. It returns false, and changes nothing, for an offset that waits for
// no outcome.
func (s *JournalState) Fail(n Offset) bool {
	at := s.at(n)
	if at == nil || at.state != slotTaken {
		return false
	}
	at.state, at.flagged = slotFailed, true
	s.failed++
	return true
}

// Failed are the offsets to publish again, ascending.
func (s *JournalState) Failed() []Offset {
	if s.failed == 0 {
		return nil
	}
	list := make([]Offset, 0, s.failed)
	for i := range s.slots {
		if s.slots[i].state == slotFailed {
			list = append(list, s.mark.Done+1+Offset(i))
		}
	}
	return list
}

// Retry records that a failed offset is published again, flagged. End or Fail must follow.
func (s *JournalState) Retry(n Offset) bool {
	at := s.at(n)
	if at == nil || at.state != slotFailed {
		return false
	}
	at.state = slotTaken
	s.failed--
	return true
}

func (s *JournalState) at(n Offset) *slot {
	if n <= s.mark.Done || n > s.last {
		return nil
	}
	return &s.slots[n-s.mark.Done-1]
}

// settle moves done over what ended, and over voids that begin there.
func (s *JournalState) settle() {
	i := 0
	for i < len(s.slots) && s.slots[i].state == slotEnded {
		s.mark.Counters.count(s.slots[i])
		i++
		delete(s.parked, s.mark.Done+Offset(i))
	}
	s.slots = s.slots[i:]
	s.setDone(s.mark.Done + Offset(i))
	for len(s.slots) == 0 && s.voids.Contains(s.mark.Done+1) {
		s.pass(s.voids.Gap(s.mark.Done+1)-1, &s.mark.Counters.Voided)
	}
	s.voids.RemoveUpTo(s.mark.Done)
}

func (s *JournalState) setDone(done Offset) {
	s.mark.Done = done
	s.mark.Reserved = max(s.mark.Reserved, done)
	s.last = max(s.last, done)
}

// pass moves done to an offset without taking those between, which counter counts; what is parked among them stays
// counted as that. The seal epochs of what is passed are not known, so none below is remembered.
func (s *JournalState) pass(to Offset, counter *uint64) {
	*counter += uint64(to - s.mark.Done)
	for n := range s.parked {
		if n <= to {
			*counter--
			s.mark.Counters.Parked++
			delete(s.parked, n)
		}
	}
	s.mark.Seals = nil
	s.setDone(to)
}

// count adds one ended offset.
func (c *Counters) count(as slot) {
	var flagged uint64
	if as.flagged {
		flagged = 1
	}
	switch as.end {
	case EndDelivered:
		c.Delivered++
		c.Flagged += flagged
	case EndParked:
		c.Parked++
	case EndExpired:
		c.Expired++
		c.Uncertain += flagged
	case EndExcluded:
		c.Excluded++
	default:
		panic(fmt.Sprintf("federation: offset ended as %d", as.end))
	}
}

// Mark is the mark to commit: done, counters and what is to be reserved. The caller owns it.
func (s *JournalState) Mark() Journal { return cloneJournal(s.mark) }

// Done is Mark().Done: all up to it has ended, durably or not.
func (s *JournalState) Done() Offset { return s.mark.Done }

// Changed tells whether Mark says something that Durable does not.
func (s *JournalState) Changed() bool {
	return s.known && (s.mark.Done != s.durable.Done || s.mark.Reserved != s.durable.Reserved || s.durable.Join == 0)
}

// Committed records that a mark is durable. Marks become durable in the order in which Mark gave them.
func (s *JournalState) Committed(j Journal) {
	if j.Done >= s.durable.Done {
		s.durable = cloneJournal(j)
	}
}

// Durable is the journal as it is durable: frames up to its Done may be acked, and it is what a receipt says. Join is 0
// while no mark is durable.
func (s *JournalState) Durable() Journal { return cloneJournal(s.durable) }

// DurableDone is Durable().Done: frames that end at or below it may be acked.
func (s *JournalState) DurableDone() Offset { return s.durable.Done }

// SetOriginStore notes the store that the origin has now; the next mark says it.
func (s *JournalState) SetOriginStore(id StoreID) { s.mark.OriginStore = id }

func cloneJournal(j Journal) Journal {
	j.Seals = slices.Clone(j.Seals)
	return j
}

// Receipt is the receipt that a durable journal stands for.
func (j Journal) Receipt(lane Lane, generation Generation, destination Destination) Receipt {
	return Receipt{Lane: lane, Generation: generation, Destination: destination, Join: j.Join, Done: j.Done, Seal: j.DoneSeal(), Counters: j.Counters}
}
