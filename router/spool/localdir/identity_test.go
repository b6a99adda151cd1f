package localdir

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

var sample = spool.Identity{
	Store:  federation.StoreID{0x7f, 0x1c, 15: 0x01},
	Born:   time.UnixMilli(1764534000123),
	Epoch:  1764534000456,
	Former: []federation.StoreID{{0x09, 0xab, 15: 0x02}, {15: 0x03}},
}

func TestIdentityHasTheBytesOfTheGoldenFile(t *testing.T) {
	golden, err := os.ReadFile("testdata/STORE.v1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(encode(sample))); diff != "" {
		t.Errorf("encode (-golden +got):\n%s", diff)
	}
	got, err := parseIdentity(golden)
	if diff := cmp.Diff(sample, got); err != nil || diff != "" {
		t.Errorf("parse: %v (-want +got):\n%s", err, diff)
	}
}

func TestIdentityWithAnyBitFlippedIsRefused(t *testing.T) {
	golden := encode(sample)
	for bit := range 8 * len(golden) {
		b := bytes.Clone(golden)
		b[bit/8] ^= 1 << (bit % 8)
		if id, err := parseIdentity(b); !errors.Is(err, federation.ErrCorrupt) && !errors.Is(err, federation.ErrVersion) {
			t.Fatalf("bit %d flipped: got %+v, %v", bit, id, err)
		}
	}
}

func TestIdentityCutAnywhereIsRefused(t *testing.T) {
	golden := encode(sample)
	for n := range golden {
		if id, err := parseIdentity(golden[:n]); !errors.Is(err, federation.ErrCorrupt) && !errors.Is(err, federation.ErrVersion) {
			t.Fatalf("cut at %d: got %+v, %v", n, id, err)
		}
	}
}

func TestIdentityOfALaterVersionIsRefusedAsSuch(t *testing.T) {
	later := bytes.Replace(encode(sample), []byte("store 1"), []byte("store 2"), 1)
	if _, err := parseIdentity(later); !errors.Is(err, federation.ErrVersion) {
		t.Errorf("got %v, want ErrVersion", err)
	}
}

func TestIdentityWithAllItsFormerIDsFitsTheLimit(t *testing.T) {
	id := sample
	id.Former = make([]federation.StoreID, maxFormer)
	for i := range id.Former {
		id.Former[i][15] = byte(i)
	}
	b := encode(id)
	if _, err := parseIdentity(b); err != nil || len(b) > maxStoreFile {
		t.Errorf("%d bytes, limit %d, parse: %v", len(b), maxStoreFile, err)
	}
}

func FuzzParseIdentity(f *testing.F) {
	f.Add(encode(sample))
	f.Add(encode(spool.Identity{Store: sample.Store, Born: sample.Born}))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := parseIdentity(b)
		if err == nil && !bytes.Equal(encode(id), b) {
			t.Errorf("accepted %q, which encodes as %q", b, encode(id))
		}
	})
}
