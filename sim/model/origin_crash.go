package main

// crashO: the origin's process dies and starts again. What was not committed is gone (a
// Commit that was durable but unanswered is the Commit step followed by the crash).
func (m *Model) crashO(s *State, behind, ghosts bool) {
	s.Pend = 0
	if s.Ep < 3 {
		s.Ep++
	}
	for d := 0; d < nDest; d++ {
		if s.LanePend>>d&1 != 0 {
			s.Member &^= 1 << d
			s.Join[d] = 0
		}
	}
	s.LanePend = 0
	s.Rcpt = s.DRcpt
	s.Hand = [nDest]uint16{}
	if m.on(vTryReset) {
		s.Try = [nDest]uint8{}
	}
	s.VFirst = [nDest]uint8{}
	if m.on(mCurVolatile) { // what the receipts still tell
		for d := range s.CurStore {
			s.CurStore[d] = s.DRcpt[d].Store
			if s.CurStore[d] == 0 {
				s.CurStore[d] = s.FirstStore[d]
			}
		}
	}
	if ghosts {
		s.raiseGhosts()
	}
	s.Ghost = 0
	if m.V == 0 && s.Rewound == 0 { // slots of batches that nobody ever saw are free again
		for s.NTab > 0 && s.Ever>>(s.NTab-1)&1 == 0 {
			s.NTab--
			s.Tab[s.NTab] = Batch{}
		}
	}
	s.Next = m.nextOffset(s)
	m.requeue(s, behind)
	s.dropLinks(nodeO)
}

// raiseGhosts: groups of a failed Commit turn up; the earlier one of two batches wins.
func (s *State) raiseGhosts() {
	for b := 0; b < int(s.NTab); b++ {
		if s.Ghost>>b&1 == 0 {
			continue
		}
		s.Dur |= 1 << b
		s.Ever |= 1 << b
		for c := 0; c < int(s.NTab); c++ {
			if c != b && s.Dur>>c&1 != 0 && s.Tab[c].First == s.Tab[b].First {
				s.Dur &^= 1 << c
			}
		}
	}
}

// nextOffset is where a lane goes on after a crash: above everything that anybody may have seen.
func (m *Model) nextOffset(s *State) uint8 {
	next := uint8(0)
	for b := 0; b < int(s.NTab); b++ {
		if s.Dur>>b&1 != 0 && s.Tab[b].last() > next {
			next = s.Tab[b].last()
		}
	}
	if !m.on(mNextStoredOnly) {
		if !m.on(vNoHigh) && s.High > next {
			next = s.High
		}
		for _, r := range s.DRcpt {
			if r.Done > next {
				next = r.Done
			}
		}
	}
	return next + 1
}

// requeue: the channel is gone, the broker redelivers what was not acked.
func (m *Model) requeue(s *State, behind bool) {
	if behind {
		s.Bud[bReorder]--
	}
	var back, all [maxMsg]uint8
	n := 0
	for x := uint8(1); x <= maxMsg; x++ {
		if s.QSt[x] == qUnacked {
			s.QSt[x] = qReady
			s.Redel |= 1 << x
			back[n] = x
			n++
		}
	}
	k := 0
	put := func(list []uint8) {
		for _, x := range list {
			if x != 0 {
				all[k] = x
				k++
			}
		}
	}
	if behind {
		put(s.Ready[:])
		put(back[:])
	} else {
		put(back[:])
		put(s.Ready[:])
	}
	s.Ready = all
	s.Ackable = 0
}

// commitFails is the wrong way: throw the sealed bytes away and let the broker redeliver.
func (m *Model) commitFails(s *State, behind bool) {
	s.Ghost |= s.Pend
	for b := 0; b < int(s.NTab); b++ {
		if s.Pend>>b&1 != 0 && s.Tab[b].First < s.Next {
			s.Next = s.Tab[b].First
		}
	}
	s.Pend = 0
	m.requeue(s, behind)
}

// restore puts the origin's store back to the snapshot.
func (m *Model) restore(s *State) {
	s.Dur, s.Ever, s.High, s.DRcpt = s.Snap.Dur, s.Snap.Ever, s.Snap.High, s.Snap.DRcpt
	s.Snap = Snap{}
	s.Excused |= s.lacking()
	s.Rewound = 1
	m.crashO(s, false, false)
}
