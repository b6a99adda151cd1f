package site_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
)

// twin makes a member of the same site and broker, with a folder and a port of its own and a copy of the store.
func (m *member) twin() *member {
	w := m.world
	w.t.Helper()
	twin := &member{world: w, id: m.id, broker: m.broker, amqp: m.amqp, port: freePort(w.t), folder: string(m.id) + "-twin"}
	if err := os.CopyFS(twin.dir(), os.DirFS(m.dir())); err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(twin.dir(), "router.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), fmt.Sprintf("127.0.0.1:%d", m.port), fmt.Sprintf("127.0.0.1:%d", twin.port), 1))
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.Chmod(filepath.Join(twin.dir(), "site.key"), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	return twin
}

// cloned tells whether a router's link to nyc is refused because of its cloned store, with what to type.
func cloned(m *member) bool {
	l := m.linkTo("nyc")
	return l.State != admin.Running && strings.Contains(l.Reason, "cloned") && strings.Contains(l.Reason+l.Fix, "cloudqueue spool reseal")
}

func TestOfTwoRoutersOnCopiesOfOneStoreOneIsFencedAndResealMendsIt(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 20)
	ams.receipted("ams/orders", 20)
	ams.stopRouter()
	copied := ams.twin()
	ams.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 21, 40)
	ams.receipted("ams/orders", 40)
	eventually(t, "ams has a link", func() bool { return ams.linkTo("nyc").State == admin.Running })

	copied.start() // of the same epoch or a later one, and behind

	eventually(t, "one of the two is fenced, and status says what to type", func() bool { return cloned(copied) || cloned(ams) })
	fenced, other := copied, ams
	if cloned(ams) {
		fenced, other = ams, copied
	}
	if cloned(other) {
		t.Error("both are fenced")
	}
	fenced.stopRouter()
	other.stopRouter()
	fenced.reseal()
	fenced.start()
	fenced.bound("cq.out.orders")
	fenced.publish("orders", 41, 60)

	eventually(t, "the later messages arrive", func() bool { return len(firsts(nyc.bodies("in"))) == 60 })
	if diff := cmp.Diff(numbered(1, 60), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("first appearances at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.bodies("in"))
	fenced.balanced()
	nyc.balanced()
}
