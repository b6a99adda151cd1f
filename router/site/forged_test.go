package site_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/router"
	"cloudqueue/router/admin"
)

func TestAMessageWithAPathThatNoSiteWroteIsParkedAndItsNeighboursGoOn(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")

	ams.publish("orders", 1, 3)
	ams.publishOne("orders", "orders.new", amqp.Publishing{Body: []byte("poison"), Headers: amqp.Table{"x-cq-path": []any{"Bad Site"}}})
	ams.publish("orders", 4, 6)

	parked := nyc.parked(1)
	ams.receipted("ams/orders", 7)
	if diff := cmp.Diff(numbered(1, 6), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if p := parked[0]; p.Reason != router.ReasonBadProperties || p.Offset != 4 {
		t.Errorf("parked: %+v", p)
	}
	ams.balanced()
	nyc.balanced()
}

func TestConsumersReadNothingInOurHeadersThatAPublisherWrote(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	forged := amqp.Table{"x-cq-duplicate": "no", "x-cq-user-id": "root", "x-cq-id": int32(1), "x-cq-origin": "mars", "x-cq-time": "never", "x-cq-path": []any{"ber"}, "mine": "kept"}
	ams.publishOne("orders", "orders.new", amqp.Publishing{Headers: forged})
	ams.receipted("ams/orders", 1)

	ch := nyc.channel()
	got, ok, err := ch.Get("in", true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	h := got.Headers
	if h["x-cq-duplicate"] != nil || h["x-cq-user-id"] != nil || h["x-cq-origin"] != "ams" || h["mine"] != "kept" {
		t.Errorf("headers %+v", h)
	}
	if path, _ := h["x-cq-path"].([]any); !slices.Equal(path, []any{"ber", "ams"}) {
		t.Errorf("path %v", path)
	}
	if _, isTime := h["x-cq-time"].(int64); !isTime || h["x-cq-id"] == int32(1) {
		t.Errorf("time %v, id %v", h["x-cq-time"], h["x-cq-id"])
	}
}

func TestAPathThatAPublisherWroteKeepsItsMessageFromNobodyAndIsCounted(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	for _, id := range []any{nil, "mars/orders@7:1", "ams/orders@7:1", "@"} {
		headers := amqp.Table{"x-cq-path": []any{"nyc", "sin", "ams"}}
		if id != nil {
			headers["x-cq-id"] = id
		}
		ams.publishOne("orders", "orders.new", amqp.Publishing{Body: []byte("forged"), Headers: headers})
	}
	ams.receipted("ams/orders", 4)

	if diff := cmp.Diff([]string{"forged", "forged", "forged", "forged"}, nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	told := slices.IndexFunc(ams.status().Refused, func(r admin.Refusal) bool { return r.What == "path" && r.Count.Count == 4 && r.Fix != "" })
	if told < 0 {
		t.Errorf("refused: %+v", ams.status().Refused)
	}
	ams.balanced()
	nyc.balanced()
}
