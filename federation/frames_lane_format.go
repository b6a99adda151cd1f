package federation

// LANE_OPEN:
//
//	 ┌─────────┬──────┬───────────────────────────┬──────────────────┬─────────────────┬──────┐
//	 │ zero 4  │ lane │ length u32, LANE mark     │ first retained 8 │ last assigned 8 │ TLVs │
//	 └─────────┴──────┴───────────────────────────┴──────────────────┴─────────────────┴──────┘
//
// LANE_STATE:
//
//	 ┌─────────┬──────┬────────────────────┬──────┬──────────────────────────────────────────────────────────────────────┬─────────┬──────┬──────┐
//	 │ zero 4  │ lane │ known generation 8 │ n u8 │ n × {destination, next wanted 8, seal 8, window 4, store 16, born 8} │ verdict │ text │ TLVs │
//	 └─────────┴──────┴────────────────────┴──────┴──────────────────────────────────────────────────────────────────────┴─────────┴──────┴──────┘
//
// The first four bytes are reserved for a short id of the lane: zero in version 1, whose frames name the whole lane;
// another value is refused with ErrUnknownCritical. n ≤ 48. Seal is that of a RECEIPT, of the offset before the next wanted. The verdict
// is OK, or says why nothing of the lane is taken (NO_GRANT, TOPOLOGY_OLD …), and the text what to do.

func (w *writer) laneOpen(o *LaneOpen) {
	w.u32(0) // reserved
	w.lane(o.Lane)
	w.nested(func() { w.laneMark(&o.Mark) })
	w.u64(uint64(o.FirstRetained))
	w.u64(uint64(o.LastAssigned))
	w.tlvs(o.Extensions)
}

func (r *reader) laneOpen() LaneOpen {
	r.noShortID()
	o := LaneOpen{Lane: r.lane()}
	if in := r.nested(); in.err == nil {
		mark, err := ParseLaneMark(in.b)
		r.nest(err)
		o.Mark = mark
	}
	o.FirstRetained, o.LastAssigned = Offset(r.u64()), Offset(r.u64())
	o.Extensions = r.extensions()
	return o
}

func (r *reader) noShortID() {
	if id := r.u32(); id != 0 {
		r.fail(unknownCritical("short id", uint64(id)))
	}
}

func (w *writer) laneState(s *LaneState) {
	w.u32(0) // reserved
	w.lane(s.Lane)
	w.u64(uint64(s.KnownGeneration))
	w.count(len(s.Destinations), MaxDestinations, "destinations")
	w.u8(uint8(len(s.Destinations)))
	for _, d := range s.Destinations {
		w.destination(d.Destination)
		w.u64(uint64(d.NextWanted))
		w.u64(uint64(d.Seal))
		w.u32(d.Window)
		w.bytes(d.Store[:])
		w.time(d.Born)
	}
	w.verdict(s.Verdict)
	w.text(s.Text)
	w.tlvs(s.Extensions)
}

func (r *reader) laneState() LaneState {
	r.noShortID()
	s := LaneState{Lane: r.lane(), KnownGeneration: Generation(r.u64())}
	if n := r.count(int(r.u8()), MaxDestinations, 3+8+8+4+16+8); n > 0 {
		s.Destinations = make([]DestState, n)
	}
	for i := range s.Destinations {
		s.Destinations[i] = DestState{Destination: r.destination(), NextWanted: Offset(r.u64()), Seal: Epoch(r.u64()), Window: r.u32(), Store: r.id(), Born: r.time()}
	}
	s.Verdict = r.verdict()
	s.Text = r.text()
	s.Extensions = r.extensions()
	return s
}

// WINDOW: lane, generation 8, destination, next 8, bytes 4, TLVs.

func (w *writer) window(v *Window) {
	w.lane(v.Lane)
	w.u64(uint64(v.Generation))
	w.destination(v.Destination)
	w.u64(uint64(v.Next))
	w.u32(v.Bytes)
	w.tlvs(v.Extensions)
}

func (r *reader) window() Window {
	return Window{Lane: r.lane(), Generation: Generation(r.u64()), Destination: r.destination(), Next: Offset(r.u64()),
		Bytes: r.u32(), Extensions: r.extensions()}
}

// SYNC_REQ: nonce 8, lane, generation 8 (0: not known), destination, store 16, born 8, to origin u8 (0, 1), TLVs.

func (w *writer) syncReq(q *SyncReq) {
	w.u64(q.Nonce)
	w.lane(q.Lane)
	w.u64(uint64(q.Generation))
	w.destination(q.Destination)
	w.bytes(q.Store[:])
	w.time(q.Born)
	w.bool(q.ToOrigin)
	w.tlvs(q.Extensions)
}

func (r *reader) syncReq() SyncReq {
	return SyncReq{Nonce: r.u64(), Lane: r.lane(), Generation: Generation(r.u64()), Destination: r.destination(), Store: r.id(),
		Born: r.time(), ToOrigin: r.bool(), Extensions: r.extensions()}
}

// SYNC:
//
//	 ┌─────────┬──────┬──────────────┬─────────────┬────────┬──────────────────┬─────────────────┬───────────────┬─────────────┐
//	 │ nonce 8 │ lane │ generation 8 │ destination │ join 8 │ first retained 8 │ last assigned 8 │ first store 1 │ receipt? 1  │
//	 ├─────────┴──────┴───────┬──────┴─────────────┴────────┼──────────────────┼─────────┬───────┴──────┬────────┴─────────────┘
//	 │ [length u32, RECEIPT]  │ n u16, n × void (VOID mark) │ origin store 16  │ verdict │ text │ TLVs │
//	 └────────────────────────┴─────────────────────────────┴──────────────────┴─────────┴──────┴──────┘
//
// The receipt stands there when receipt? is 1. (docs/design.md section 6.3.)

func (w *writer) sync(s *Sync) {
	w.u64(s.Nonce)
	w.lane(s.Lane)
	w.u64(uint64(s.Generation))
	w.destination(s.Destination)
	w.u64(uint64(s.Join))
	w.u64(uint64(s.FirstRetained))
	w.u64(uint64(s.LastAssigned))
	w.bool(s.FirstStore)
	w.bool(s.HasReceipt)
	if s.HasReceipt {
		w.nested(func() { w.receipt(&s.Receipt) })
	}
	w.voids(s.Voids)
	w.bytes(s.OriginStore[:])
	w.verdict(s.Verdict)
	w.text(s.Text)
	w.tlvs(s.Extensions)
}

func (r *reader) sync() Sync {
	s := Sync{Nonce: r.u64(), Lane: r.lane(), Generation: Generation(r.u64()), Destination: r.destination(), Join: Offset(r.u64()),
		FirstRetained: Offset(r.u64()), LastAssigned: Offset(r.u64()), FirstStore: r.bool(), HasReceipt: r.bool()}
	if s.HasReceipt {
		in := r.nested()
		s.Receipt = in.receipt()
		r.nest(in.end("receipt"))
	}
	s.Voids = r.voids()
	s.OriginStore = r.id()
	s.Verdict = r.verdict()
	s.Text = r.text()
	s.Extensions = r.extensions()
	return s
}
