package federation

import (
	"encoding/binary"
	"fmt"
	"time"
)

// An entry, as it stands in a batch's raw body and in a PARK record:
//
//	 ┌────────┬──────┬───────┬─────┬─────┬──────────┬────────────┬──────────────┬──────────────┬──────┐
//	 │ length │ kind │ flags │ age │ ttl │ exchange │ routing key│ properties   │ body         │ TLVs │
//	 │ varint │ u8   │ u8    │ var │ var │ u8+bytes │ u8+bytes   │ varint+bytes │ varint+bytes │ …    │
//	 └────────┴──────┴───────┴─────┴─────┴──────────┴────────────┴──────────────┴──────────────┴──────┘
//
//	field        unit                    valid                     a reader does with a bad one
//	length       bytes after itself      ≤ MaxRawBatch             refuses: ErrCorrupt
//	kind         0 message, 1 fragment, 2 tombstone                refuses: ErrUnknownCritical
//	flags        bits 0–3, EntryFlags                              refuses: ErrUnknownCritical
//	age          ms between ingest and sealing                     refuses: ErrCorrupt
//	ttl          0 none, else remaining ms + 1                     refuses: ErrCorrupt
//	exchange, routing key   AMQP 0-9-1 shortstr, ≤ 255 bytes
//	properties   raw content-header properties (AMQP 0-9-1 section 4.2.6.1), not looked into
//	body         bytes
//	TLVs         1 excluded: u64, not 0   2 reason: text of 1–255 bytes   3 fragment: first offset u64 ≥ 1, index u32 < total, total u32, digest 32
//	             5 path: 1–32 × (u8 + site)
//
// A fragment has TLV 3 and nothing else has. Version: the batch's. (docs/design.md section 13, Entry.)

const (
	tagExcluded uint64 = 1
	tagReason   uint64 = 2
	tagFragment uint64 = 3
	tagPath     uint64 = 5
)

const (
	knownEntryFlags = EntryDuplicate | EntryLastFragment | EntryRedriven | EntryTransient
	minEntry        = 9 // bytes of the smallest entry: every field empty
)

// EncodedSize is the bytes that the entry takes in a batch before compression.
func (e *Entry) EncodedSize() int {
	n := e.contentSize(e.knownTLVs())
	return varintSize(uint64(n)) + n
}

func (e *Entry) contentSize(tlvs []TLV) int {
	m := &e.Message
	return 2 + varintSize(millis(e.Age)) + varintSize(e.encodedTTL()) +
		1 + len(m.Exchange) + 1 + len(m.RoutingKey) +
		varintSize(uint64(len(m.Properties))) + len(m.Properties) +
		varintSize(uint64(len(m.Body))) + len(m.Body) + tlvsSize(tlvs)
}

// AppendEntry appends the entry's bytes. Errors: ErrTooLarge, or a value that no entry may have.
func AppendEntry(dst []byte, e *Entry) ([]byte, error) {
	w := writer{b: dst}
	w.entry(e)
	if w.err != nil {
		return dst, fmt.Errorf("entry: %w", w.err)
	}
	return w.b, nil
}

func (w *writer) entry(e *Entry) {
	tlvs := e.knownTLVs()
	w.entryValid(e)
	size := e.contentSize(tlvs)
	w.count(size, MaxRawBatch, "bytes of an entry")
	if w.err != nil {
		return
	}
	w.varint(uint64(size))
	w.u8(uint8(e.Kind))
	w.u8(uint8(e.Flags))
	w.varint(millis(e.Age))
	w.varint(e.encodedTTL())
	w.short(e.Message.Exchange)
	w.short(e.Message.RoutingKey)
	w.sized(e.Message.Properties)
	w.sized(e.Message.Body)
	w.tlvs(tlvs)
}

func (w *writer) entryValid(e *Entry) {
	if e.Kind > EntryTombstone || e.Flags&^knownEntryFlags != 0 {
		w.fail("entry of kind %d with flags %#x", e.Kind, e.Flags)
	}
	if f := e.Fragment; (e.Kind == EntryFragment) != (f != nil) || f != nil && (f.First == 0 || f.Index >= f.Total) {
		w.fail("entry of kind %d with fragment %+v", e.Kind, f)
	}
	w.count(len(e.Path), MaxPath, "sites of a path")
	for _, s := range e.Path {
		if !s.Valid() {
			w.fail("site name %q in the path", s)
		}
	}
}

