package federation

import "slices"

// Opening is one time that a store was opened: its epoch, and the last LSN that stood in the log when the next opening began.
type Opening struct {
	Epoch Epoch
	Last  LSN
}

// OpeningsMark is a store's memory of its openings, oldest first, without the present one. It tells a peer a store that went on from one
// that was put back to an older state: such a store never heard of the openings since (docs/design.md section 5).
type OpeningsMark struct {
	Openings   []Opening // at most MaxOpenings, epochs ascending
	Extensions []TLV     // fields of later versions, kept and written again
}

// Add notes an opening that ended at last. One that is known already, or older than the newest, changes nothing; of more than MaxOpenings
// the oldest is forgotten. What the log lost of earlier ones since, its end by an admin's word, they have not.
func (m *OpeningsMark) Add(o Opening) {
	if n := len(m.Openings); n > 0 && m.Openings[n-1].Epoch >= o.Epoch {
		return
	}
	for i := range m.Openings {
		m.Openings[i].Last = min(m.Openings[i].Last, o.Last)
	}
	m.Openings = append(m.Openings, o)
	if extra := len(m.Openings) - MaxOpenings; extra > 0 {
		m.Openings = slices.Delete(m.Openings, 0, extra)
	}
}

// WentOnFrom tells whether a store with these earlier openings holds what another one of that epoch and last LSN held. One that is older
// than all of as many as a store remembers is believed to be among those forgotten.
func WentOnFrom(openings []Opening, epoch Epoch, last LSN) bool {
	for _, o := range openings {
		if o.Epoch == epoch {
			return o.Last >= last
		}
	}
	return len(openings) >= MaxOpenings && epoch < openings[0].Epoch
}

// OPENINGS:
//
//	 ┌───────┬────┬─────────────────────┬──────┐
//	 │ ver 1 │ n  │ n × {epoch, last}   │ TLVs │
//	 └───────┴────┴─────────────────────┴──────┘
//	   1       1    n × 16
//
// n ≤ MaxOpenings; epochs ascend, LSNs do not descend: a reader refuses what is otherwise. (docs/design.md section 5, decisions D49.)

// Encode gives the mark's value.
func (m OpeningsMark) Encode() []byte {
	w := writer{}
	w.u8(markVersion)
	w.openings(m.Openings)
	w.tlvs(m.Extensions)
	return w.must("openings mark", m)
}

// ParseOpeningsMark reads what Encode gives.
func ParseOpeningsMark(b []byte) (OpeningsMark, error) {
	r := reader{b: b}
	r.version(markVersion)
	m := OpeningsMark{Openings: r.openings(), Extensions: r.extensions()}
	if err := r.end("openings mark"); err != nil {
		return OpeningsMark{}, err
	}
	return m, nil
}

func (w *writer) openings(list []Opening) {
	w.count(len(list), MaxOpenings, "openings")
	w.u8(uint8(len(list)))
	for i, o := range list {
		if i > 0 && !ascends(list[i-1], o) {
			w.fail("opening %+v after %+v", o, list[i-1])
		}
		w.u64(uint64(o.Epoch))
		w.u64(uint64(o.Last))
	}
}

func (r *reader) openings() []Opening {
	n := r.count(int(r.u8()), MaxOpenings, 16)
	if n == 0 {
		return nil
	}
	list := make([]Opening, n)
	for i := range list {
		list[i] = Opening{Epoch(r.u64()), LSN(r.u64())}
		r.refuse(i > 0 && !ascends(list[i-1], list[i]), "opening %d is not after the one before", i)
	}
	return list
}

func ascends(a, b Opening) bool { return a.Epoch < b.Epoch && a.Last <= b.Last }
