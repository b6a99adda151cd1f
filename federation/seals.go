package federation

// Seal epochs never go down along a lane, unless the origin's store was put back to an older state. Then two branches
// of the lane exist, with other bytes under the same offsets, and neither may be taken for a repeat of the other:
// CONFLICT (docs/design.md section 6.1). A journal remembers the last MaxSeals epochs that were taken, each with its
// first offset.

// Judge says what becomes of a batch that arrived: OK when something of it is still to be taken or unfinished, DupOK
// when it is done, Conflict when it belongs to another branch than what was taken: hold, never ack. Without a rewound
// origin there is no Conflict (TestLedgerAndJournalKeepTheGuaranteesThroughFaults). The router asks when a frame
// arrives, and again when done has passed a frame that waited. DupOK is for done as outcomes have it: the ack waits
// until Durable has it too.
func (s *JournalState) Judge(span Span, seal Epoch) Verdict {
	if span.Last > s.last && s.oldBranch(span.Last, seal) {
		return Conflict
	}
	if span.First <= s.last && !s.sealedAs(Span{span.First, min(span.Last, s.last)}, seal) {
		return Conflict
	}
	if span.Last <= s.mark.Done {
		return DupOK
	}
	return OK
}

// oldBranch tells whether offset n, or one below it, was taken from a batch that was sealed later. Points above n count
// for nothing: after a restart they are of offsets that come again, after n.
func (s *JournalState) oldBranch(n Offset, seal Epoch) bool {
	for _, p := range s.mark.Seals {
		if p.First <= n && p.Epoch > seal {
			return true
		}
	}
	return false
}

// sealedAs tells whether what was taken under the span's offsets was sealed in epoch seal, as far as that is
// remembered: below the oldest point it can only not have been sealed later.
func (s *JournalState) sealedAs(span Span, seal Epoch) bool {
	seals := s.mark.Seals
	for i, p := range seals {
		begins, ends := p.First, span.Last
		if i+1 < len(seals) {
			ends = min(ends, seals[i+1].First-1)
		}
		if max(begins, span.First) <= ends && p.Epoch != seal {
			return false
		}
	}
	below := len(seals) > 0 && span.First < seals[0].First
	return !below || seal <= seals[0].Epoch
}

// forgetsDone tells whether taking n from a batch sealed in epoch seal would push out the point that says in which epoch done was sealed:
// the origin would have nothing to compare. What is between the two ends first.
func (s *JournalState) forgetsDone(n Offset, seal Epoch) bool {
	seals := s.mark.Seals
	return len(seals) == MaxSeals && seals[MaxSeals-1].First < n && seals[MaxSeals-1].Epoch != seal && seals[1].First > s.mark.Done
}

// recordSeal notes that offset n, above all that was taken since the start, was taken from a batch sealed in epoch
// seal. Points at or above n are of an earlier process.
func recordSeal(seals []SealPoint, n Offset, seal Epoch) []SealPoint {
	for len(seals) > 0 && seals[len(seals)-1].First >= n {
		seals = seals[:len(seals)-1]
	}
	if len(seals) > 0 && seals[len(seals)-1].Epoch == seal {
		return seals
	}
	seals = append(seals, SealPoint{seal, n})
	if len(seals) > MaxSeals {
		seals = append(seals[:0], seals[1:]...)
	}
	return seals
}
