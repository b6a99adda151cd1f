package main

// Model is a configuration with its rules.
type Model struct {
	Name               string
	About              string
	Msgs, Dests, Batch int
	MaxOff             uint8
	Split              bool // the origin's group is volatile until a Commit step
	Window, Stride     uint8
	PerLink            int
	Member             uint8
	Path               [nDest]uint8
	Paths              []uint8
	Bud                [nBud]uint8
	V                  Variant
	Fifo               bool // frames and acks of a link do not overtake each other
	CoarseO, CoarseD   bool // origin's AMQP ack, destination's publishing: at once (sound where they never fail)
	Coloc              bool // D1 is the site of R1: one process, one crash
	EditD2             bool // only D2 joins and leaves
	CoarseNet          bool // a relay takes a frame at once, a destination's ack is there at once
	Isolation          bool // check too that a dead broker at D1 does not stop D2
	LiveCopy           bool // a copy of a store is taken while it is open
	Safety             bool // no liveness: an operator's word is needed
	SpareRepair        bool // check too that no repair is needed without disk loss
}

func (m *Model) on(v Variant) bool { return m.V&v != 0 }

func bit(n uint8) uint16 { return 1 << n }

func (m *Model) initial() State {
	var s State
	for i := 0; i < m.Msgs; i++ {
		s.Ready[i] = uint8(i + 1)
	}
	s.Next = 1
	s.Member = m.Member
	s.Path = m.Path
	for d := 0; d < m.Dests; d++ {
		if m.Member>>d&1 != 0 {
			s.Join[d] = 1
		}
	}
	s.Bud = m.Bud
	m.settle(&s)
	return s
}

// enabled lists the steps that are possible, faults last.
func (m *Model) enabled(s *State, out []Action, faults bool) []Action {
	list := steps(out)
	m.sealSteps(s, &list, faults)
	m.commitSteps(s, &list)
	m.forwardSteps(s, &list)
	for r := range s.R {
		m.relaySteps(s, r, &list)
	}
	m.linkSteps(s, &list)
	for r := range s.R {
		if s.R[r].Handed != [nDest]uint16{} {
			list.add(aRelaySync, r, 0, 0)
		}
	}
	for d := 0; d < m.Dests; d++ {
		m.destinationSteps(s, d, &list, faults)
	}
	if faults {
		m.faultSteps(s, &list)
	}
	return list
}

// apply makes one step, and what follows from it at once.
func (m *Model) apply(s State, a Action) State {
	m.step(&s, a)
	m.settle(&s)
	return s
}

func (m *Model) step(s *State, a Action) {
	d := int(a.A) // the destination, where it is one's step
	switch a.K {
	case aSeal:
		m.seal(s, a.A)
	case aCommit:
		m.commit(s)
	case aAmqpAck:
		m.ackSource(s)
	case aSend:
		m.put(s, int(a.A), a.B)
	case aTakeFrame:
		m.takeFrame(s, int(a.A), a.B)
	case aTakeAck:
		m.takeAck(s, int(a.A), a.B)
	case aRelaySync:
		s.R[a.A].forgetHanded()
	case aRelayCommit:
		s.R[a.A].commit()
	case aAsk:
		m.answer(s, d)
	case aAdopt:
		m.adopt(s, d)
	case aPublish, aRepublish:
		m.publish(s, d, a)
	case aReserve:
		s.D[d].Res = s.D[d].Pub
	case aSkipParked:
		m.record(s, d, a.B)
		s.D[d].Pub = a.B
	case aBroker:
		m.broker(s, d, a.B)
	case aOldBroker:
		m.appear(s, d, pop(&s.D[d].OldSock))
	case aOldEnds:
		s.D[d].OldSock = [3]uint8{}
	case aPark:
		m.park(s, d)
	case aJournal:
		m.journal(s, d)
	case aReceipt:
		m.receipt(s, d, m.receiptOf(s, d))
	case aHold:
		s.Held |= 1 << d
	case aReseal:
		m.resealDestination(s, d)
	case aOldReceipt:
		m.receipt(s, d, s.D[d].Old)
	case aRepair:
		m.repair(s, d)
	default:
		m.fault(s, a)
	}
}
