package federation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseFrameGivesWhatWasAppended(t *testing.T) {
	batch := mustSeal(t, sampleHeader(), sampleEntries(), CodecZstd).Bytes()
	for name, want := range sampleFrames(batch) {
		t.Run(name, func(t *testing.T) {
			b, err := AppendFrame([]byte("before"), want)
			if err != nil {
				t.Fatal(err)
			}
			b = b[len("before"):]
			h, err := ParseFrameHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseFrame(h, b[FrameHeaderSize:])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("frame (-appended +parsed):\n%s", diff)
			}
		})
	}
}

func TestACopyHeadAndItsBatchAreTheFrame(t *testing.T) {
	c := Copy{Number: 7, Sidecar: sampleSidecar(), Batch: []byte("batch")}
	whole := must(AppendFrame(nil, c))
	head := must(AppendCopyHead(nil, c))
	if diff := cmp.Diff(whole, append(head, c.Batch...)); diff != "" {
		t.Errorf("frame (-in one -head and batch):\n%s", diff)
	}
}

func TestUnknownFramesAreSkippedUnlessCritical(t *testing.T) {
	h := must(ParseFrameHeader([]byte{3, 0, 0, 0, 12, 0, 0, 0}))
	if f, err := ParseFrame(h, []byte("any")); f != nil || err != nil {
		t.Errorf("frame %v, error %v, want neither", f, err)
	}
	if _, err := ParseFrameHeader([]byte{3, 0, 0, 0, 12, 1, 0, 0}); !errors.Is(err, ErrUnknownCritical) {
		t.Errorf("error %v, want %v", err, ErrUnknownCritical)
	}
	if _, err := ParseFrameHeader([]byte{3, 0, 0, 0, 12, 2, 0, 0}); !errors.Is(err, ErrUnknownCritical) {
		t.Errorf("flag of a later version: error %v, want %v", err, ErrUnknownCritical)
	}
}
