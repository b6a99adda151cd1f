package main

// relaySteps: a relay sends on the lowest copy that it holds and has not handed on; its group becomes durable.
func (m *Model) relaySteps(s *State, r int, list *steps) {
	for d := 0; d < m.Dests; d++ {
		l := int(linkTab[nodeR1+r][nextHop(s.Path[d], nodeR1+r, d)])
		for b := 0; b < int(s.NTab); b++ {
			if (s.R[r].Held[d]|s.R[r].VHeld[d])&^s.R[r].Handed[d]>>b&1 == 0 {
				continue
			}
			if m.on(mScalarCursor) && s.Tab[b].last() <= s.R[r].Cur[d] {
				continue
			}
			if s.inFlight(l, b, d, s.R[r].Try[d][b]) {
				continue
			}
			f := frame(b, s.R[r].Try[d][b], 1<<d)
			if m.canPut(s, l, f) {
				list.add(aSend, l, int(f), 0)
			}
			break
		}
	}
	if s.R[r].VHeld != [nDest]uint16{} {
		list.add(aRelayCommit, r, 0, 0)
	}
}

func (m *Model) takeFrame(s *State, l int, f uint8) {
	R := &s.R[links[l].to-nodeR1]
	b := frBatch(f)
	had := (R.Held[0]|R.Held[1])>>b&1 != 0
	local := m.local(l, f)
	if local {
		R.Seen[1] |= 1 << b
	} else {
		bagDel(&s.Net[l], f)
		m.bagPut(&s.Ack[l], f)
	}
	for d := 0; d < m.Dests; d++ {
		if frDests(f)>>d&1 == 0 || local && d == 0 {
			continue
		}
		if m.on(mWatermark) {
			if s.Tab[b].last() <= R.Water[d] {
				continue
			}
			R.Water[d] = s.Tab[b].last()
		}
		if m.on(mHoldPerBatch) && had {
			continue
		}
		if m.on(mNoRearm) {
			if R.Seen[d]>>b&1 != 0 {
				continue
			}
			R.Seen[d] |= 1 << b
		}
		if m.on(vTry) {
			if R.Held[d]>>b&1 != 0 && frTry(f) <= R.Try[d][b] {
				continue
			}
			R.Try[d][b] = frTry(f)
		}
		// No watermark: what arrives is held; what was handed is armed again.
		R.Handed[d] &^= 1 << b
		if m.on(mCopyVolatile) && R.Held[d]>>b&1 == 0 {
			R.VHeld[d] |= 1 << b
		} else {
			R.Held[d] |= 1 << b
		}
	}
}

// commit makes the copies durable.
func (r *Relay) commit() {
	for d := range r.Held {
		r.Held[d] |= r.VHeld[d]
		r.VHeld[d] = 0
	}
}

// forgetHanded makes it durable that copies were handed on.
func (r *Relay) forgetHanded() {
	for d := range r.Held {
		r.Held[d] &^= r.Handed[d]
		r.Handed[d] = 0
		for b := range r.Try[d] {
			if r.Held[d]>>b&1 == 0 {
				r.Try[d][b] = 0
			}
		}
	}
}

// local: a frame whose part for D1 stays in the window of its own site (changed rule).
func (m *Model) local(l int, f uint8) bool {
	return m.on(mLocalNotStored) && links[l].to == nodeR1 && frDests(f)&1 != 0
}

func (m *Model) takes(s *State, l int, f uint8) bool {
	return !m.local(l, f) || frDests(f)&2 != 0 && s.R[0].Seen[1]>>frBatch(f)&1 == 0
}
