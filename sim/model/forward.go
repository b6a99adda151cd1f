package main

// sendable is what may leave the origin.
func (m *Model) sendable(s *State) uint16 {
	if m.on(mSendEarly) {
		return s.Dur | s.Pend
	}
	return s.Dur
}

// forwardSteps: the origin sends the lowest batch that a destination has not been handed. One copy for the destinations at
// the same position; single ones too.
func (m *Model) forwardSteps(s *State, list *steps) {
	var lowest [nDest]int
	for d := 0; d < m.Dests; d++ {
		lowest[d] = m.lowest(s, d)
	}
	if m.Dests == 2 && lowest[0] >= 0 && lowest[0] == lowest[1] && s.Try[0] == s.Try[1] &&
		nextHop(s.Path[0], nodeO, 0) == nextHop(s.Path[1], nodeO, 1) {
		l := int(linkTab[nodeO][nextHop(s.Path[0], nodeO, 0)])
		if m.canPut(s, l, frame(lowest[0], s.Try[0], 3)) {
			list.add(aSend, l, int(frame(lowest[0], s.Try[0], 3)), 0)
		}
	}
	for d := 0; d < m.Dests; d++ {
		if lowest[d] >= 0 {
			l := int(linkTab[nodeO][nextHop(s.Path[d], nodeO, d)])
			f := frame(lowest[d], s.Try[d], 1<<d)
			if m.canPut(s, l, f) {
				list.add(aSend, l, int(f), 0)
			}
		}
	}
}

// lowest is the first batch that is due for a destination, or -1.
func (m *Model) lowest(s *State, d int) int {
	l := int(linkTab[nodeO][nextHop(s.Path[d], nodeO, d)])
	if s.Held>>d&1 != 0 {
		return -1
	}
	for b := 0; b < int(s.NTab); b++ {
		if m.sendable(s)>>b&1 != 0 && s.Tab[b].Dests>>d&1 != 0 && s.Hand[d]>>b&1 == 0 &&
			s.Rcpt[d].Done < s.Tab[b].last() && !s.inFlight(l, b, d, s.Try[d]) {
			return b
		}
	}
	return -1
}

// receiptOf is the receipt that the destination would send now.
func (m *Model) receiptOf(s *State, d int) Receipt {
	D := &s.D[d]
	if D.HasJ == 0 {
		return Receipt{}
	}
	if m.on(mReceiptVolatile) {
		n := m.doneTo(s, d)
		return Receipt{D.Store + 1, n, D.count(n)}
	}
	return Receipt{D.Store + 1, D.Done, D.C}
}

// accepts: receipts only grow, and those of a store older than the newest known do not count.
func (m *Model) accepts(s *State, d int, r Receipt) bool {
	if r.Store == 0 || s.Join[d] == 0 {
		return false
	}
	if !m.on(mOldReceipt|vJump) && r.Store < s.CurStore[d] {
		return false
	}
	return s.Held>>d&1 == 0 && !s.fencedLink(lastLink(s.Path[d], d)) && r.Done > s.Rcpt[d].Done && m.ownBranch(s, d, r.Done)
}

func (m *Model) receipt(s *State, d int, r Receipt) {
	s.seen(lastLink(s.Path[d], d))
	s.Rcpt[d] = r
	s.CurStore[d] = max(s.CurStore[d], r.Store)
	if !m.Split {
		s.DRcpt = s.Rcpt
	}
}

// forget drops what every destination has receipted.
func (m *Model) forget(s *State) {
	for b := 0; b < int(s.NTab); b++ {
		if s.Dur>>b&1 == 0 {
			continue
		}
		all := true
		for d := 0; d < m.Dests; d++ {
			if s.Tab[b].Dests>>d&1 == 0 {
				continue
			}
			r := s.DRcpt[d].Done
			if m.on(mForgetVolatile) {
				r = s.Rcpt[d].Done
			}
			if r < s.Tab[b].last() && !(m.on(mForgetOnCustody) && s.Hand[d]>>b&1 != 0) {
				all = false
			}
		}
		if all {
			s.Dur &^= 1 << b
		}
	}
}

// repair rewinds to what the destination says that it has done, with the next try.
func (m *Model) repair(s *State, d int) {
	from := s.D[d].Done
	if s.D[d].HasJ == 0 {
		from = s.DRcpt[d].Done
	}
	for b := 0; b < int(s.NTab); b++ {
		if s.Tab[b].last() > from {
			s.Hand[d] &^= 1 << b
		}
	}
	if s.Try[d] < 3 {
		s.Try[d]++
	}
}
