package site_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cloudqueue/router/admin"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestTheTopologyIsOfEtcdAgainAfterARestartAndNotOfTheCopy(t *testing.T) {
	w := newWorld(t, "ams", "nyc")
	d := w.directory()
	d.apply(twoSites, 0)
	ams := w.sites["ams"]
	ams.declare("orders", "")
	ams.start()
	eventually(t, "the topology is in force", func() bool { return ams.status().Topology.Version == 1 })
	d.stop()
	ams.stopRouter()
	ams.start()
	eventually(t, "the copy is in force", func() bool { return ams.status().Topology.Origin == "last-good" })

	d.start()

	eventually(t, "etcd confirms it", func() bool {
		return ams.status().Topology.Origin == "etcd" && ams.status().Topology.State == admin.Running
	})
}

func TestStatusNamesWhatEveryPartRunsOn(t *testing.T) {
	ams, nyc := running(t, twoSites, "orders.#")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	s := ams.status()
	if s.Broker.Product == "" || s.Broker.Version == "" {
		t.Errorf("broker %+v", s.Broker)
	}
	if l := s.Links[0]; len(l.Addresses) != 1 || l.Remote != l.Addresses[0] || l.PeerStore != nyc.status().Store.ID {
		t.Errorf("link %+v", l)
	}
	if l := s.Out[0]; l.LastIn.IsZero() || l.Since.IsZero() || l.Destinations[0].Since.IsZero() {
		t.Errorf("lane %+v", l)
	}
	for part, c := range map[string]admin.Condition{"store": s.Store.Condition, "topology": s.Topology.Condition, "listener": s.Listener.Condition, "parking": s.Parking.Condition} {
		if c.State != admin.Running || c.Since.IsZero() {
			t.Errorf("%s: %+v", part, c)
		}
	}

	nyc.stopRouter()
	ams.publish("orders", 11, 15)

	eventually(t, "the backlog is the link's too", func() bool {
		l := ams.status().Links[0]
		return l.BacklogMessages == 5 && l.BacklogBytes > 0 && strings.Contains(l.Reason, "nyc stopped cleanly; waiting for it")
	})
}

func TestParkedMessagesNeedAttention(t *testing.T) {
	ams, nyc := running(t, twoSites, "orders.new")
	ams.publishOne("orders", "orders.unbound", amqp.Publishing{Body: []byte("1")})
	ams.receipted("ams/orders", 1)

	p := nyc.status().Parking
	if p.State != admin.Held || p.Fix == "" || p.Since.IsZero() || p.Messages != 1 || p.Reasons[0].Last.IsZero() || p.Reasons[0].Detail == "" {
		t.Errorf("parking %+v", p)
	}
	if n := len(ams.status().Problems()); n != 0 {
		t.Errorf("at the origin: %+v", ams.status().Problems())
	}
}

func TestAStatusHasNoListThatIsNull(t *testing.T) {
	w := newWorld(t, "ams")
	w.apply("sites: {ams: {}}\n")
	ams := w.sites["ams"]
	ams.start()
	eventually(t, "the router answers", func() bool { return ams.status().Site == "ams" })

	b, err := json.Marshal(ams.status())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "null") {
		t.Errorf("%s", b)
	}
}
