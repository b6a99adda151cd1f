package federation

// A sidecar, before the batch in a COPY frame, and in the COPY record on disk:
//
//	 0         1       2      3     4     6     8       16       24
//	 ├─────────┼───────┼──────┼─────┼─────┼─────┼───────┼────────┼──────────────────┬──────┐
//	 │ version │ flags │ hops │  0  │ try │  0  │ age   │ bitmap │ path n u8, sites │ TLVs │
//	 └─────────┴───────┴──────┴─────┴─────┴─────┴───────┴────────┴──────────────────┴──────┘
//
//	off  size  field    unit                               valid     a reader does with a bad one
//	0    1     version                                     1         refuses: ErrVersion
//	1    1     flags    bit 0 repair                       others 0  refuses: ErrUnknownCritical
//	2    1     hops     made so far                        0–255
//	3    1     zero                                        0         refuses: ErrCorrupt
//	4    2     try      for people and traces
//	6    2     zero                                        0         refuses: ErrCorrupt
//	8    8     age      ms, sum of monotonic residences
//	16   8     bitmap   bit n: destination n of the batch            a bit that the batch has no destination for is the receiver's to refuse
//	24   var   path     ≤ 32 sites, oldest first                     refuses: ErrCorrupt
//	     var   TLVs     2 stored at: u64 ms, not 0 (on disk alone)
//
// At most MaxSidecar bytes. (docs/design.md section 13, Sidecar.)
const (
	sidecarVersion        = 1
	sidecarRepair         = 1 << 0
	tagStoredAt    uint64 = 2
)

func (w *writer) sidecar(s *Sidecar) {
	w.u8(sidecarVersion)
	w.bool(s.Repair) // bit 0
	w.u8(s.Hops)
	w.u8(0)
	w.u16(s.Try)
	w.u16(0)
	w.u64(millis(s.Age))
	w.u64(s.Bitmap)
	w.path(s.Path)
	w.tlvs(s.knownTLVs())
}

func (s *Sidecar) knownTLVs() []TLV {
	if s.StoredAt.IsZero() {
		return s.Extensions
	}
	v := writer{}
	v.time(s.StoredAt)
	return append(s.Extensions[:len(s.Extensions):len(s.Extensions)], TLV{tagStoredAt, v.b})
}

// ParseSidecar reads a sidecar that fills b. Errors wrap ErrCorrupt, ErrVersion or ErrUnknownCritical.
func ParseSidecar(b []byte) (Sidecar, error) {
	r := reader{b: b}
	r.refuse(len(b) > MaxSidecar, "%d bytes, limit %d", len(b), MaxSidecar)
	r.version(sidecarVersion)
	flags := r.u8()
	if flags&^sidecarRepair != 0 {
		r.fail(unknownCritical("sidecar flags", uint64(flags)))
	}
	s := Sidecar{Repair: flags&sidecarRepair != 0, Hops: r.u8()}
	r.zeros(1)
	s.Try = r.u16()
	r.zeros(2)
	s.Age = r.duration(r.u64())
	s.Bitmap = r.u64()
	s.Path = r.path()
	list := r.tlvs()
	if v, ok := takeTLV(&list, tagStoredAt); ok {
		in := reader{b: v}
		s.StoredAt = in.time()
		in.refuse(s.StoredAt.IsZero(), "zero")
		r.nest(in.end("stored at"))
	}
	s.Extensions = r.unknown(list)
	if err := r.end("sidecar"); err != nil {
		return Sidecar{}, err
	}
	return s, nil
}
