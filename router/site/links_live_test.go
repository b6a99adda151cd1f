package site_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
)

// oneLink has sin among its sites and no link with it; twoLinks adds the link, with a route over it.
const (
	oneLink = threeSitesAlone + `links:
  - {between: [ams, nyc]}
` + "routes:\n" + ordersToNyc
	twoLinks = threeSitesAlone + `links:
  - {between: [ams, nyc]}
  - {between: [ams, sin]}
` + "routes:\n" + ordersToNyc + `  away:
    from: {site: ams, exchange: more, keys: ["#"]}
    to: [{site: sin}]
`
)

// sinces are the times since when what carries lane orders is as it is, at both of its sites.
func sinces(ams, nyc *member) map[string]time.Time {
	out := ams.laneOut("ams/orders")
	since := map[string]time.Time{"lane out": out.Since, "lane in": nyc.laneIn("ams/orders").Since,
		"link at ams": ams.linkTo("nyc").Since, "link at nyc": nyc.linkTo("ams").Since}
	for _, d := range out.Destinations {
		since["destination "+d.Destination] = d.Since
	}
	return since
}

// trickle publishes some 2,000 messages a second until stop is called, which tells how many there were.
func (m *member) trickle(exchange string) (stop func() int) {
	m.world.t.Helper()
	ch := m.confirming()
	over, last := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { last <- n }()
		for {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
				m.publishOn(ch, exchange, n+1, n+20)
				n += 20
			}
		}
	}()
	return func() int {
		close(over)
		return <-last
	}
}

// publishRouted publishes each message until a queue takes it: one of a route that was removed is bound again a little later than it is consumed.
func (m *member) publishRouted(exchange string, first, last int) {
	m.world.t.Helper()
	ch := m.confirming()
	returned := ch.NotifyReturn(make(chan amqp.Return, 1))
	for i := first; i <= last; i++ {
		eventually(m.world.t, "a queue takes the message", func() bool {
			m.publishOn(ch, exchange, i, i)
			select {
			case <-returned:
				return false
			default:
				return true
			}
		})
	}
}

// flows waits until more messages of a stream have arrived.
func (m *member) flows() {
	m.world.t.Helper()
	before, _ := m.broker.Queue("in")
	eventually(m.world.t, "the stream goes on at "+string(m.id), func() bool {
		q, _ := m.broker.Queue("in")
		return q.Ready >= before.Ready+200
	})
}

func TestALinkIsAddedAndRemovedLiveWhileAStreamRunsOnAnother(t *testing.T) {
	w := newWorld(t, "ams", "nyc", "sin")
	w.apply(oneLink)
	ams, nyc, sin := w.sites["ams"], w.sites["nyc"], w.sites["sin"]
	ams.declare("orders", "")
	ams.declare("more", "")
	nyc.declare("orders", "in")
	sin.declare("more", "in")
	for _, m := range w.sites {
		m.start()
	}
	ams.bound("cq.out.orders")
	stop := ams.trickle("orders")
	nyc.flows()
	before := sinces(ams, nyc)

	for round := range 2 {
		w.apply(twoLinks)
		ams.bound("cq.out.away")
		ams.publishRouted("more", 10*round+1, 10*round+10)
		ams.receipted("ams/away", federation.Offset(10*round+10))
		nyc.flows()
		w.apply("accept-stranding: [" + ams.status().Topology.Digest[:12] + "]\n" + oneLink)
		eventually(t, "the link is gone at both ends", func() bool { return ams.linkTo("sin").Peer == "" && sin.linkTo("ams").Peer == "" })
		nyc.flows()
	}
	published := stop()

	eventually(t, "the stream has arrived", func() bool { return len(nyc.bodies("in")) >= published })
	ams.settled("ams/orders")
	if diff := cmp.Diff(before, sinces(ams, nyc)); diff != "" {
		t.Errorf("what the other link and lane are since (-before +after):\n%s", diff)
	}
	for m, want := range map[*member]int{nyc: published, sin: 20} {
		if diff := cmp.Diff(numbered(1, want), m.bodies("in")); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", m.id, diff)
		}
		m.balanced()
	}
	ams.balanced()
}
