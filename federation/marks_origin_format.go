package federation

// The origin's marks, and a peer's. The rules of marks_format.go hold.

// LANE:
//
//	 ┌───────┬────────────┬──────────┬──────────────┬────────┬───────┬──────────────────────────────────────┬─────────────────┬──────┐
//	 │ ver 1 │ generation │ previous │ previous end │ shards │ n u16 │ n × {destination, join 8, leave 8}   │ route digest 32 │ TLVs │
//	 └───────┴────────────┴──────────┴──────────────┴────────┴───────┴──────────────────────────────────────┴─────────────────┴──────┘
//	   1       8            8          8              2        2
//
// n ≤ MaxMembers; leave 0: it has not left. The digest of the route is reserved: zero in version 1, kept as it is when
// it is not. (docs/design.md section 13, LANE; decisions.md D2.)

// Encode gives the mark's value.
func (m LaneMark) Encode() []byte {
	w := writer{b: make([]byte, 0, 128)}
	w.laneMark(&m)
	return w.must("lane mark", m)
}

func (w *writer) laneMark(m *LaneMark) {
	w.u8(markVersion)
	w.u64(uint64(m.Generation))
	w.u64(uint64(m.Previous))
	w.u64(uint64(m.PreviousEnd))
	w.u16(m.Shards)
	w.count(len(m.Members), MaxMembers, "memberships")
	w.u16(uint16(len(m.Members)))
	for _, s := range m.Members {
		w.destination(s.Destination)
		w.u64(uint64(s.Join))
		w.u64(uint64(s.Leave))
	}
	w.bytes(m.RouteDigest[:])
	w.tlvs(m.Extensions)
}

// ParseLaneMark reads what Encode gives.
func ParseLaneMark(b []byte) (LaneMark, error) {
	r := reader{b: b}
	r.version(markVersion)
	m := LaneMark{Generation: Generation(r.u64()), Previous: Generation(r.u64()), PreviousEnd: Offset(r.u64()), Shards: r.u16()}
	if n := r.count(int(r.u16()), MaxMembers, 3+16); n > 0 {
		m.Members = make([]Membership, n)
	}
	for i := range m.Members {
		m.Members[i] = Membership{r.destination(), Offset(r.u64()), Offset(r.u64())}
	}
	m.RouteDigest = r.digest()
	m.Extensions = r.extensions()
	if err := r.end("lane mark"); err != nil {
		return LaneMark{}, err
	}
	return m, nil
}

// LANE_HIGH: version u8, last assigned u64, ingest duplicates u64, TLVs.

// Encode gives the mark's value.
func (m LaneHigh) Encode() []byte {
	w := writer{}
	w.u8(markVersion)
	w.u64(uint64(m.LastAssigned))
	w.u64(m.IngestDuplicates)
	w.tlvs(m.Extensions)
	return w.must("lane high mark", m)
}

// ParseLaneHigh reads what Encode gives.
func ParseLaneHigh(b []byte) (LaneHigh, error) {
	r := reader{b: b}
	r.version(markVersion)
	m := LaneHigh{LastAssigned: Offset(r.u64()), IngestDuplicates: r.u64(), Extensions: r.extensions()}
	if err := r.end("lane high mark"); err != nil {
		return LaneHigh{}, err
	}
	return m, nil
}

// PEER: version u8, store 16, born u64 ms, epoch u64, last LSN u64, boot id 16, TLVs.

// Encode gives the mark's value.
func (m PeerMark) Encode() []byte {
	w := writer{}
	w.u8(markVersion)
	w.bytes(m.Store[:])
	w.time(m.Born)
	w.u64(uint64(m.Epoch))
	w.u64(uint64(m.LastLSN))
	w.bytes(m.Boot[:])
	w.tlvs(m.Extensions)
	return w.must("peer mark", m)
}

// ParsePeerMark reads what Encode gives.
func ParsePeerMark(b []byte) (PeerMark, error) {
	r := reader{b: b}
	r.version(markVersion)
	m := PeerMark{Store: r.id(), Born: r.time(), Epoch: Epoch(r.u64()), LastLSN: LSN(r.u64()), Boot: r.id(), Extensions: r.extensions()}
	if err := r.end("peer mark"); err != nil {
		return PeerMark{}, err
	}
	return m, nil
}

