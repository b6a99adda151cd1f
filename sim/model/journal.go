package main

// doneTo is how far the journal may go now.
func (m *Model) doneTo(s *State, d int) uint8 {
	D := &s.D[d]
	ok := D.Conf | D.ExpP | D.Parked
	if m.on(mDoneBeforePark) {
		ok |= D.ParkP
	}
	n := D.Done
	for n < D.Pub && ok>>(n+1)&1 != 0 {
		n++
	}
	return n
}

// count adds offsets up to n to the counters.
func (D *Dest) count(n uint8) Counters {
	c := D.C
	for k := D.Done + 1; k <= n; k++ {
		switch {
		case D.ExpP>>k&1 != 0:
			c.Expired++
		case (D.Parked|D.ParkP)>>k&1 != 0:
			c.Parked++
		default:
			c.Delivered++
		}
	}
	return c
}

// journal makes done durable, with the counters up to it.
func (m *Model) journal(s *State, d int) {
	D := &s.D[d]
	n := m.doneTo(s, d)
	D.C = D.count(n)
	for k := D.Done + 1; k <= n; k++ {
		if D.ExpP>>k&1 != 0 {
			D.ExpOff |= bit(k)
			D.ExpMsg |= 1 << s.msgOf(d, k)
		}
	}
	D.Done = n
	if D.Res < n && !m.on(mReservedLate) {
		D.Res = n
	}
	low := bit(n+1) - 1
	D.Conf &^= low
	D.ExpP &^= low
}

// park makes PARK durable: the message stands in the destination's parking.
func (m *Model) park(s *State, d int) {
	D := &s.D[d]
	for n := uint8(1); n < 16; n++ {
		if (D.ParkP&^D.Parked)>>n&1 != 0 {
			D.ParkMsg |= 1 << s.msgOf(d, n)
		}
	}
	D.Parked |= D.ParkP
	D.ParkP = 0
}

// expire passes an offset whose message has expired.
func (m *Model) expire(s *State, d int, n uint8) {
	D := &s.D[d]
	m.record(s, d, n)
	D.ExpP |= bit(n)
	if !m.on(mStrictExpiry) {
		D.NackOff |= bit(n) // found expired in the window: after a crash it may still come, flagged
	}
	D.Pub = n
	s.Bud[bExpire]--
}

// ackDone lets a destination ack the frames that are done.
func (m *Model) ackDone(s *State, d int) {
	D := &s.D[d]
	if D.HasJ == 0 {
		return
	}
	upTo := D.Done
	if m.on(mAckAtPublish) {
		upTo = D.Pub
	}
	for l := range links {
		if !m.feeds(l, d) {
			continue
		}
		for _, f := range s.Net[l] {
			if m.on(mLocalNotStored) && d == 0 && f != 0 && (frDests(f)&1 == 0 || m.takes(s, l, f)) {
				continue
			}
			if f != 0 && !m.dupOK(s, d, f) {
				continue
			}
			if f != 0 && s.Tab[frBatch(f)].last() <= upTo && s.Ack[l][perLink-1] == 0 {
				if m.on(mAckAtPublish) && s.Tab[frBatch(f)].last() > D.Done && D.Fail != 0 {
					continue
				}
				bagDel(&s.Net[l], f)
				m.bagPut(&s.Ack[l], f)
				if m.CoarseNet {
					m.takeAck(s, l, f)
				}
			}
		}
	}
}

// dupOK: after the origin's store was put back, a batch at or below done is a duplicate only
// when its seal epoch is the one that was published under these offsets. Otherwise CONFLICT.
func (m *Model) dupOK(s *State, d int, f uint8) bool {
	D, t := &s.D[d], s.Tab[frBatch(f)]
	if m.oldBranch(s, d, t) {
		s.Conflict = 1
		return false
	}
	if t.First > D.Done {
		return true
	}
	for n := t.First; n <= t.last() && n <= D.Done; n++ {
		if n <= D.EpFrom {
			continue
		}
		ep := uint8(D.EpOf >> (2 * n) & 3)
		if !m.on(mNoConflict) && (t.Ep > ep || t.Ep < ep && !m.on(mConflictLater)) {
			s.Conflict = 1
			return false
		}
		if msg := t.Msg[n-t.First]; s.Rewound != 0 && (D.AppMsg|D.ParkMsg|D.ExpMsg)>>msg&1 == 0 && s.Bad == 0 {
			s.Bad, s.BadOff, s.BadDest = badDupOK, n, uint8(d)
		}
	}
	return true
}

// record notes the seal epoch of an offset that is passed without a publish.
func (m *Model) record(s *State, d int, n uint8) {
	if b := s.findOff(d, n, s.Ever); b >= 0 {
		D := &s.D[d]
		D.EpOf = D.EpOf&^(3<<(2*n)) | uint32(s.Tab[b].Ep)<<(2*n)
	}
}

// oldBranch: seal epochs never go down along a lane; a batch that does is of the branch that
// the origin left when its store was put back.
func (m *Model) oldBranch(s *State, d int, t Batch) bool {
	D := &s.D[d]
	return !m.on(mOldBranch|mNoConflict) && t.last() > D.Pub && D.Pub > D.EpFrom && t.Ep < uint8(D.EpOf>>(2*D.Pub)&3)
}
