package site_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"
)

func TestARouteIsAddedAndRemovedLiveWithoutTouchingAnother(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.declare("more", "")
	nyc.declare("more", "more-in")
	before := ams.laneOut("ams/orders").Since

	ams.world.apply(twoRoutes)
	ams.bound("cq.out.more")
	ams.publish("more", 1, 10)
	ams.receipted("ams/more", 10)
	accept := "accept-stranding: [" + ams.status().Topology.Digest[:12] + "]\n"
	ams.world.apply(accept + twoSites)
	late := ams.channel()
	returned := late.NotifyReturn(make(chan amqp.Return, 1000))
	eventually(t, "nothing is bound to the removed route's queue", func() bool {
		if err := errors.Join(late.Publish("more", "any", true, false, amqp.Publishing{Body: []byte("too late")})); err != nil {
			t.Fatal(err)
		}
		select {
		case <-returned:
			return true
		case <-time.After(100 * time.Millisecond): // routed: the router has not unbound its queue yet
			return false
		}
	})
	ams.publish("orders", 1, 10)

	ams.receipted("ams/orders", 10)
	if diff := cmp.Diff(numbered(1, 10), firsts(nyc.bodies("more-in"))[:10]); diff != "" {
		t.Errorf("more at nyc (-want +got):\n%s", diff)
	}
	if after := ams.laneOut("ams/orders").Since; !after.Equal(before) {
		t.Errorf("lane orders changed its state at %s, it was running since %s", after, before)
	}
}

func TestASiteIsAddedAndRemovedLiveWithoutTouchingAnother(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	w := ams.world
	before := ams.laneOut("ams/orders").Since
	w.add("sin")
	sin := w.sites["sin"]
	sin.declare("orders", "in")

	w.apply(threeSites)
	sin.start()
	ams.bound("cq.out.away")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/away", 10)
	w.apply("accept-stranding: [" + ams.status().Topology.Digest[:12] + "]\n" + twoSites)
	eventually(t, "ams has no link with sin any more", func() bool { return ams.linkTo("sin").Peer == "" })
	ams.publish("orders", 11, 20)
	ams.receipted("ams/orders", 20)

	for m, want := range map[*member]int{nyc: 20, sin: 10} {
		if diff := cmp.Diff(numbered(1, want), m.bodies("in")); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", m.id, diff)
		}
	}
	if after := ams.laneOut("ams/orders").Since; !after.Equal(before) {
		t.Errorf("lane orders changed its state at %s, it was running since %s", after, before)
	}
	ams.balanced()
}
