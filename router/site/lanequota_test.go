package site_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/router/admin"
)

const aDeadAndALivingDestination = threeSitesAlone + "routes:\n" + ordersToNyc + `  more:
    from: {site: ams, exchange: more, keys: ["#"]}
    to: [{site: sin}]
`

// publishNoise publishes messages whose bodies no codec makes smaller; each begins with its number.
func (m *member) publishNoise(first, last, size int) {
	t := m.world.t
	t.Helper()
	ch := m.channel()
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	for i := first; i <= last; i++ {
		body := fmt.Appendf(nil, "m%d ", i)
		body = append(body, make([]byte, size)...)
		noise.Read(body[len(body)-size:])
		c, err := ch.PublishWithDeferredConfirm("orders", "orders.new", true, false, amqp.Publishing{Body: body, DeliveryMode: 2})
		if err != nil {
			t.Fatal(err)
		}
		if !c.Wait() {
			t.Fatal("the broker refuses a message")
		}
	}
}

// configure adds to the site's router file.
func (m *member) configure(text string) {
	m.world.t.Helper()
	before, err := os.ReadFile(filepath.Join(m.dir(), "router.yaml"))
	if err != nil {
		m.world.t.Fatal(err)
	}
	m.write("router.yaml", string(before)+text)
}

func TestTheBacklogOfADeadDestinationFillsItsLanesQuotaAndOtherLanesGoOn(t *testing.T) {
	const messages = 160 // 10 MiB: more than half of the quota, and less than all of it without the reserve
	w := newWorld(t, "ams", "nyc", "sin")
	w.apply(aDeadAndALivingDestination)
	ams, nyc, sin := w.sites["ams"], w.sites["nyc"], w.sites["sin"]
	ams.configure("store: {quota: 16MiB, segment-size: 1MiB}\n")
	ams.declare("orders", "")
	ams.declare("more", "")
	nyc.declare("orders", "in")
	sin.declare("more", "in")
	ams.start()
	sin.start()
	ams.bound("cq.out.orders")
	ams.bound("cq.out.more")

	ams.publishNoise(1, messages, 64<<10)

	eventually(t, "the lane is held and says what to type", func() bool {
		l := ams.laneOut("ams/orders")
		return l.State == admin.Held && strings.Contains(l.Reason, "the lane's quota is used up") && strings.Contains(l.Fix, "store.lane-quota")
	})
	if s := ams.status().Store; s.State != admin.Running {
		t.Errorf("store %+v, with room for others", s)
	}
	ams.publish("more", 1, 100)
	ams.receipted("ams/more", 100)
	if diff := cmp.Diff(numbered(1, 100), sin.bodies("in")); diff != "" {
		t.Errorf("at sin (-want +got):\n%s", diff)
	}

	nyc.start()

	eventually(t, "the lane goes on and drains", func() bool {
		l := ams.laneOut("ams/orders")
		return l.State == admin.Running && l.LastAssigned >= messages && l.Destinations[0].Receipted == l.LastAssigned && ams.status().Store.UsedBytes < 8<<20
	})
}
