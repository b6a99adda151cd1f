package federation

import (
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
