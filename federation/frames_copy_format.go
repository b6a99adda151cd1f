package federation

import "time"

// COPY:
//
//	 0          8                  10
//	 ├──────────┼──────────────────┼─────────┬─────────────────────┐
//	 │ number   │ sidecar length   │ sidecar │ batch, to the end   │
//	 └──────────┴──────────────────┴─────────┴─────────────────────┘
//
// Numbers are per stream, from 1, dense; 0 is refused. The sidecar takes ≤ MaxSidecar bytes. The batch is not looked
// into: ParseBatch does that.

func (w *writer) copyHead(c *Copy) {
	if c.Number == 0 {
		w.fail("copy without a number")
	}
	w.u64(c.Number)
	w.u16(0)
	start := len(w.b)
	w.sidecar(&c.Sidecar)
	length := len(w.b) - start
	w.count(length, MaxSidecar, "bytes of a sidecar")
	putUint16(w.b[start-2:], uint16(length))
}

func (r *reader) copy() Copy {
	c := Copy{Number: r.u64()}
	r.refuse(c.Number == 0, "number 0")
	sidecar, err := ParseSidecar(r.take(int(r.u16())))
	if r.err == nil {
		r.nest(err)
	}
	c.Sidecar = sidecar
	c.Batch = r.take(len(r.b))
	return c
}

// AppendCopyHead appends a Copy frame up to its batch, whose bytes the caller writes after it. Errors as AppendFrame's.
func AppendCopyHead(dst []byte, c Copy) ([]byte, error) {
	w := writer{b: dst}
	w.frameHeader(TypeCopy)
	w.copyHead(&c)
	return w.endFrame(dst, TypeCopy, len(c.Batch))
}

// ACK:
//
//	 0        8            16
//	 ├────────┼────────────┼───────┬────────────────────────┬───────┬──────────────────────────────────────┬──────┐
//	 │ stream │ cumulative │ n u16 │ n × {first 8, last 8}  │ m u16 │ m × {number 8, verdict 1, retry 4}   │ TLVs │
//	 └────────┴────────────┴───────┴────────────────────────┴───────┴──────────────────────────────────────┴──────┘
//
//	field       valid                                                    a reader does with a bad one
//	ranges      n ≤ 256; ascending, a number not answered before each     refuses: ErrCorrupt
//	exceptions  m ≤ 256; numbers ascending, ≥ 1; verdict not OK           refuses: ErrCorrupt
//	retry       ms; 0 the sender's own choice; longer than 49 days is cut

func (w *writer) ack(a *Ack) {
	if !a.ascending() {
		w.fail("ranges or exceptions are not ascending: %+v", *a)
	}
	w.u64(a.Stream)
	w.u64(a.Cumulative)
	w.count(len(a.Ranges), MaxAckItems, "ranges")
	w.u16(uint16(len(a.Ranges)))
	for _, n := range a.Ranges {
		w.u64(n.First)
		w.u64(n.Last)
	}
	w.count(len(a.Exceptions), MaxAckItems, "exceptions")
	w.u16(uint16(len(a.Exceptions)))
	for _, e := range a.Exceptions {
		w.u64(e.Number)
		w.verdict(e.Verdict)
		w.u32(uint32(min(millis(e.Retry), 1<<32-1)))
	}
	w.tlvs(a.Extensions)
}

func (r *reader) ack() Ack {
	a := Ack{Stream: r.u64(), Cumulative: r.u64()}
	if n := r.count(int(r.u16()), MaxAckItems, 16); n > 0 {
		a.Ranges = make([]NumberRange, n)
	}
	for i := range a.Ranges {
		a.Ranges[i] = NumberRange{r.u64(), r.u64()}
	}
	if n := r.count(int(r.u16()), MaxAckItems, 13); n > 0 {
		a.Exceptions = make([]Exception, n)
	}
	for i := range a.Exceptions {
		a.Exceptions[i] = Exception{Number: r.u64(), Verdict: r.verdict(), Retry: time.Duration(r.u32()) * time.Millisecond}
	}
	a.Extensions = r.extensions()
	r.refuse(!a.ascending(), "ranges or exceptions are not ascending")
	return a
}

// ascending tells whether ranges leave a gap before each and exceptions go up.
func (a *Ack) ascending() bool {
	last := a.Cumulative
	for _, n := range a.Ranges {
		// n.First > last+1, without overflow
		if n.First <= last || n.First-last < 2 || n.Last < n.First {
			return false
		}
		last = n.Last
	}
	last = 0
	for _, e := range a.Exceptions {
		if e.Number <= last || e.Verdict == OK {
			return false
		}
		last = e.Number
	}
	return true
}
