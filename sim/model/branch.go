package main

// A store that is put back to an older copy makes two branches of a lane: offsets after the copy stand for other messages in the
// lost one. What was sealed in one epoch is of one branch.

// ownBranch: the origin believes a word about done only if its own batch of each offset that it would receipt was sealed in the epoch
// that the destination knows of it. What the destination passed without taking it has no epoch.
func (m *Model) ownBranch(s *State, d int, done uint8) bool {
	if s.Rewound == 0 || m.on(mWordAny) && done < s.Next {
		return true
	}
	if done > s.High {
		return false
	}
	first := s.Rcpt[d].Done + 1
	if m.on(mWordLast) {
		first = done
	}
	for n := first; n <= done; n++ {
		own := s.findOff(d, n, s.Dur)
		if n > s.D[d].EpFrom && own >= 0 && s.Tab[own].Ep != s.D[d].sealOf(n) {
			return false
		}
	}
	return true
}

func (D *Dest) sealOf(n uint8) uint8 { return uint8(D.EpOf >> (2 * n) & 3) }

// mustHold: the word is of another branch, or below what the same store has receipted. The lane is held until a reseal.
func (m *Model) mustHold(s *State, d int) bool {
	D := &s.D[d]
	if s.fencedLink(lastLink(s.Path[d], d)) {
		return false
	}
	if D.HasJ == 0 || s.Held>>d&1 != 0 || D.Store+1 < s.CurStore[d] {
		return false
	}
	if D.Done < s.Rcpt[d].Done {
		return s.Rcpt[d].Store == D.Store+1 && !m.on(mNoBehind)
	}
	return D.Done > s.Rcpt[d].Done && !m.on(mWordAny) && !m.ownBranch(s, d, D.Done)
}

// sealBefore is the seal epoch of the origin's offset below n.
func (s *State) sealBefore(n uint8) uint8 {
	ep := uint8(0)
	for b := 0; b < int(s.NTab); b++ {
		if (s.Ever|s.Pend)>>b&1 != 0 && s.Tab[b].last() == n-1 {
			ep = s.Tab[b].Ep
		}
	}
	return ep
}

// otherBranch: a batch above done follows what was last published only if that was sealed in the epoch that the batch names.
func (m *Model) otherBranch(s *State, d int, t Batch) bool {
	D := &s.D[d]
	return !m.on(mNoChain|mNoConflict) && t.First == D.Pub+1 && D.Pub > D.EpFrom && t.Prev != D.sealOf(D.Pub)
}

// lacking are the messages that were acked to the source queue and that the origin's store lacks.
func (s *State) lacking() (mask uint8) {
	for x := uint8(1); x <= maxMsg; x++ {
		if s.QSt[x] != qAcked {
			continue
		}
		mask |= 1 << x
		for b := 0; b < int(s.NTab); b++ {
			if t := s.Tab[b]; s.Ever>>b&1 != 0 && (t.Msg[0] == x || t.Msg[1] == x) {
				mask &^= 1 << x
			}
		}
	}
	return mask
}

func (D *Dest) copied() Copy {
	return Copy{1, D.HasJ, D.Join, D.Res, D.Done, D.C, D.EpOf, D.EpFrom, D.Parked, 0}
}

// restoreD puts a destination's store back to the copy; its id stays.
func (m *Model) restoreD(s *State, d int) {
	D := &s.D[d]
	c := D.Copy
	D.Join, D.Res, D.Done, D.C, D.EpOf, D.EpFrom, D.Parked = c.Join, c.Res, c.Done, c.C, c.EpOf, c.EpFrom, c.Parked
	if !m.on(mNoFenceD) {
		D.Fenced |= c.Seen
	}
	D.Copy = Copy{}
	s.LostDisk = 1
	m.crashD(s, d, false)
}

// resealDestination is the admin's word at a destination: a new store id, no journal. The origin lets its lane go.
func (m *Model) resealDestination(s *State, d int) {
	m.crashD(s, d, false)
	s.D[d].newStore(s.D[d].Store + 1)
	s.Held &^= 1 << d
	s.D[d].Fenced = 0
	s.LostDisk = 1
}

// lastLink is the link on which a path reaches its destination.
func lastLink(path uint8, d int) int {
	from := [...]int{nodeR1, nodeR2, nodeO, nodeR2}[path]
	return int(linkTab[from][nodeD1+d])
}

// seen: who sends on a link to a destination saw the present opening of its store. A copy is taken between two openings.
func (s *State) seen(l int) {
	if to := links[l].to; to >= nodeD1 && s.D[to-nodeD1].Copy.Valid != 0 {
		s.D[to-nodeD1].Copy.Seen |= 1 << l
	}
}

// fencedLink: the store's history of openings lacks the last one that the sender saw.
func (s *State) fencedLink(l int) bool {
	to := links[l].to
	return to >= nodeD1 && s.D[to-nodeD1].Fenced>>l&1 != 0
}

// heldForAdmin: a destination that went back waits for its reseal.
func (s *State) heldForAdmin(d int) bool {
	return s.D[d].Fenced != 0 || s.Held>>d&1 != 0 && s.D[d].Done < s.Rcpt[d].Done
}
