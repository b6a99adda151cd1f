package localdir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

var sample = spool.Identity{
	Home:   spool.Home{Site: "ams", Federation: "acme"},
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

func TestIdentityOfASiteOrFederationWithoutAProperNameIsRefused(t *testing.T) {
	for _, name := range []string{"", "Ams", "ams.nl", "ams ", "ams\nid 00", strings.Repeat("a", 64)} {
		for _, home := range []spool.Home{{Site: federation.SiteID(name), Federation: "acme"}, {Site: "ams", Federation: name}} {
			id := sample
			id.Home = home
			if got, err := parseIdentity(encode(id)); !errors.Is(err, federation.ErrCorrupt) {
				t.Errorf("%q: read as %+v, %v", home, got, err)
			}
			if made, err := Init(filepath.Join(t.TempDir(), "spool"), home, sample.Born); err == nil {
				t.Errorf("%q: made as %+v", home, made)
			}
		}
	}
}

// The recipe of docs/formats-spool.md for a store whose STORE is lost, and of which there is no backup.
func TestIdentityIsWrittenAgainFromTheHeadersOfTheSegments(t *testing.T) {
	path, _ := newStore(t)
	writeSegment(t, path)
	if _, err := NewID(path, birth.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	want := writeSegment(t, path)
	segments, err := filepath.Glob(filepath.Join(path, "*.seg"))
	if err != nil || len(segments) < 2 {
		t.Fatalf("segments %v, %v", segments, err)
	}

	got := spool.Identity{Home: home}
	for _, name := range segments {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if id := federation.StoreID(b[8:24]); id != got.Store {
			if !got.Store.IsZero() {
				got.Former = append(got.Former, got.Store)
			}
			got.Store = id
		}
		got.Born, got.Epoch = time.UnixMilli(int64(binary.LittleEndian.Uint64(b[24:]))), federation.Epoch(binary.LittleEndian.Uint64(b[32:]))
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-lost +written again):\n%s", diff)
	}
}

// writeSegment opens the store as a router does, and closes it; it gives its identity.
func writeSegment(t *testing.T, path string) spool.Identity {
	t.Helper()
	sp, err := spool.Open(t.Context(), open(t, path), spool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- sp.Run(t.Context()) }()
	record := spool.AuditRecord{Who: "test", What: "something to keep", At: birth}
	if err := errors.Join(sp.Commit(t.Context(), record), sp.Close(t.Context()), <-ran); err != nil {
		t.Fatal(err)
	}
	return sp.Identity()
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
	f.Add(encode(spool.Identity{Home: sample.Home, Store: sample.Store, Born: sample.Born}))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := parseIdentity(b)
		if err == nil && !bytes.Equal(encode(id), b) {
			t.Errorf("accepted %q, which encodes as %q", b, encode(id))
		}
	})
}
