package spool

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"cloudqueue/federation"
)

// memoryReader reads bytes.
type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }

func (r memoryReader) Size() (int64, error) { return r.Reader.Size(), nil }

func readerOf(b []byte) Reader { return memoryReader{bytes.NewReader(b)} }

// scannerOf scans bytes that are a segment of fuzzHeader.
func scannerOf(t testing.TB, b []byte) *scanner {
	t.Helper()
	s, err := newScanner(readerOf(b), fuzzHeader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var fuzzHeader = segmentHeader{
	store: federation.StoreID{1, 2, 3}, born: time.UnixMilli(1000), epoch: 7, number: 1, created: time.UnixMilli(2000), salt: 0x1122334455667788, alignment: 8,
}

// exampleSegment is a segment with every type of record and a footer.
func exampleSegment(t testing.TB) []byte {
	t.Helper()
	b := builder{header: &fuzzHeader, at: segmentHeaderSize}
	c := newContent()
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	lane := federation.Lane{Origin: "ams", Route: "orders"}
	nyc := federation.Destination{Site: "nyc"}
	entry := federation.Entry{TTL: federation.NoTTL, Message: federation.Message{RoutingKey: "k", Body: []byte("hello")}}
	batch, err := federation.Seal(federation.Header{Lane: lane, Generation: 5, First: 1, SealedAt: time.UnixMilli(9), Destinations: []federation.Destination{nyc}}, []federation.Entry{entry}, federation.CodecNone, coder)
	if err != nil {
		t.Fatal(err)
	}
	park := ParkRecord{Lane: lane, Generation: 5, Offset: 1, Destination: nyc, Reason: "unroutable", Entry: entry}
	sub, err := encodeRecords([]Record{
		BatchRecord{batch},
		MarkRecord{federation.MarkKey{Kind: federation.MarkLaneHigh, Lane: lane, Generation: 5}, []byte("value")},
		park, UnparkRecord{Park: park.ID(), Outcome: "dropped"}, AuditRecord{Who: "admin", What: "word"},
	})
	if err != nil {
		t.Fatal(err)
	}
	word := recovered{cut: 1}
	own, err := newSubmission(encoded{kind: typeRecovered, flags: flagCritical, payload: word.append(nil)}, movedRecord([]uint64{3, 4}), encoded{kind: 99, payload: []byte("later version")})
	if err != nil {
		t.Fatal(err)
	}
	b.group(1, []*submission{own}, c)
	b.durable = 1
	b.group(2, []*submission{sub}, c)
	b.checkpoint(3, &checkpoint{asOf: 2, marks: []keyedMark{{federation.MarkKey{Kind: federation.MarkOwner}, mark{1, []byte("o")}}},
		segments: []tableEntry{{1, 2, 3, 4, true}}, highest: []laneHighest{{laneKey{lane, 5}, 9}}, audits: []ownAudit{{1, AuditRecord{Who: "a", What: "b"}}}}, c)
	whole := append(fuzzHeader.encode(), b.buf...)
	return append(whole, encodeFooter(c, &fuzzHeader, int64(len(whole)))...)
}

// FuzzSegment scans any bytes behind a good header: no crash, no allocation beyond the input, and nothing that a checksum does not cover.
func FuzzSegment(f *testing.F) {
	whole := exampleSegment(f)
	f.Add(whole[segmentHeaderSize:], false)
	f.Add(whole[segmentHeaderSize:len(whole)-20], true)
	f.Add([]byte(groupMagic+footerMagic+trailerMagic), true)
	f.Fuzz(func(t *testing.T, rest []byte, mend bool) {
		b := append(fuzzHeader.encode(), rest...)
		if mend {
			mendGroups(b)
		}
		h, bad, _, err := readHeader(readerOf(b), int64(len(b)), 1, Identity{Store: fuzzHeader.store, Epoch: 7})
		if err != nil || bad != "" {
			t.Fatalf("a good header: %v %q", err, bad)
		}
		seen := newState()
		g := &gathering{content: newContent(), marks: seen.marks.merge, audits: seen.addAudit, moved: func([]uint64) {}}
		err = indexGroups(context.Background(), scannerOf(t, b), 0, g, func(ending, federation.LSN) {})
		if err != nil && !errors.Is(err, federation.ErrCorrupt) && !errors.Is(err, federation.ErrVersion) && !errors.Is(err, federation.ErrUnknownCritical) {
			t.Fatalf("scan: %v", err)
		}
		if s, err := readFooter(readerOf(b), &h); err == nil {
			for key := range s.lanes {
				_, _ = readExtents(readerOf(b), &h, key)
			}
		}
	})
}

// mendGroups gives the groups that follow each other checksums that fit, so that the fuzzer gets behind them.
func mendGroups(b []byte) {
	for at := segmentHeaderSize; at+groupHeaderSize <= len(b); {
		length := min(int(binary.LittleEndian.Uint32(b[at+4:])), len(b)-at-groupHeaderSize) &^ 7
		body := b[at+groupHeaderSize : at+groupHeaderSize+length]
		h := groupHeader{bodyLength: uint32(length), lsn: federation.LSN(at), epoch: fuzzHeader.epoch, records: binary.LittleEndian.Uint32(b[at+32:])}
		h.bodyCRC = salted(fuzzHeader.salt, int64(at)+groupHeaderSize, body)
		h.put(b[at:], fuzzHeader.salt, int64(at))
		at += groupHeaderSize + length
	}
}

// FuzzRecords takes any bytes as the payload of every type of record.
func FuzzRecords(f *testing.F) {
	whole := exampleSegment(f)
	s := scannerOf(f, whole)
	for g, err := s.next(); err == nil; g, err = s.next() {
		if err := splitRecords(g.body, g.records, func(r rawRecord) error { f.Add(byte(r.kind), bytes.Clone(r.payload)); return nil }); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		r := rawRecord{kind: recordType(kind), flags: flagCritical, payload: payload}
		seen := newState()
		g := &gathering{content: newContent(), marks: seen.marks.merge, audits: seen.addAudit, moved: func([]uint64) {}}
		err := g.record(r, place{})
		var e WalkedRecord
		shown := e.decode(r)
		if err == nil && shown != nil && r.kind != typePark { // of a PARK the index reads the head alone
			t.Fatalf("%s: indexed, but not shown: %v", r.kind, shown)
		}
		if b := e.encode(); shown == nil && b != nil && !bytes.Equal(b, payload) {
			t.Fatalf("%s: read %x, written %x", r.kind, payload, b)
		}
	})
}

// encode writes what was decoded, where a caller's record has one form alone; nil elsewhere.
func (e *WalkedRecord) encode() []byte {
	switch record := e.Record.(type) {
	case MarkRecord:
		if validKey(record.Key) == nil {
			return appendMark(nil, e.Own, record.Key, record.Value)
		}
	case UnparkRecord:
		if validPark(record.Park) == nil {
			return appendUnpark(nil, e.Own, &record)
		}
	case AuditRecord:
		return appendAudit(nil, e.Own, &record)
	}
	return nil
}

// FuzzFooter takes any bytes as a footer's summary and as a lane's extents.
func FuzzFooter(f *testing.F) {
	whole := exampleSegment(f)
	s, err := readFooter(readerOf(whole), &fuzzHeader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[s.valid+footerHeadSize : s.extentsAt])
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b) // the fuzzer's own must not change
		head := footerHead{position: 512, summaryLength: int64(len(b)) + footerHeadSize, length: 1 << 20}
		if len(b) >= 4 {
			binary.LittleEndian.PutUint32(b[len(b)-4:], salted(fuzzHeader.salt, head.position+footerHeadSize, b[:len(b)-4]))
		}
		if s, err := parseSummary(b, &fuzzHeader, head); err != nil && !errors.Is(err, federation.ErrCorrupt) && !errors.Is(err, federation.ErrVersion) && !errors.Is(err, federation.ErrUnknownCritical) {
			t.Fatalf("summary %v: %v", s, err)
		}
		n := len(b) / extentSize
		_, _ = parseExtents(b[:n*extentSize], fuzzHeader.salt, laneSummary{extents: n, crc: salted(fuzzHeader.salt, 0, b[:n*extentSize])})
	})
}

// FuzzSegmentHeader takes any bytes as a header, also with a checksum that fits.
func FuzzSegmentHeader(f *testing.F) {
	f.Add(fuzzHeader.encode(), false)
	f.Fuzz(func(t *testing.T, b []byte, mend bool) {
		b = bytes.Clone(b) // the fuzzer's own must not change
		if mend && len(b) >= segmentHeaderSize {
			copy(b, segmentMagic)
			binary.LittleEndian.PutUint32(b[508:], salted(0, 0, b[:508]))
		}
		h, err := parseSegmentHeader(b)
		if err == nil && !mend && !bytes.Equal(h.encode(), b[:segmentHeaderSize]) {
			t.Fatalf("read %x, written %x", b[:segmentHeaderSize], h.encode())
		}
	})
}
