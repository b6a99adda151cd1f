//go:build integration

package localbroker_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/sim/parts"
)

// The node is the test's own: it makes users.
func TestRealInspectFindsEachPermissionThatAUserLacks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	node, err := parts.StartRabbitMQ(ctx, parts.RabbitMQConfig{Name: "rights", Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(node.Close)
	service, err := amqp.Dial(node.URL())
	must(t, err)
	defer service.Close()
	ch, err := service.Channel()
	must(t, err)
	for _, exchange := range []string{"orders", "audit"} {
		must(t, ch.ExchangeDeclare(exchange, "fanout", true, false, false, false, nil))
	}
	for _, queue := range []string{"cq.out.orders", "services"} {
		_, err := ch.QueueDeclare(queue, true, false, false, false, nil)
		must(t, err)
	}
	must(t, ch.QueueBind("services", "", "audit", false, nil))
	const (
		declare = "permission to declare cq.*"
		read    = "permission to read cq.*"
		bind    = `permission to bind cq.* to exchange "orders"`
		publish = `permission to publish to exchange "audit"`
		ours    = `queue "cq.out.orders"`
	)
	for _, user := range []struct {
		name                   string
		configure, write, read string
		broken                 map[string]string // by subject, what the broker's words name
	}{
		{"whole", `^cq\.`, ".*", ".*", map[string]string{}},
		{"nothing", "^$", "^$", "^$", map[string]string{declare: "'cq.doctor.", ours: "'cq.out.orders'"}},
		{"reader", `^cq\.`, `^cq\.`, ".*", map[string]string{publish: "'audit'"}},
		{"writer", `^cq\.`, ".*", `^cq\.`, map[string]string{bind: "'orders'"}},
		{"binder", `^cq\.`, "^audit$", ".*", map[string]string{bind: "'cq.doctor."}},
		{"blind", `^cq\.`, ".*", "^orders$", map[string]string{read: "'cq.doctor."}},
	} {
		t.Run(user.name, func(t *testing.T) {
			for _, words := range [][]string{{"add_user", user.name, "secret"}, {"set_permissions", "-p", "/", user.name, user.configure, user.write, user.read}} {
				_, err := node.Control(ctx, words...)
				must(t, err)
			}
			b, err := localbroker.New(localbroker.Config{URL: "amqp://" + node.Address() + "/", Username: user.name, Password: "secret", Site: "ams"})
			must(t, err)

			found := b.Inspect(ctx, localbroker.Wish{Sources: []federation.Source{{Queue: "cq.out.orders", Exchange: "orders", Keys: []string{"#"}}}, Exchanges: []string{"audit"}})

			broken := map[string]string{}
			for _, f := range found {
				if f.Level != localbroker.Broken {
					continue
				}
				broken[f.Subject] = f.Text
				if want := user.broken[f.Subject]; want != "" && strings.Contains(f.Text, "ACCESS_REFUSED") && strings.Contains(f.Text, want) {
					broken[f.Subject] = want
				}
				if !strings.Contains(f.Fix, "rabbitmqctl set_permissions") {
					t.Errorf("%s: what to do is %q", f.Subject, f.Fix)
				}
			}
			if diff := cmp.Diff(user.broken, broken); diff != "" {
				t.Errorf("broken (-want +got):\n%s", diff)
			}
		})
	}
	left, err := node.Control(ctx, "list_queues", "name", "messages")
	must(t, err)
	if strings.Contains(left, "cq.doctor") || !strings.Contains(left, "services\t0") {
		t.Errorf("the inspection left or sent something:\n%s", left)
	}
}

func TestRealInspectSaysThatALoginIsRefused(t *testing.T) {
	address, err := url.Parse(testURL(t))
	must(t, err)
	b, err := localbroker.New(localbroker.Config{URL: "amqp://" + address.Host + "/", Username: "guest", Password: "wrong", Site: "ams"})
	must(t, err)

	found := b.Inspect(t.Context(), localbroker.Wish{})

	if len(found) != 1 || found[0].Level != localbroker.Broken || !strings.Contains(found[0].Text, "refuses the user name or the password") || !strings.Contains(found[0].Fix, "rabbitmqctl authenticate_user") {
		t.Errorf("%+v", found)
	}
}
