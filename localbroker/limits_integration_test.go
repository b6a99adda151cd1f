//go:build integration

package localbroker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/sim/parts"
)

// The node is the test's own: it sets limits.
func TestRealLimitsOfChannelsAndConnectionsSayWhatToRaise(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	node, err := parts.StartRabbitMQ(ctx, parts.RabbitMQConfig{Name: "limits", Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(node.Close)
	for _, c := range []struct {
		limit     string
		set, undo []string
		fix       string
	}{
		{"channels of a user", []string{"set_user_limits", "guest", `{"max-channels": 0}`}, []string{"clear_user_limits", "guest", "all"}, "max-channels"},
		{"connections of a user", []string{"set_user_limits", "guest", `{"max-connections": 0}`}, []string{"clear_user_limits", "guest", "all"}, "max-connections"},
		{"connections of a vhost", []string{"set_vhost_limits", "-p", "/", `{"max-connections": 0}`}, []string{"clear_vhost_limits", "-p", "/"}, "max-connections"},
		{"channels of a connection", []string{"eval", "application:set_env(rabbit, channel_max, 3)."}, []string{"eval", "application:set_env(rabbit, channel_max, 2047)."}, "channel_max"},
	} {
		t.Run(c.limit, func(t *testing.T) {
			_, err := node.Control(ctx, c.set...)
			must(t, err)
			defer func() { _, err := node.Control(ctx, c.undo...); must(t, err) }()
			b, err := localbroker.New(localbroker.Config{URL: "amqp://" + node.Address() + "/", Site: "ams"})
			must(t, err)
			running, stop := context.WithCancel(ctx)
			ran := make(chan error, 1)
			go func() { ran <- b.Run(running) }()
			defer func() { stop(); <-ran }()

			said := untilOneSays(running, b, c.fix)

			if !strings.Contains(said.Fix, c.fix) {
				t.Errorf("%+v; %+v", said, b.Status())
			}
			t.Log(said.State, said.Reason)
		})
	}
}

// untilOneSays has six publishers acquire at the same time, and gives the first state whose fix has the words.
func untilOneSays(ctx context.Context, b *localbroker.Broker, words string) (said federation.PartState) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	states := make([]func() federation.PartState, 0, 8)
	for i := range uint32(6) {
		p := b.Publisher(i)
		go func() { _, _ = p.Acquire(ctx, false) }()
		states = append(states, p.State)
	}
	states = append(states, func() federation.PartState { return b.Status().Consuming }, func() federation.PartState { return b.Status().Publishing })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		for _, state := range states {
			if said = state(); strings.Contains(said.Fix, words) {
				return said
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return said
		}
	}
}
