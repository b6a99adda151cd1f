package etcd

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
)

var update = flag.Bool("update", false, "write the golden files anew")

func example() topology.Stored {
	queue := "orders-in"
	return topology.Stored{Version: 7, Source: []byte("sites: {}\n"), Author: "ann", Comment: "first\nsecond", Applied: time.UnixMilli(1764534000123).UTC(),
		Numbers: topology.Numbers{"orders": {{Site: "nyc"}, {Site: "sin", Target: 1, Queue: queue}}}}
}

func TestValueGivesBackWhatWasStored(t *testing.T) {
	for name, want := range map[string]topology.Stored{"example": example(), "without numbers": {Version: 1, Source: []byte("a"), Applied: time.UnixMilli(1).UTC()}} {
		value, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(value)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestALongCommentIsCutAtTheEndOfACharacter(t *testing.T) {
	value, err := encode(topology.Stored{Version: 1, Source: []byte("a"), Comment: strings.Repeat("€", maxText)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(value)
	if want := strings.Repeat("€", maxText/3); err != nil || got.Comment != want {
		t.Errorf("%d bytes that end in %q, want %d; %v", len(got.Comment), got.Comment[len(got.Comment)-4:], len(want), err)
	}
}

// The golden file is what a version has written: it must be readable for ever. (What gzip writes may differ from one Go to the next.)
func TestValueOfFormat1StaysReadable(t *testing.T) {
	path := filepath.Join("testdata", "format-1.value")
	if *update {
		value, err := encode(example())
		if err = errors.Join(err, os.WriteFile(path, value, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	value, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Errorf("golden value (-want +got):\n%s", diff)
	}
}

func TestDecodeRefusesWhatItCannotTrust(t *testing.T) {
	good, err := encode(example())
	if err != nil {
		t.Fatal(err)
	}
	line, zipped, _ := bytes.Cut(good, []byte("\n"))
	join := func(line string, zipped []byte) []byte { return append([]byte(line+"\n"), zipped...) }
	for name, c := range map[string]struct {
		value []byte
		want  error
	}{
		"nothing":             {nil, ErrDamaged},
		"no line":             {[]byte("sites: {}"), ErrDamaged},
		"no JSON":             {join("sites:", zipped), ErrDamaged},
		"a later format":      {join(`{"format":2}`, zipped), ErrFormat},
		"a long line":         {join(`{"format":1,"comment":"`+strings.Repeat("x", maxHead)+`"}`, zipped), ErrDamaged},
		"negative numbers":    {join(`{"format":1,"numbers-length":-1}`, zipped), ErrDamaged},
		"too many numbers":    {join(`{"format":1,"numbers-length":99999999}`, zipped), ErrDamaged},
		"no gzip":             {join(string(line), []byte("x")), ErrDamaged},
		"half":                {good[:len(good)-9], ErrDamaged},
		"another digest":      {join(strings.Replace(string(line), `"sha256":"`, `"sha256":"0`, 1), zipped), ErrDamaged},
		"version 0":           {join(strings.Replace(string(line), `"version":7`, `"version":0`, 1), zipped), ErrDamaged},
		"a bomb":              {join(`{"format":1,"version":1,"numbers-length":4}`, bomb(t)), ErrDamaged},
		"numbers of no shape": {join(strings.Replace(string(line), `"numbers-length":`, `"numbers-length":1`, 1), zipped), ErrDamaged},
	} {
		if _, err := decode(c.value); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	for i := range good { // the gzip checksum or the digest finds every flip that matters
		flipped := bytes.Clone(good)
		flipped[i] ^= 0x10
		if got, err := decode(flipped); err == nil && (!bytes.Equal(got.Source, example().Source) || got.Version == 0) {
			t.Errorf("a flip at byte %d gave %q", i, got.Source)
		}
	}
}

func bomb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestValueThatDoesNotFitIsRefused(t *testing.T) {
	noise := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)

	_, err := encode(topology.Stored{Version: 1, Source: noise})

	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("a megabyte of noise gave %v, want %v", err, ErrTooLarge)
	}
}

func TestTopologyOfTheLargestSourceFits(t *testing.T) {
	var b strings.Builder
	b.WriteString("sites: {ams: {listen: [ams:1]}, nyc: {}}\nroutes:\n")
	for i := 0; b.Len() < 1<<20-100; i++ {
		fmt.Fprintf(&b, "  route-%d: {from: {site: ams, exchange: e%x, keys: ['k.%d.#']}, to: [{site: nyc, queue: q-%x}]}\n", i, i*i, i, i*i*i)
	}
	d, err := topology.Parse("t", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	value, err := encode(topology.Stored{Version: 1, Source: d.Source(), Numbers: d.Numbers()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d routes, %d bytes: %d bytes in etcd", len(d.Routes()), b.Len(), len(value))
}

func FuzzDecodeGivesBackOnlyWhatHasItsDigest(f *testing.F) {
	good, err := encode(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":1,"version":1,"sha256":"","numbers-length":4}` + "\n"))
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := decode(value)
		if err != nil {
			return
		}
		if digest := fmt.Sprintf("%x", s.Digest()); !bytes.Contains(value, []byte(digest)) {
			t.Errorf("decoded a document with the digest %s, which is not in the value", digest)
		}
	})
}
