package main

// crashR: the relay's process dies and starts again; where the site delivers too, it is one process.
func (m *Model) crashR(s *State, r int) {
	s.R[r].Handed = [nDest]uint16{}
	s.R[r].VHeld = [nDest]uint16{}
	s.dropLinks(nodeR1 + r)
	if m.Coloc && r == 0 {
		if m.on(mLocalNotStored) {
			s.R[r].Seen[1] = 0
		}
		m.crashD(s, 0, false)
	}
}

// crashD: the destination's process dies and starts again. Its socket lives on in the kernel.
func (m *Model) crashD(s *State, d int, oldMark bool) {
	D := &s.D[d]
	for _, c := range D.Sock {
		if c != 0 {
			push(&D.OldSock, c)
		}
	}
	D.Sock = [3]uint8{}
	if oldMark {
		D.Res = D.PrevRes
		if D.Res < D.Done {
			D.Res = D.Done
		}
	}
	D.Conf, D.Fail, D.ParkP, D.ExpP = 0, 0, 0, 0
	D.Pub = D.Done
	D.FlagTo = D.Res
	D.Ans = Answer{}
	s.dropLinks(nodeD1 + d)
}

func (m *Model) cleanStop(s *State, d int) {
	D := &s.D[d]
	// Not simply done: an earlier process may have published up to FlagTo.
	res := D.Done
	if !m.on(mStopEarly | mStopAsWritten) {
		res = max(res, D.FlagTo, D.Pub)
	}
	D.Res = res
	m.crashD(s, d, false)
}

// loseDisk: the destination starts on an empty disk.
func (m *Model) loseDisk(s *State, d int) {
	m.crashD(s, d, false)
	D := &s.D[d]
	D.OldEmpty = 1 - D.HasJ
	D.newStore(D.Store + 1)
	s.LostDisk = 1
}

// remount: the destination starts on its former disk.
func (m *Model) remount(s *State, d int) {
	m.crashD(s, d, false)
	s.D[d].OldEmpty = 0
	s.D[d].newStore(s.D[d].Store - 1)
}

// newStore puts a disk without a journal in place of the present one.
func (D *Dest) newStore(store uint8) {
	if D.HasJ != 0 {
		D.Old = Receipt{D.Store + 1, D.Done, D.C}
	}
	D.Store = store
	D.HasJ, D.Join, D.Res, D.Done, D.C, D.PrevRes = 0, 0, 0, 0, Counters{}, 0
	D.Pub, D.FlagTo = 0, 0
}