// DEST: version u8, first store 16, newest store 16, newest born u64 ms, TLVs.

// Encode gives the mark's value.
func (m DestMark) Encode() []byte {
	w := writer{}
	w.u8(markVersion)
	w.bytes(m.First[:])
	w.bytes(m.Newest[:])
	w.time(m.NewestBorn)
	w.tlvs(m.Extensions)
	return w.must("destination mark", m)
}

// ParseDestMark reads what Encode gives.
func ParseDestMark(b []byte) (DestMark, error) {
	r := reader{b: b}
	r.version(markVersion)
	m := DestMark{First: r.id(), Newest: r.id(), NewestBorn: r.time(), Extensions: r.extensions()}
	if err := r.end("destination mark"); err != nil {
		return DestMark{}, err
	}
	return m, nil
}

// VOID:
//
//	 ┌───────┬───────┬───────────────────────────────────────────────────────────────────────────────────────────┬──────┐
//	 │ ver 1 │ n u16 │ n × {first 8, last 8, n u8 × destination, reason u8+≤255, who u8+≤255, at 8}              │ TLVs │
//	 └───────┴───────┴───────────────────────────────────────────────────────────────────────────────────────────┴──────┘
//
// n ≤ MaxVoids; 1 ≤ first ≤ last; no destinations: all. Reason and who over 255 bytes are cut. (docs/design.md section
// 13, VOID; decisions.md D2.)

// Encode gives the mark's value.
func (m VoidMark) Encode() []byte {
	w := writer{}
	w.u8(markVersion)
	w.voids(m.Voids)
	w.tlvs(m.Extensions)
	return w.must("void mark", m)
}

// ParseVoidMark reads what Encode gives.
func ParseVoidMark(b []byte) (VoidMark, error) {
	r := reader{b: b}
	r.version(markVersion)
	m := VoidMark{Voids: r.voids(), Extensions: r.extensions()}
	if err := r.end("void mark"); err != nil {
		return VoidMark{}, err
	}
	return m, nil
}

func (w *writer) voids(list []Void) {
	w.count(len(list), MaxVoids, "voids")
	w.u16(uint16(len(list)))
	for _, v := range list {
		if v.Span.First < 1 || v.Span.Last < v.Span.First {
			w.fail("void of %d to %d", v.Span.First, v.Span.Last)
		}
		w.u64(uint64(v.Span.First))
		w.u64(uint64(v.Span.Last))
		w.destinations(v.Destinations)
		w.text(v.Reason)
		w.text(v.Who)
		w.time(v.At)
	}
}

func (r *reader) voids() []Void {
	n := r.count(int(r.u16()), MaxVoids, 16+1+1+1+8)
	if n == 0 {
		return nil
	}
	list := make([]Void, n)
	for i := range list {
		v := Void{Span: Span{Offset(r.u64()), Offset(r.u64())}}
		r.refuse(v.Span.First < 1 || v.Span.Last < v.Span.First, "void of %d to %d", v.Span.First, v.Span.Last)
		v.Destinations = r.destinations()
		v.Reason, v.Who, v.At = r.text(), r.text(), r.time()
		list[i] = v
	}
	return list
}

// OWNER: version u8, highest index u32, TLVs.

// Encode gives the mark's value.
func (m OwnerMark) Encode() []byte {
	w := writer{}
	w.u8(markVersion)
	w.u32(m.Highest)
	w.tlvs(m.Extensions)
	return w.must("owner mark", m)
}

// ParseOwnerMark reads what Encode gives.
func ParseOwnerMark(b []byte) (OwnerMark, error) {
	r := reader{b: b}
	r.version(markVersion)
	m := OwnerMark{Highest: r.u32(), Extensions: r.extensions()}
	if err := r.end("owner mark"); err != nil {
		return OwnerMark{}, err
	}
	return m, nil
}
