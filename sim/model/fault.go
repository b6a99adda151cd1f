package main

// faultSteps lists the faults and chances that the budgets still allow.
func (m *Model) faultSteps(s *State, list *steps) {
	m.originFaults(s, list)
	for r := range s.R {
		if s.R[r] == (Relay{}) && !s.busy(nodeR1+r) {
			continue
		}
		if s.Bud[bCrashR] > 0 {
			list.add(aCrashR, r, 0, 0)
		}
		if s.Bud[bLossR] > 0 {
			list.add(aLossR, r, 0, 0)
		}
	}
	for d := 0; d < m.Dests; d++ {
		m.destinationFaults(s, d, list)
		m.routeChanges(s, d, list)
	}
	if s.Bud[bLink] > 0 {
		for i := range links {
			if s.Net[i] != [perLink]uint8{} || s.Ack[i] != [perLink]uint8{} {
				list.add(aLink, i, 0, 0)
			}
		}
	}
}

func (m *Model) originFaults(s *State, list *steps) {
	reorder := 0
	if s.Bud[bReorder] > 0 {
		reorder = 1
	}
	ghosts := 0
	if s.Ghost != 0 {
		ghosts = 1
	}
	if s.Bud[bCrashO] > 0 {
		for i := 0; i <= reorder; i++ {
			for j := 0; j <= ghosts; j++ {
				list.add(aCrashO, i, j, 0)
			}
		}
	}
	if s.Bud[bChannel] > 0 && s.Ackable != 0 {
		for i := 0; i <= reorder; i++ {
			list.add(aChannel, i, 0, 0)
		}
	}
	if s.Bud[bCommit] > 0 && s.Pend != 0 && m.on(mNewBytes) {
		for i := 0; i <= reorder; i++ {
			list.add(aCommitFail, i, 0, 0)
		}
	}
	if s.Bud[bSnap] > 0 {
		if s.Snap.Valid == 0 {
			list.add(aSnap, 0, 0, 0)
		} else {
			list.add(aRestore, 0, 0, 0)
		}
	}
}

func (m *Model) destinationFaults(s *State, d int, list *steps) {
	D := &s.D[d]
	if s.Bud[bCrashD] > 0 && (D.HasJ != 0 || D.Ans.Valid != 0) {
		list.add(aCrashD, d, 0, 0)
		if m.on(mMergeByPosition) && D.PrevRes < D.Res {
			list.add(aCrashD, d, 1, 0)
		}
	}
	if s.Bud[bLossD] > 0 && (D.HasJ != 0 || D.Ans.Valid != 0) {
		list.add(aLossD, d, 0, 0)
	}
	if s.Bud[bSnapD] > 0 && D.HasJ != 0 && D.Copy.Valid == 0 && (m.LiveCopy || D.Pub == D.Done) {
		list.add(aCopyD, d, 0, 0)
	} else if s.Bud[bSnapD] > 0 && D.Copy.Valid != 0 {
		list.add(aRestoreD, d, 0, 0)
	}
	if s.Bud[bRemount] > 0 && D.OldEmpty != 0 {
		list.add(aRemount, d, 0, 0)
	}
	if s.Bud[bStop] > 0 && D.HasJ != 0 && (m.on(mStopEarly) || D.Pub == D.Done) {
		list.add(aStop, d, 0, 0)
	}
}

// routeChanges: another path, a join or a leave, a repair that nothing called for.
func (m *Model) routeChanges(s *State, d int, list *steps) {
	if s.Bud[bPath] > 0 {
		for _, p := range m.Paths {
			if p != s.Path[d] {
				list.add(aPath, d, int(p), 0)
			}
		}
	}
	if s.Bud[bEdit] > 0 && (d == 1 || !m.EditD2) {
		if s.Member>>d&1 != 0 && s.Member != 1<<d {
			list.add(aEdit, d, 0, 0)
		} else if s.Member>>d&1 == 0 && m.mayJoin(s, d) {
			list.add(aEdit, d, 1, 0)
		}
	}
	if s.Bud[bRepair] > 0 && s.D[d].HasJ != 0 && s.Try[d] < 3 && s.Hand[d] != 0 {
		list.add(aSpurious, d, 0, 0)
	}
}

// fault does one and takes it from its budget.
func (m *Model) fault(s *State, a Action) {
	d := int(a.A)
	switch a.K {
	case aExpire:
		m.expire(s, d, a.B)
	case aSpurious:
		m.repair(s, d)
		s.Bud[bRepair]--
	case aCrashO:
		m.crashO(s, a.A == 1, a.B == 1)
		s.Bud[bCrashO]--
	case aChannel:
		m.requeue(s, a.A == 1)
		s.Bud[bChannel]--
	case aCommitFail:
		m.commitFails(s, a.A == 1)
		s.Bud[bCommit]--
	case aCrashR:
		m.crashR(s, int(a.A))
		s.Bud[bCrashR]--
	case aLossR:
		s.R[a.A] = Relay{}
		s.dropLinks(nodeR1 + int(a.A))
		s.Bud[bLossR]--
		s.LostDisk = 1
	case aCrashD:
		m.crashD(s, d, a.B == 1)
		s.Bud[bCrashD]--
	case aLossD:
		m.loseDisk(s, d)
		s.Bud[bLossD]--
	case aRemount:
		m.remount(s, d)
		s.Bud[bRemount]--
	case aSnap:
		s.Snap = Snap{1, s.High, s.Dur, s.Ever, s.DRcpt}
	case aRestore:
		m.restore(s)
		s.Bud[bSnap]--
	case aCopyD:
		if !m.LiveCopy {
			m.cleanStop(s, d)
		}
		s.D[d].Copy = s.D[d].copied()
	case aRestoreD:
		m.restoreD(s, d)
		s.Bud[bSnapD]--
	case aLink:
		m.breakLink(s, int(a.A))
		s.Bud[bLink]--
	case aPath:
		s.Path[d] = a.B
		s.Bud[bPath]--
	case aEdit:
		m.edit(s, d, a.B == 1)
		s.Bud[bEdit]--
	case aStop:
		m.cleanStop(s, d)
		s.Bud[bStop]--
	}
}

func (m *Model) breakLink(s *State, l int) {
	s.Net[l] = [perLink]uint8{}
	s.Ack[l] = [perLink]uint8{}
	if m.on(mLocalNotStored) && links[l].to == nodeR1 {
		s.R[0].Seen[1] = 0
	}
}
