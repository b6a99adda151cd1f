package localbroker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

func TestInspectFindsWhatAMQPShowsAndSaysWhatItDoesNot(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.declareTopic()
		ch := w.service()
		for name, args := range map[string]amqp.Table{"cq.out.good": nil, "cq.out.short": {"x-max-length": int64(5)}, "legacy": nil, "shared": nil} {
			_, err := ch.QueueDeclare(name, true, false, false, false, args)
			must(t, err)
		}
		_, err := ch.Consume("shared", "somebody", false, false, false, false, nil)
		must(t, err)
		found := w.ours.Inspect(w.ctx, localbroker.Wish{
			Sources: []federation.Source{{Queue: "cq.out.good", Exchange: "orders"}, {Queue: "cq.out.short", Exchange: "orders"}, {Queue: "cq.out.fresh", Exchange: "made", Declare: "topic"},
				{Queue: "legacy"}, {Queue: "shared"}, {Queue: "gone"}},
			Exchanges: []string{"", "orders", "absent"},
		})
		levels := map[string]string{}
		for _, f := range found {
			levels[f.Subject] = f.Level.String()
			if f.Level != localbroker.Good && f.Fix == "" {
				t.Errorf("nothing to do about %+v", f)
			}
		}
		want := map[string]string{
			"connection": "good", `exchange "orders"`: "good", `exchange "made"`: "good", `exchange "absent"`: "broken",
			`queue "cq.out.good"`: "good", `queue "cq.out.short"`: "unsafe", `queue "cq.out.fresh"`: "good",
			`queue "legacy"`: "good", `queue "shared"`: "unseen", `queue "gone"`: "broken",
			`owner lock "cq.owner.ams.0"`: "good",
			"permission to declare cq.*":  "good", "permission to read cq.*": "good", `permission to bind cq.* to exchange "orders"`: "good",
			`permission to publish to exchange "orders"`: "good", "other permissions": "unseen",
			"policies and arguments": "unseen", "consumer timeout": "unseen",
		}
		if diff := cmp.Diff(want, levels); diff != "" {
			t.Fatal(diff)
		}
		for _, queue := range w.broker.Queues() {
			if strings.HasPrefix(queue.Name, "cq.doctor.") {
				t.Errorf("%s is left", queue.Name)
			}
		}
		for _, name := range []string{"cq.out.fresh", "gone", "cq.owner.ams.0"} {
			if _, exists := w.broker.Queue(name); exists {
				t.Errorf("%s was declared", name)
			}
		}
	})
}

func TestInspectOfAnAbsentBrokerSaysSo(t *testing.T) {
	b, err := localbroker.New(localbroker.Config{URL: "amqp://127.0.0.1:1/", Site: "ams"})
	must(t, err)
	found := b.Inspect(t.Context(), localbroker.Wish{})
	if len(found) != 1 || found[0].Level != localbroker.Broken || !strings.Contains(found[0].Text, "refused") || found[0].Fix == "" {
		t.Fatalf("%+v", found)
	}
}
