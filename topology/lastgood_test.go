package topology

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenCopy has a value in every field.
func goldenCopy(t *testing.T) lastGood {
	t.Helper()
	d, err := Parse("t", []byte(`federation: acme
sites: {ams: {listen: ["a:1"]}, nyc: {}}
routes:
  bills:
    id: invoices
    from: {site: ams, exchange: billing, keys: ["a.#", b], declare: {type: topic}}
    to: [{site: nyc}, {site: nyc, exchange: e, routing-key: k}, {site: nyc, queue: q}]
    class: bulk
    order: strict
    max-message-size: 1MiB
    max-hops: 3
    on-unroutable: hold
    on-missing-exchange: {declare: {type: fanout}}
    trust-user-id: true
  theirs:
    from: {site: ams, queue: theirs}
    to: [{site: nyc}]
`))
	if err != nil {
		t.Fatal(err)
	}
	gone := d.Routes()
	for i := range gone {
		gone[i].Digest = [32]byte{}
	}
	source := []byte("sites: {ams: {listen: [\"a:1\"]}, nyc: {}}\n")
	return lastGood{Stored{Version: 7, Source: source, Numbers: d.Numbers()}, OriginEtcd, gone,
		[]federation.Source{{Queue: "cq.out.invoices", Exchange: "billing", Keys: []string{"old"}}}}
}

func TestTheLastGoodCopyIsWrittenAsItsFormatSays(t *testing.T) {
	path, golden := filepath.Join(t.TempDir(), "copy"), "testdata/last-good-1.yaml"
	if err := writeLastGood(path, goldenCopy(t), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(string(want), string(got)))
	}
}

func TestALastGoodCopyOfFormat1IsRead(t *testing.T) {
	got, err := readLastGood("testdata/last-good-1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goldenCopy(t), got, cmp.AllowUnexported(lastGood{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALastGoodCopyOfAnotherFormatIsNotRead(t *testing.T) {
	text, err := os.ReadFile("testdata/last-good-1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, bytes.Replace(text, []byte(`"format":1`), []byte(`"format":2`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readLastGood(path); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("got %v, want a word about format 2", err)
	}
}
