package main

// A frame names a batch, a destination subset and a try.
func frame(b int, try, dests uint8) uint8 { return uint8(b)<<4 | try<<2 | dests }
func frBatch(f uint8) int                 { return int(f >> 4) }
func frTry(f uint8) uint8                 { return f >> 2 & 3 }
func frDests(f uint8) uint8               { return f & 3 }

func bagAdd(bag *[perLink]uint8, f uint8) bool {
	for _, x := range bag {
		if x == f {
			return true
		}
	}
	for i, x := range bag {
		if x == 0 {
			bag[i] = f
			for ; i > 0 && bag[i-1] < bag[i]; i-- {
				bag[i-1], bag[i] = bag[i], bag[i-1]
			}
			return true
		}
	}
	return false
}

func bagDel(bag *[perLink]uint8, f uint8) {
	j := 0
	for _, x := range bag {
		if x != f {
			bag[j] = x
			j++
		}
	}
	for ; j < perLink; j++ {
		bag[j] = 0
	}
}

func (s *State) inFlight(l int, b int, d int, try uint8) bool {
	for _, f := range s.Net[l] {
		if f != 0 && frBatch(f) == b && frDests(f)>>d&1 != 0 && frTry(f) == try {
			return true
		}
	}
	for _, f := range s.Ack[l] {
		if f != 0 && frBatch(f) == b && frDests(f)>>d&1 != 0 && frTry(f) == try {
			return true
		}
	}
	return false
}

// canPut says whether a link takes one more frame. Credit is a position window in which
// the lowest batch is always admissible: a higher one is shed for it.
func (m *Model) canPut(s *State, l int, f uint8) bool {
	if s.fencedLink(l) {
		return false
	}
	n := 0
	var top uint8
	for _, x := range s.Net[l] {
		if x == f {
			return false
		}
		if x != 0 {
			n++
			if x > top {
				top = x
			}
		}
	}
	if n < m.PerLink {
		return true
	}
	return !m.on(mCredit) && frBatch(f) < frBatch(top)
}

func (m *Model) put(s *State, l int, f uint8) {
	s.seen(l)
	n := 0
	var top uint8
	for _, x := range s.Net[l] {
		if x != 0 {
			n++
			if x > top {
				top = x
			}
		}
	}
	if n >= m.PerLink {
		bagDel(&s.Net[l], top)
	}
	m.bagPut(&s.Net[l], f)
}

// bagPut: without Fifo a link is a bag (several connections, streams that overtake each
// other), kept sorted so that equal bags are equal states.
func (m *Model) bagPut(bag *[perLink]uint8, f uint8) {
	if !m.Fifo {
		bagAdd(bag, f)
		return
	}
	for i, x := range bag {
		if x == f {
			return
		}
		if x == 0 {
			bag[i] = f
			return
		}
	}
}

func (s *State) dropLinks(node int) {
	for i, l := range links {
		if l.from == node || l.to == node {
			s.Net[i] = [perLink]uint8{}
			s.Ack[i] = [perLink]uint8{}
		}
	}
}

func (s *State) busy(node int) bool {
	for i, l := range links {
		if (l.from == node || l.to == node) && (s.Net[i] != [perLink]uint8{} || s.Ack[i] != [perLink]uint8{}) {
			return true
		}
	}
	return false
}

// linkSteps: an ack comes back, a relay takes a frame. What a destination does with a frame is destinationSteps.
func (m *Model) linkSteps(s *State, list *steps) {
	for i, l := range links {
		for _, f := range s.Ack[i] {
			if f != 0 {
				list.add(aTakeAck, i, int(f), 0)
				if m.Fifo {
					break
				}
			}
		}
		if l.to <= nodeR2 && s.Ack[i][perLink-1] == 0 {
			for _, f := range s.Net[i] {
				if f != 0 && m.takes(s, i, f) {
					list.add(aTakeFrame, i, int(f), 0)
					if m.Fifo {
						break
					}
				}
			}
		}
	}
}

func (m *Model) takeAck(s *State, l int, f uint8) {
	b := frBatch(f)
	bagDel(&s.Ack[l], f)
	dests := frDests(f)
	if m.on(mAckSpan) {
		dests = 3
	}
	for d := 0; d < m.Dests; d++ {
		if dests>>d&1 == 0 {
			continue
		}
		if from := links[l].from; from == nodeO {
			if frTry(f) == s.Try[d] || m.on(mAckSpan) {
				s.Hand[d] |= 1 << b
			}
		} else {
			R := &s.R[from-nodeR1]
			if (R.Held[d]|R.VHeld[d])>>b&1 != 0 && (frTry(f) == R.Try[d][b] || m.on(mAckSpan)) {
				R.Handed[d] |= 1 << b
				if c := s.Tab[b].last(); c > R.Cur[d] {
					R.Cur[d] = c
				}
			}
		}
	}
}
