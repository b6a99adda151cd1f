package site_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/router/admin"
)

func TestAMessageOverWhichTheBrokerCutsTheConnectionIsNamedAndGoesOnOnceThatIsMended(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	cuts := func(a embedded.Arrival) embedded.Fate {
		if string(a.Body) == "deadly" {
			return embedded.FateLost
		}
		return embedded.FateNormal
	}
	nyc.fate.Store(&cuts)
	ams.publish("orders", 1, 20)
	ams.publishOne("orders", "orders.new", amqp.Publishing{Body: []byte("deadly")})
	ams.publish("orders", 21, 40)

	eventually(t, "the lane is held and names the message", func() bool {
		l := nyc.laneIn("ams/orders")
		return l.State == admin.Held && strings.Contains(l.Reason, ":21, of ") && strings.Contains(l.Fix, "log of this site's broker")
	})
	if diff := cmp.Diff(numbered(1, 20), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("at nyc before it is mended (-want +got):\n%s", diff)
	}
	nyc.parked(0)
	nyc.fate.Store(nil)

	ams.receipted("ams/orders", 41)
	want := append(append(numbered(1, 20), "deadly"), numbered(21, 40)...)
	if diff := cmp.Diff(want, firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.bodies("in"))
	ams.balanced()
	nyc.balanced()
}
