package site_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// spoil changes a byte of a batch on the site's disk; its body no codec has changed.
func (m *member) spoil(body string) {
	t := m.world.t
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(m.storeDir(), "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range segments {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(text, []byte(body)); at >= 0 {
			m.overwrite(path, int64(at), text[at]^1)
			return
		}
	}
	t.Fatalf("%q is in none of %d segments", body, len(segments))
}

func (m *member) overwrite(path string, at int64, b byte) {
	t := m.world.t
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{b}, at); err != nil {
		t.Fatal(err)
	}
}

var printedVoid = regexp.MustCompile(`cloudqueue spool void (\S+) (\d+)-(\d+) --reason (\S+)`)

// typed does what a printed `spool void` asks for.
func (m *member) typed(fix string) *admin.VoidResult {
	t := m.world.t
	t.Helper()
	words := printedVoid.FindStringSubmatch(fix)
	if words == nil {
		t.Fatalf("there is nothing to type in %q", fix)
	}
	first, _ := strconv.ParseUint(words[2], 10, 64)
	last, _ := strconv.ParseUint(words[3], 10, 64)
	result, err := m.client().Void(t.Context(), admin.VoidRequest{Lane: words[1], First: federation.Offset(first), Last: federation.Offset(last), Reason: words[4], Who: "test"})
	if err != nil {
		t.Fatalf("%s: %v", words[0], err)
	}
	return result
}

func TestABatchThatIsCorruptOnDiskIsHeldUntilThePrintedVoidIsTypedAndItsNeighboursGoOn(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()
	for i := 1; i <= 20; i++ { // a batch each
		ams.publish("orders", i, i)
		eventually(t, "ams has stored it", func() bool { return ams.laneOut("ams/orders").LastAssigned == federation.Offset(i) })
	}
	ams.stopRouter() // what it sends comes from the disk
	ams.start()
	eventually(t, "the router answers", func() bool { return ams.laneOut("ams/orders").LastAssigned == 20 })

	ams.spoil("m10") // beneath the running router
	nyc.start()
	var held admin.OutDestination
	eventually(t, "the lane stands at what is corrupt, and says what to type", func() bool {
		l := ams.laneOut("ams/orders")
		held = l.Destinations[0]
		return held.State == admin.Held && held.Receipted == 9 && printedVoid.MatchString(held.Fix)
	})
	if s := ams.status().Store; s.State != admin.Corrupt || len(s.Quarantined) != 1 {
		t.Errorf("store %+v", s)
	}
	if result := ams.typed(held.Fix); result.Messages != 1 || !result.Durable {
		t.Errorf("void %+v", result)
	}

	ams.receipted("ams/orders", 20)
	if diff := cmp.Diff(append(numbered(1, 9), numbered(11, 20)...), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if l := nyc.laneIn("ams/orders"); l.Voided != 1 || l.Delivered != 19 {
		t.Errorf("at nyc: %+v", l.Counters)
	}
	eventually(t, "the store is well again", func() bool { return ams.status().Store.State == admin.Running })
	ams.balanced()
	nyc.balanced()
}