func (e *Entry) encodedTTL() uint64 {
	if e.TTL < 0 {
		return 0
	}
	return millis(e.TTL) + 1
}

// knownTLVs are all extension fields of the entry. Most entries have none.
func (e *Entry) knownTLVs() []TLV {
	list := e.Extensions[:len(e.Extensions):len(e.Extensions)]
	if e.Excluded != 0 {
		list = append(list, TLV{tagExcluded, binary.LittleEndian.AppendUint64(nil, e.Excluded)})
	}
	if e.Reason != "" {
		w := writer{}
		w.text(e.Reason)
		list = append(list, TLV{tagReason, w.b[1:]})
	}
	if f := e.Fragment; f != nil {
		w := writer{}
		w.u64(uint64(f.First))
		w.u32(f.Index)
		w.u32(f.Total)
		w.bytes(f.Digest[:])
		list = append(list, TLV{tagFragment, w.b})
	}
	if len(e.Path) > 0 {
		w := writer{}
		for _, s := range e.Path {
			w.short(string(s))
		}
		list = append(list, TLV{tagPath, w.b})
	}
	return list
}

// ParseEntry reads an entry and returns what follows it. Properties and body share b. Errors wrap ErrCorrupt or
// ErrUnknownCritical.
func ParseEntry(b []byte) (Entry, []byte, error) {
	r := reader{b: b}
	e := r.entry(func(p []byte) string { return string(p) })
	if r.err != nil {
		return Entry{}, nil, fmt.Errorf("entry: %w", r.err)
	}
	return e, r.b, nil
}

// entry takes an entry; name makes the strings, so that a caller who sees many can share them.
func (r *reader) entry(name func([]byte) string) Entry {
	in := reader{b: r.sized(), err: r.err}
	e := Entry{Kind: EntryKind(in.u8()), Flags: EntryFlags(in.u8())}
	if in.err == nil && e.Kind > EntryTombstone {
		in.fail(unknownCritical("entry kind", uint64(e.Kind)))
	}
	if in.err == nil && e.Flags&^knownEntryFlags != 0 {
		in.fail(unknownCritical("entry flags", uint64(e.Flags)))
	}
	e.Age = in.duration(in.varint())
	e.TTL = in.ttl()
	e.Message.Exchange = name(in.short())
	e.Message.RoutingKey = name(in.short())
	e.Message.Properties = in.sized()
	e.Message.Body = in.sized()
	if len(in.b) > 0 {
		in.entryTLVs(&e)
	}
	if in.err == nil && (e.Kind == EntryFragment) != (e.Fragment != nil) {
		in.corrupt("kind %d with fragment %v", e.Kind, e.Fragment)
	}
	if in.err != nil {
		r.fail(in.err)
	}
	return e
}

func (r *reader) ttl() time.Duration {
	v := r.varint()
	if v == 0 {
		return NoTTL
	}
	return r.duration(v - 1)
}

func (r *reader) entryTLVs(e *Entry) {
	list := r.tlvs()
	if v, ok := takeTLV(&list, tagExcluded); ok {
		in := reader{b: v}
		e.Excluded = in.u64()
		in.refuse(e.Excluded == 0, "no destination in it")
		r.nest(in.end("excluded"))
	}
	if v, ok := takeTLV(&list, tagReason); ok {
		r.refuse(len(v) == 0 || len(v) > MaxShortString || !isText(string(v)), "reason %q", v)
		e.Reason = string(v)
	}
	if v, ok := takeTLV(&list, tagFragment); ok {
		e.Fragment = r.fragment(v)
	}
	if v, ok := takeTLV(&list, tagPath); ok {
		e.Path = r.sitesToEnd(v)
	}
	e.Extensions = r.unknown(list)
}

func (r *reader) fragment(value []byte) *Fragment {
	in := reader{b: value}
	f := &Fragment{First: Offset(in.u64()), Index: in.u32(), Total: in.u32()}
	copy(f.Digest[:], in.take(32))
	in.refuse(f.First == 0 || f.Index >= f.Total, "fragment %d of %d from offset %d", f.Index, f.Total, f.First)
	r.nest(in.end("fragment"))
	return f
}

func (r *reader) sitesToEnd(value []byte) []SiteID {
	in := reader{b: value}
	var path []SiteID
	for len(in.b) > 0 && len(path) < MaxPath {
		path = append(path, in.site())
	}
	in.refuse(len(path) == 0, "no site in it")
	r.nest(in.end("path"))
	return path
}
