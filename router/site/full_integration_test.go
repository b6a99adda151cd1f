//go:build integration && linux

package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/router/admin"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/smalldisk"
)

// onSmallDisk puts the site's store on a file system of its own, of so many bytes.
func (m *member) onSmallDisk(size int) (mounted string) {
	t := m.world.t
	t.Helper()
	mounted = t.(*testing.T).TempDir()
	smalldisk.Mount(t, mounted, size)
	t.Cleanup(m.stopRouter)
	store := filepath.Join(mounted, "spool")
	if _, err := localdir.Init(store, m.home(), time.Now()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(m.dir(), "router.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m.write("router.yaml", string(text)+fmt.Sprintf("store: {url: \"file://%s\", lane-quota: 32MiB, segment-size: 1MiB}\n", store))
	return mounted
}

// names are the numbers that the bodies in a queue begin with.
func (m *member) names(queue string) []string {
	var out []string
	for _, body := range m.bodies(queue) {
		name, _, _ := strings.Cut(strings.TrimSuffix(body, "*"), " ")
		if strings.HasSuffix(body, "*") {
			name += "*"
		}
		out = append(out, name)
	}
	return out
}

func TestAStoreThatABacklogFillsHoldsItsLanesAndDrainsAndResumes(t *testing.T) {
	const messages = 700
	w := newWorld(t, "ams", "nyc")
	w.apply(twoSites)
	ams, nyc := w.sites["ams"], w.sites["nyc"]
	ams.onSmallDisk(32 << 20)
	ams.declare("orders", "")
	nyc.declare("orders", "in")
	ams.start()
	ams.bound("cq.out.orders")

	ams.publishNoise(1, messages, 64<<10)
	eventually(t, "status says that the store is full and the lane held, and what to do", func() bool {
		st, l := ams.status(), ams.laneOut("ams/orders")
		return st.Store.State == admin.Full && st.Store.Fix != "" && l.State == admin.Held && strings.Contains(l.Reason, "full") && l.Fix != ""
	})
	if l := ams.laneOut("ams/orders"); l.LastAssigned < 100 || l.LastAssigned >= messages {
		t.Errorf("%d messages are in the full store", l.LastAssigned)
	}
	ams.balanced()
	nyc.start() // what is stored drains: that makes room

	ams.receipted("ams/orders", messages)
	wellAgain(t, ams, nyc, messages)
}

func TestADiskThatSomebodyElseFillsIsSaidAndTheLaneGoesOnWhenThereIsSpace(t *testing.T) {
	ams, nyc := pair(t, twoSites)
	mounted := ams.onSmallDisk(32 << 20)
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	makeRoom := fill(t, mounted)
	ams.publish("orders", 11, 500)
	eventually(t, "store and lane say that it is the disk, not the quota, and what to do", func() bool {
		st, l := ams.status().Store, ams.laneOut("ams/orders")
		return st.State == admin.Full && l.State == admin.Held && saysDisk(st.Condition, mounted) && saysDisk(l.Condition, mounted)
	})
	makeRoom()

	eventually(t, "all have arrived", func() bool { return len(firsts(nyc.bodies("in"))) == 500 })
	ams.settled("ams/orders")
	wellAgain(t, ams, nyc, 500)
}

func saysDisk(c admin.Condition, mounted string) bool {
	return strings.Contains(c.Reason, "the disk of "+mounted) && strings.HasPrefix(c.Fix, "free space on the disk of "+mounted) && !strings.Contains(c.Fix, "quota")
}

// fill has somebody else fill a disk, until makeRoom.
func fill(t *testing.T, mounted string) (makeRoom func()) {
	t.Helper()
	ballast := filepath.Join(mounted, "ballast")
	smalldisk.Fill(t, ballast)
	return func() {
		t.Helper()
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
}

// wellAgain ends a story of a small disk: first to last are at nyc, in their order, unrepeated, and the books of both balance.
func wellAgain(t *testing.T, ams, nyc *member, last int) {
	t.Helper()
	if diff := cmp.Diff(numbered(1, last), firsts(nyc.names("in"))); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.names("in"))
	eventually(t, "status is well again", func() bool {
		return ams.status().Store.State == admin.Running && ams.laneOut("ams/orders").State == admin.Running &&
			nyc.status().Store.State == admin.Running && nyc.laneIn("ams/orders").State == admin.Running
	})
	ams.balanced()
	nyc.balanced()
}

func TestADestinationWhoseDiskIsFullSaysSoAndLosesNothingAndResumes(t *testing.T) {
	w := newWorld(t, "ams", "nyc")
	w.apply(twoSites)
	ams, nyc := w.sites["ams"], w.sites["nyc"]
	mounted := nyc.onSmallDisk(32 << 20)
	ams.declare("orders", "")
	nyc.declare("orders", "")
	nyc.bindQueue("in", "orders.new", "orders")
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	makeRoom := fill(t, mounted)
	ams.publish("orders", 11, 500)
	ams.publishOne("orders", "orders.unbound", amqp.Publishing{Body: make([]byte, 1<<20)}) // marks have a reserve, the parking has none
	ams.publish("orders", 501, 1000)
	eventually(t, "the destination says that its disk is full, what waits for it, and what to do; the origin keeps what is not receipted", func() bool {
		st, in, out := nyc.status().Store, nyc.laneIn("ams/orders"), ams.laneOut("ams/orders")
		return st.State == admin.Full && saysDisk(st.Condition, mounted) && in.State == admin.Held && strings.HasPrefix(in.Reason, "messages cannot be parked") && saysDisk(in.Condition, mounted) &&
			out.LastAssigned == 1001 && out.StoredMessages > 0
	})
	if l := nyc.laneIn("ams/orders"); l.Done > 500 || l.Parked != 0 {
		t.Errorf("done %d, with %d parked on a full disk", l.Done, l.Parked)
	}
	makeRoom()

	ams.receipted("ams/orders", 1001)
	if p := nyc.parked(1); p[0].Offset != 501 {
		t.Errorf("parked: %+v", p)
	}
	wellAgain(t, ams, nyc, 1000)
}
