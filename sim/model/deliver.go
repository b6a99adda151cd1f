package main

// destinationSteps: the broker of a dead process, SYNC, publishes and their outcomes, marks, receipts.
func (m *Model) destinationSteps(s *State, d int, list *steps, faults bool) {
	D := &s.D[d]
	if D.OldSock[0] != 0 {
		if faults {
			list.add(aOldBroker, d, 0, 0)
		}
		list.add(aOldEnds, d, 0, 0)
	}
	if D.Ans.Valid != 0 {
		list.add(aAdopt, d, 0, 0)
	} else if m.asks(s, d) {
		list.add(aAsk, d, 0, 0)
	}
	locked := D.OldSock[0] != 0 && !m.on(mNoLock)
	if D.HasJ != 0 && !locked {
		*list = m.publishes(s, d, *list, faults)
	}
	m.brokerSteps(s, d, list, faults)
	m.markSteps(s, d, list)
	if r := m.receiptOf(s, d); m.accepts(s, d, r) {
		list.add(aReceipt, d, 0, 0)
	}
	if m.mustHold(s, d) {
		list.add(aHold, d, 0, 0)
	}
	if faults && D.Old.Store != 0 && m.accepts(s, d, D.Old) {
		list.add(aOldReceipt, d, 0, 0)
	}
}

// markSteps: what the destination makes durable.
func (m *Model) markSteps(s *State, d int, list *steps) {
	D := &s.D[d]
	if D.ParkP&^D.Parked != 0 {
		list.add(aPark, d, 0, 0)
	}
	if m.doneTo(s, d) > D.Done {
		list.add(aJournal, d, 0, 0)
	}
	if m.on(mReservedLate) && D.Pub > D.Res {
		list.add(aReserve, d, 0, 0)
	}
}

// feeds: the links from which a destination publishes.
func (m *Model) feeds(l, d int) bool {
	return links[l].to == nodeD1+d || d == 0 && m.on(mLocalNotStored) && links[l].to == nodeR1
}

func (m *Model) publishes(s *State, d int, out []Action, faults bool) []Action {
	D := &s.D[d]
	// Next to publish is last published + 1, within the window.
	seen := uint16(0)
	n := D.Pub + 1
	if n <= D.Done+m.Window {
		if D.Parked>>n&1 != 0 && !m.on(mRepublishParked) {
			return append(out, Action{aSkipParked, uint8(d), n, 0})
		}
	}
	for l := range links {
		if !m.feeds(l, d) {
			continue
		}
		for _, f := range s.Net[l] {
			if f == 0 || frDests(f)>>d&1 == 0 {
				continue
			}
			b := frBatch(f)
			if seen>>b&1 != 0 {
				continue
			}
			seen |= 1 << b
			t := s.Tab[b]
			if m.oldBranch(s, d, t) || m.otherBranch(s, d, t) {
				continue
			}
			for k := t.First; k <= t.last(); k++ {
				ok := k == n
				if m.on(mOutOfOrder) {
					ok = k > D.Done && D.Conf>>k&1 == 0 && D.AppOff>>k&1 == 0
				}
				if ok && k <= D.Done+m.Window && D.Sock[2] == 0 {
					out = append(out, Action{aPublish, uint8(d), k, uint8(b)})
					if faults && s.Bud[bExpire] > 0 {
						out = append(out, Action{aExpire, uint8(d), k, uint8(b)})
					}
				}
				if D.Fail>>k&1 != 0 && D.Sock[2] == 0 {
					out = append(out, Action{aRepublish, uint8(d), k, uint8(b)})
				}
			}
		}
	}
	return out
}

// publish hands an offset to the socket: flagged if it may be there already, below reserved otherwise.
func (m *Model) publish(s *State, d int, a Action) {
	D := &s.D[d]
	n, t := a.B, s.Tab[a.C]
	dup := t.Dup >> (n - t.First) & 1
	if n <= D.FlagTo || a.K == aRepublish && !m.on(mNackUnflagged) {
		dup = 1
	}
	D.EpOf = D.EpOf&^(3<<(2*n)) | uint32(t.Ep)<<(2*n)
	push(&D.Sock, pubCode(int(a.C), n-t.First, dup))
	if a.K == aRepublish {
		D.Fail &^= bit(n)
		return
	}
	if n > D.Pub {
		D.Pub = n
	}
	if n > D.Res && !m.on(mReservedLate) {
		D.PrevRes = D.Res
		D.Res = n + m.Stride - 1
	}
}
