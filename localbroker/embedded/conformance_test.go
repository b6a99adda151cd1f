package embedded

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The embedded broker answers every script as RabbitMQ did when it was recorded. It runs in a bubble with virtual time, so
// that also nothing of it may be left when it is closed.
func TestAnswersAsRabbitMQDoes(t *testing.T) {
	for _, file := range scriptFiles(t) {
		for _, s := range readScripts(t, file) {
			t.Run(filepath.Base(file)+"/"+s.name, func(t *testing.T) { playEmbedded(t, s) })
		}
	}
}

func playEmbedded(t *testing.T, s *script) {
	cfg := Config{Limits: Limits{MessageBytes: 1 << 20}}
	onStage(t, cfg, func(stage *stage) { compareAnswers(stage.t, s, stage.play(s)) })
}

// checkEmpty checks that a closed broker holds nothing.
func checkEmpty(t testing.TB, b *Broker) {
	t.Helper()
	checkInvariants(t, b)
	if left := len(b.queues) + len(b.connections) + len(b.replies) + int(b.held) + b.open; left != 0 {
		t.Errorf("after close: %d queues, %d connections, %d reply consumers, %d bytes, %d open",
			len(b.queues), len(b.connections), len(b.replies), b.held, b.open)
	}
}

// pipe is a connection to the broker without a network.
func pipe(ctx context.Context, b *Broker) net.Conn {
	client, server := net.Pipe()
	go b.ServeConn(ctx, server)
	return client
}

func compareAnswers(t *testing.T, s *script, got [][]string) {
	t.Helper()
	for i, b := range s.blocks {
		if diff := cmp.Diff(compared(s, b.answers), compared(s, got[i]), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after %q (-RabbitMQ +here):\n%s", b.command, diff)
		}
	}
}
