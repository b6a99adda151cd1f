package main

// settle does at once what nobody else can observe being late: forgetting, and the
// destination's acks of frames that are done.
func (m *Model) settle(s *State) {
	if m.CoarseO {
		m.ingestAtOnce(s)
	}
	if m.CoarseD {
		for d := 0; d < m.Dests; d++ {
			m.deliverAtOnce(s, d)
		}
	}
	if m.CoarseNet {
		m.relayAtOnce(s)
	}
	m.forget(s)
	for d := 0; d < m.Dests; d++ {
		m.ackDone(s, d)
	}
}

func (m *Model) ingestAtOnce(s *State) {
	for m.Bud[bEdit] == 0 && s.Ready[0] != 0 && s.Next <= m.MaxOff {
		k := uint8(1)
		if m.Batch > 1 && s.Ready[1] != 0 && s.Next < m.MaxOff {
			k = 2
		}
		m.step(s, Action{aSeal, k, 0, 0})
	}
	m.ackSource(s)
}

func (m *Model) deliverAtOnce(s *State, d int) {
	var buf [8]Action
	if m.Bud[bEdit] == 0 && s.D[d].HasJ == 0 && m.asks(s, d) {
		m.answer(s, d)
		m.adopt(s, d)
	}
	for s.D[d].HasJ != 0 && s.Dead>>d&1 == 0 {
		acts := m.publishes(s, d, buf[:0], false)
		if len(acts) == 0 {
			break
		}
		m.step(s, acts[0])
		m.step(s, Action{aBroker, uint8(d), oOK, 0})
		m.step(s, Action{aJournal, uint8(d), 0, 0})
	}
}

func (m *Model) relayAtOnce(s *State) {
	for l := range links {
		for i := 0; i < perLink && links[l].to <= nodeR2 && s.Ack[l][perLink-1] == 0; {
			if f := s.Net[l][i]; f != 0 && m.takes(s, l, f) {
				m.takeFrame(s, l, f)
				i = 0
			} else {
				i++
			}
		}
	}
}
