package federation

import "bytes"

// Every value of a mark begins with its version (u8, 1) and ends with TLVs (tlv.go). Errors of all Parse functions wrap
// ErrCorrupt, ErrVersion or ErrUnknownCritical. Encode panics on what the program may not make: a bad name, more items
// than the limit.

const markVersion = 1

// JOURNAL:
//
//	 ┌───────┬──────┬──────┬──────────┬───────────────┬───────────────┬──────┬─────────────────────────┬──────┐
//	 │ ver 1 │ join │ done │ reserved │ counters 56   │ origin store  │ n u8 │ n × {epoch 8, first 8}  │ TLVs │
//	 └───────┴──────┴──────┴──────────┴───────────────┴───────────────┴──────┴─────────────────────────┴──────┘
//	   1       8      8      8          7 × 8           16              1
//
//	field     valid
//	join      ≥ 1
//	done      ≥ join − 1; done − join + 1 = sum of the counters, else ErrCorrupt
//	reserved  ≥ done
//	seals     n ≤ 4, epochs and offsets both ascending

// Encode gives the mark's value.
func (j Journal) Encode() []byte {
	w := writer{b: make([]byte, 0, 1+3*8+countersSize+16+1+16*len(j.Seals)+tlvsSize(j.Extensions))}
	w.u8(markVersion)
	w.u64(uint64(j.Join))
	w.u64(uint64(j.Done))
	w.u64(uint64(j.Reserved))
	w.counters(j.Counters)
	w.bytes(j.OriginStore[:])
	w.seals(j.Seals)
	w.tlvs(j.Extensions)
	if err := j.valid(); err != "" {
		w.fail("%s", err)
	}
	return w.must("journal", j)
}

// ParseJournal reads what Encode gives.
func ParseJournal(b []byte) (Journal, error) {
	r := reader{b: b}
	r.version(markVersion)
	j := Journal{Join: Offset(r.u64()), Done: Offset(r.u64()), Reserved: Offset(r.u64())}
	j.Counters = r.counters()
	j.OriginStore = r.id()
	j.Seals = r.seals()
	j.Extensions = r.extensions()
	if err := j.valid(); err != "" {
		r.refuse(true, "%s", err)
	}
	if err := r.end("journal"); err != nil {
		return Journal{}, err
	}
	return j, nil
}

// valid says what is wrong with the journal, or nothing.
func (j *Journal) valid() string {
	switch {
	case j.Join < 1 || j.Done < j.Join-1 || j.Reserved < j.Done:
		return "join " + itoa(uint64(j.Join)) + ", done " + itoa(uint64(j.Done)) + ", reserved " + itoa(uint64(j.Reserved))
	case !j.Balanced():
		return "books do not balance: done − join + 1 is " + itoa(uint64(j.Done+1-j.Join)) + ", the counters give " + itoa(j.Counters.Sum())
	}
	for i := 1; i < len(j.Seals); i++ {
		if j.Seals[i-1].Epoch >= j.Seals[i].Epoch || j.Seals[i-1].First >= j.Seals[i].First {
			return "seal points are not ascending"
		}
	}
	return ""
}

func (w *writer) seals(seals []SealPoint) {
	w.count(len(seals), MaxSeals, "seal points")
	w.u8(uint8(len(seals)))
	for _, s := range seals {
		w.u64(uint64(s.Epoch))
		w.u64(uint64(s.First))
	}
}

func (r *reader) seals() []SealPoint {
	n := r.count(int(r.u8()), MaxSeals, 16)
	if n == 0 {
		return nil
	}
	seals := make([]SealPoint, n)
	for i := range seals {
		seals[i] = SealPoint{Epoch(r.u64()), Offset(r.u64())}
	}
	return seals
}

// Counters, 56 bytes: delivered, parked, expired, excluded, voided, flagged, uncertain, 8 each.
const countersSize = 56

func (w *writer) counters(c Counters) {
	for _, n := range [...]uint64{c.Delivered, c.Parked, c.Expired, c.Excluded, c.Voided, c.Flagged, c.Uncertain} {
		w.u64(n)
	}
}

func (r *reader) counters() Counters {
	return Counters{
		Delivered: r.u64(), Parked: r.u64(), Expired: r.u64(), Excluded: r.u64(), Voided: r.u64(),
		Flagged: r.u64(), Uncertain: r.u64(),
	}
}

// RECEIPT, as a mark and as the payload of a RECEIPT frame:
//
//	 ┌───────┬──────┬────────────┬─────────────┬───────┬──────┬───────┬──────┬──────┬──────┬─────────────┬───────────────┬──────┐
//	 │ ver 1 │ lane │ generation │ destination │ store │ born │ epoch │ join │ done │ seal │ counters 56 │ signature     │ TLVs │
//	 └───────┴──────┴────────────┴─────────────┴───────┴──────┴───────┴──────┴──────┴──────┴─────────────┴───────────────┴──────┘
//	   1       var    8            var           16      8      8       8      8      8      56            u16 + ≤ 1024
//
// Done may be join − 1: nothing is finished yet. Seal is the epoch in which the batch with done was sealed, 0 when the destination does not
// know it: an origin whose own batch there has another one was put back to an older state. What the counters say is checked by
// Ledger.Accept, not here: a receipt is somebody else's word. (docs/design.md sections 6.3 and 13.)

// Encode gives the mark's value, which is also the RECEIPT frame's payload.
func (r Receipt) Encode() []byte {
	w := writer{b: make([]byte, 0, 256)}
	w.receipt(&r)
	return w.must("receipt", r)
}

func (w *writer) receipt(r *Receipt) {
	w.u8(markVersion)
	w.lane(r.Lane)
	w.u64(uint64(r.Generation))
	w.destination(r.Destination)
	w.bytes(r.Store[:])
	w.time(r.Born)
	w.u64(uint64(r.Epoch))
	w.u64(uint64(r.Join))
	w.u64(uint64(r.Done))
	w.u64(uint64(r.Seal))
	w.counters(r.Counters)
	w.count(len(r.Signature), MaxSignature, "bytes of a signature")
	w.u16(uint16(len(r.Signature)))
	w.bytes(r.Signature)
	w.tlvs(r.Extensions)
}

// ParseReceipt reads what Encode gives.
func ParseReceipt(b []byte) (Receipt, error) {
	r := reader{b: b}
	v := r.receipt()
	if err := r.end("receipt"); err != nil {
		return Receipt{}, err
	}
	return v, nil
}

func (r *reader) receipt() Receipt {
	r.version(markVersion)
	v := Receipt{Lane: r.lane(), Generation: Generation(r.u64()), Destination: r.destination()}
	v.Store = r.id()
	v.Born = r.time()
	v.Epoch = Epoch(r.u64())
	v.Join = Offset(r.u64())
	v.Done = Offset(r.u64())
	v.Seal = Epoch(r.u64())
	v.Counters = r.counters()
	if n := r.count(int(r.u16()), MaxSignature, 1); n > 0 {
		v.Signature = bytes.Clone(r.take(n))
	}
	v.Extensions = r.extensions()
	return v
}
