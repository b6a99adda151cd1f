package main

// mayJoin: a destination joins again only when its earlier leave is receipted.
func (m *Model) mayJoin(s *State, d int) bool {
	return s.Join[d] == 0 || m.on(mRejoinNoWait) || s.DRcpt[d].Done >= s.Leave[d]
}

func (m *Model) edit(s *State, d int, join bool) {
	if !join {
		s.Member &^= 1 << d
		s.Leave[d] = s.Next - 1
		return
	}
	s.Member |= 1 << d
	s.Join[d] = s.Next
	if m.on(mJoinDurableOnly) {
		s.Join[d] = s.High + 1
	}
	if m.Split {
		s.LanePend |= 1 << d
	}
}

// asks: a destination without a journal asks; one with a journal asks when a gap lasts
// and the answer can help (it joined again, or its former store was receipted).
func (m *Model) asks(s *State, d int) bool {
	D := &s.D[d]
	if s.Join[d] == 0 || s.LanePend>>d&1 != 0 && !m.on(mSyncVolatile) {
		return false
	}
	// FENCED: a store older than the newest one answered gets no answer but an operator's word.
	if m.fenced(s, d) || s.Held>>d&1 != 0 || s.fencedLink(lastLink(s.Path[d], d)) {
		return false
	}
	// The answer waits for the group that holds the receipts accepted so far.
	if s.Rcpt[d] != s.DRcpt[d] && !m.on(mSyncDurableOnly|vSyncAnyState) {
		return false
	}
	if D.HasJ == 0 {
		return true
	}
	if D.Pub != D.Done {
		return false
	}
	return !m.on(mJoinNoDone) && s.Join[d] > D.Done+1 || m.on(vJump) && s.DRcpt[d].Done > D.Done
}

// fenced: the store of the destination is older than one that the origin has answered.
func (m *Model) fenced(s *State, d int) bool {
	return s.D[d].Store+1 < s.CurStore[d] && !m.on(mNoFence)
}

// answer: the origin answers SYNC from durable state. The destination's first store id is
// recorded durably, once and for ever, before the first answer; the current one before each.
func (m *Model) answer(s *State, d int) {
	D := &s.D[d]
	me := D.Store + 1
	first := s.FirstStore[d]
	if m.on(mStoreVolatile) {
		first = s.VFirst[d]
	}
	if m.on(mStoreLatest) {
		first = s.CurStore[d]
	}
	isFirst := uint8(0)
	if first == 0 || first == me {
		isFirst = 1
	}
	if s.FirstStore[d] == 0 {
		s.FirstStore[d] = me
	}
	s.VFirst[d] = me
	s.CurStore[d] = me
	last := uint8(0)
	for b := 0; b < int(s.NTab); b++ {
		if (s.Ever|s.Dur)>>b&1 != 0 && s.Tab[b].last() > last {
			last = s.Tab[b].last()
		}
	}
	D.Ans = Answer{1, isFirst, s.Join[d], last, s.DRcpt[d]}
	if m.on(vSyncAnyState) {
		D.Ans.Rcpt = s.Rcpt[d]
	}
}

func (m *Model) adopt(s *State, d int) {
	D := &s.D[d]
	a := D.Ans
	D.Ans = Answer{}
	if D.HasJ != 0 {
		// A gap: the lane went on without this destination, or its former store was receipted.
		if m.on(vJump) && a.Rcpt.Done > D.Done {
			D.Done, D.C = a.Rcpt.Done, a.Rcpt.C
		}
		if a.Join > D.Done+1 {
			D.C.Excluded += a.Join - 1 - D.Done
			D.Done = a.Join - 1
		}
		if D.Res < D.Done {
			D.Res = D.Done
		}
		if D.Pub < D.Done {
			D.Pub = D.Done
		}
		D.EpFrom = D.Done
		return
	}
	D.HasJ = 1
	D.Join = a.Join
	base := a.Join - 1
	if m.on(mJoinNoDone) {
		base = 0
		D.Join = 1
	}
	if a.First != 0 || m.on(mJournalLossNew) {
		D.Done, D.Res = base, base
	} else {
		D.Done = a.Rcpt.Done
		D.C = a.Rcpt.C
		if m.on(mCountersZero) {
			D.C = Counters{}
		}
		// join of the journal: so that done - join + 1 = counters
		D.Join = uint8(int(D.Done) + 1 - D.C.sum())
		if a.Rcpt.Done == 0 {
			D.Done, D.Join = base, a.Join
		} else if base > D.Done {
			D.C.Excluded += base - D.Done
			D.Done = base
		}
		if m.on(mCountersZero) {
			D.Join = 1
		}
		D.Res = a.Last
		if m.on(mReservedLow) {
			D.Res = D.Done
		}
		if D.Res < D.Done {
			D.Res = D.Done
		}
	}
	D.FlagTo = D.Res
	D.Pub = D.Done
	D.EpFrom = D.Done
}
