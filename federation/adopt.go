package federation

import "slices"

// Adoption is what a SYNC answer changed.
type Adoption uint8

// Adoptions. After the first four the mark must be durable before the next publish, which Take sees to.
const (
	// AdoptedFresh: the lane is new to this destination; it begins at join, unflagged.
	AdoptedFresh Adoption = iota
	// AdoptedLoss: an earlier store of this destination served the lane: it goes on after the receipt, with its
	// counters, flagged up to the last offset that was assigned. What that store had parked is lost, and is to be said.
	AdoptedLoss
	// AdoptedGap: offsets before a later join, or voided ones, were passed and counted.
	AdoptedGap
	// AdoptNothing: nothing is passed. Voids further on are noted.
	AdoptNothing
	// AdoptLater: the answer passes offsets while some are unfinished: adopt it again when they have ended.
	AdoptLater
	// AdoptRefused: the verdict is not OK, the destination is no member, or the answer contradicts itself.
	AdoptRefused
)

// Adopt takes the origin's answer to SYNC (docs/design.md sections 6.3, 6.4; sim/model, adopt).
func (s *JournalState) Adopt(a Sync) Adoption {
	if a.Verdict != OK || a.Join < 1 || a.HasReceipt && !balanced(a.Receipt) {
		return AdoptRefused
	}
	if s.known {
		return s.adoptGap(a)
	}
	s.known = true
	// A store that was answered first and yet has a receipt served the lane and lost its journal since: it is no new
	// one.
	fresh := a.FirstStore && !a.HasReceipt
	if fresh {
		s.begin(a.Join, a.Join-1, a.Join-1)
	} else {
		s.resume(a)
	}
	s.mark.OriginStore = a.OriginStore
	s.addVoids(a)
	if fresh {
		return AdoptedFresh
	}
	return AdoptedLoss
}

// begin makes a journal in which nothing was taken: done is finished, and up to reserved an earlier store may have
// published.
func (s *JournalState) begin(join, done, reserved Offset) {
	s.mark.Join, s.mark.Done, s.mark.Reserved = join, done, max(reserved, done)
	s.last, s.flagTo = done, s.mark.Reserved
	s.mark.Seals = nil
}

// resume goes on where a lost store's receipt ends. Its join stays the first one, so that the books balance.
func (s *JournalState) resume(a Sync) {
	if !a.HasReceipt {
		s.begin(a.Join, a.Join-1, a.LastAssigned)
		return
	}
	r := a.Receipt
	s.mark.Counters = r.Counters
	done, seal := r.Done, r.Seal
	if a.Join-1 > done { // it left, and joined again since
		s.mark.Counters.Excluded += uint64(a.Join - 1 - done)
		done, seal = a.Join-1, 0
	}
	s.begin(r.Join, done, a.LastAssigned)
	if seal != 0 && done >= r.Join {
		s.mark.Seals = []SealPoint{{seal, done}}
	}
}

// adoptGap passes what the origin says is not for this destination.
func (s *JournalState) adoptGap(a Sync) Adoption {
	gap := a.Join > s.mark.Done+1
	if gap && len(s.slots) > 0 {
		return AdoptLater
	}
	before := s.mark.Done
	if gap {
		s.pass(a.Join-1, &s.mark.Counters.Excluded)
	}
	s.mark.OriginStore = a.OriginStore
	s.addVoids(a)
	if s.mark.Done == before {
		return AdoptNothing
	}
	return AdoptedGap
}

// addVoids notes the voided spans that are for this destination. What is right above done is passed; the others wait
// for what is below them.
func (s *JournalState) addVoids(a Sync) {
	for _, v := range a.Voids {
		if len(v.Destinations) == 0 || slices.Contains(v.Destinations, a.Destination) {
			s.voids.Add(Span{max(v.Span.First, s.mark.Done+1), v.Span.Last})
		}
	}
	s.settle()
}

// ForgetVoids forgets what is given up above done. The origin tells it again when it goes on; an origin that was put back never gave it up.
func (s *JournalState) ForgetVoids() { s.voids.RemoveFrom(s.mark.Done + 1) }

func balanced(r Receipt) bool {
	return r.Join >= 1 && r.Done+1 >= r.Join && uint64(r.Done+1-r.Join) == r.Counters.Sum()
}
