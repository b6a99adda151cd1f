package main

// sealSteps: how many messages of the source queue become a batch.
func (m *Model) sealSteps(s *State, list *steps, faults bool) {
	ready := 0
	for _, x := range s.Ready {
		if x != 0 {
			ready++
		}
	}
	maxOff, slots := m.MaxOff, maxBatch-m.Msgs
	if !faults {
		slots = maxBatch
		maxOff = 15 // the healing schedule may go past the exploration bound
	}
	for k := m.Batch; k >= 1; k-- {
		if k <= ready && int(s.NTab) < slots && s.Next+uint8(k)-1 <= maxOff {
			list.add(aSeal, k, 0, 0)
			if !faults {
				break
			}
		}
	}
}

// commitSteps: the group becomes durable; what is durable is acked to the source queue.
func (m *Model) commitSteps(s *State, list *steps) {
	if s.Pend != 0 || s.LanePend != 0 || s.Rcpt != s.DRcpt {
		list.add(aCommit, 0, 0, 0)
	}
	if m.ackable(s) != 0 {
		list.add(aAmqpAck, 0, 0, 0)
	}
}

// seal makes a batch of the first n messages. Its bytes never change again.
func (m *Model) seal(s *State, n uint8) {
	t := Batch{First: s.Next, N: n, Dests: s.Member, Ep: s.Ep, Prev: s.sealBefore(s.Next)}
	for i := uint8(0); i < n; i++ {
		x := s.Ready[0]
		copy(s.Ready[:], s.Ready[1:])
		s.Ready[maxMsg-1] = 0
		t.Msg[i] = x
		if s.Redel>>x&1 != 0 && !m.on(mNoSealFlag) {
			t.Dup |= 1 << i
		}
		s.QSt[x] = qUnacked
	}
	b := s.NTab
	s.Tab[b] = t
	s.NTab++
	s.Next += n
	s.Pend |= 1 << b
	s.Ackable |= 1 << b
	if !m.Split {
		m.commit(s)
	}
}

func (m *Model) commit(s *State) {
	s.Dur |= s.Pend
	s.Ever |= s.Pend
	s.Pend = 0
	s.LanePend = 0
	s.DRcpt = s.Rcpt
	if s.Next-1 > s.High {
		s.High = s.Next - 1
	}
}

// ackable: batches whose AMQP tags may be acked now: the longest durable prefix.
func (m *Model) ackable(s *State) uint16 {
	var out uint16
	for b := 0; b < int(s.NTab); b++ {
		if s.Ackable>>b&1 == 0 {
			continue
		}
		if s.Pend>>b&1 != 0 && !m.on(mAckEarly) {
			break
		}
		out |= 1 << b
	}
	return out
}

// ackSource acks to the source queue everything that may be.
func (m *Model) ackSource(s *State) {
	mask := m.ackable(s)
	for b := 0; b < int(s.NTab); b++ {
		if mask>>b&1 != 0 {
			for i := uint8(0); i < s.Tab[b].N; i++ {
				s.QSt[s.Tab[b].Msg[i]] = qAcked
			}
		}
	}
	s.Ackable &^= mask
}

func (s *State) findOff(d int, n uint8, mask uint16) int {
	for b := 0; b < int(s.NTab); b++ {
		if mask>>b&1 != 0 && s.Tab[b].First <= n && n <= s.Tab[b].last() && s.Tab[b].Dests>>d&1 != 0 {
			return b
		}
	}
	return -1
}

// isFor says whether offset n was ever sealed for destination d.
func (s *State) isFor(d int, n uint8) bool { return s.findOff(d, n, s.Ever) >= 0 }

func (s *State) msgOf(d int, n uint8) uint8 {
	if b := s.findOff(d, n, s.Ever); b >= 0 {
		return s.Tab[b].Msg[n-s.Tab[b].First]
	}
	return 0
}
