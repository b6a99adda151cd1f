package spool

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The golden file is a segment of version 1 with every type of record: whatever comes later reads these bytes.
const goldenSegment = "testdata/segment.v1.hex"

func TestTheFormatOfASegmentIsAsItWasShipped(t *testing.T) {
	got := exampleSegment(t)
	if *update {
		if err := os.WriteFile(goldenSegment, lines(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(goldenSegment)
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(string(bytes.ReplaceAll(text, []byte("\n"), nil)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("the encoders write other bytes than version 1 (-update writes the file anew):\n%s", lines(got))
	}
}

func TestAnUnknownRecordThatIsNotCriticalIsKeptAndACriticalOneStops(t *testing.T) {
	s, err := readFooter(readerOf(exampleSegment(t)), &fuzzHeader)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.others) != 1 || s.others[0].kind != 99 {
		t.Errorf("others %+v, want the record of type 99", s.others)
	}
	g := &gathering{content: newContent()}
	if err := g.record(rawRecord{kind: 98, flags: flagCritical}, place{}); err == nil {
		t.Error("a critical record of an unknown type: nil, want an error")
	}
}

func lines(b []byte) []byte {
	text := []byte(hex.EncodeToString(b))
	var out []byte
	for len(text) > 0 {
		n := min(64, len(text))
		out = append(append(out, text[:n]...), '\n')
		text = text[n:]
	}
	return out
}
