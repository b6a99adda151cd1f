package federation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var codecs = map[string]Codec{"none": CodecNone, "s2": CodecS2, "zstd": CodecZstd}

func TestOpenGivesWhatWasSealed(t *testing.T) {
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			want := append(sampleEntries(), events(20)...)
			sealed := mustSeal(t, sampleHeader(), want, codec)

			parsed, err := ParseBatch(sealed.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sealed.Header, parsed.Header); diff != "" {
				t.Errorf("header as sealed and as read (-sealed +read):\n%s", diff)
			}
			if parsed.Header.Codec != codec {
				t.Errorf("codec %d, want %d", parsed.Header.Codec, codec)
			}
			got, err := parsed.Open(mustCoder(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("entries (-sealed +opened):\n%s", diff)
			}
		})
	}
}
