package main

// In a socket: 64 | batch<<2 | entry<<1 | flag.
func pubCode(b int, e uint8, dup uint8) uint8 { return 64 | uint8(b)<<2 | e<<1 | dup }

func push(q *[3]uint8, c uint8) bool {
	for i := range q {
		if q[i] == 0 {
			q[i] = c
			return true
		}
	}
	return false
}

func pop(q *[3]uint8) uint8 {
	c := q[0]
	q[0], q[1], q[2] = q[1], q[2], 0
	return c
}

// brokerSteps: the broker takes the oldest publish, or refuses it.
func (m *Model) brokerSteps(s *State, d int, list *steps, faults bool) {
	if s.D[d].Sock[0] == 0 || s.Dead>>d&1 != 0 {
		return
	}
	list.add(aBroker, d, oOK, 0)
	if !faults {
		return
	}
	if s.Bud[bNack] > 0 {
		list.add(aBroker, d, oNack, 0)
	}
	if s.Bud[bPoison] > 0 {
		list.add(aBroker, d, oPoison, 0)
	}
	if s.Bud[bConfLost] > 0 {
		list.add(aBroker, d, oConfLost, 0)
	}
}

func (m *Model) broker(s *State, d int, outcome uint8) {
	D := &s.D[d]
	c := pop(&D.Sock)
	t := s.Tab[c>>2&15]
	n := t.First + c>>1&1
	switch outcome {
	case oOK:
		D.Conf |= bit(n)
		m.appear(s, d, c)
	case oNack:
		D.NackOff |= bit(n)
		D.Fail |= bit(n)
		s.Bud[bNack]--
	case oPoison:
		D.NackOff |= bit(n)
		D.ParkP |= bit(n)
		s.Bud[bPoison]--
	case oConfLost:
		m.appear(s, d, c)
		D.Fail |= bit(n)
		s.Bud[bConfLost]--
	}
}

// appear is the broker's history: a message reaches the destination queue. G2 and G3.
func (m *Model) appear(s *State, d int, c uint8) {
	D := &s.D[d]
	t := s.Tab[c>>2&15]
	n := t.First + c>>1&1
	msg := t.Msg[c>>1&1]
	flagged := c&1 != 0
	bad := func(code uint8) {
		if s.Bad == 0 {
			s.Bad, s.BadOff, s.BadDest = code, n, uint8(d)
		}
	}
	if !flagged && D.AppMsg>>msg&1 != 0 {
		bad(badG3)
	}
	if D.AppOff>>n&1 == 0 {
		if !flagged {
			gone := D.AppOff | D.NackOff | D.Parked | D.ParkP | D.ExpOff | D.ExpP
			for k := uint8(1); k < n; k++ {
				if gone>>k&1 == 0 && s.isFor(d, k) {
					bad(badG2Gap)
				}
			}
		}
		if D.AppOff>>n != 0 && !(flagged && D.NackOff>>n&1 != 0) {
			bad(badG2Order)
		}
	}
	if D.Parked>>n&1 != 0 {
		bad(badParked)
	}
	D.AppOff |= bit(n)
	D.AppMsg |= 1 << msg
}
