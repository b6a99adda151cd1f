package localbroker_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/localbroker"
)

func TestStatusNamesTheBrokerAndTheNextAttempt(t *testing.T) {
	var away atomic.Bool
	inWorld(t, func(cfg *localbroker.Config) {
		dial := cfg.Dial
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if away.Load() {
				return nil, errors.New("connection refused")
			}
			return dial(ctx, network, address)
		}
	}, func(w *world) {
		s := w.ours.Status()
		if s.Product == "" || s.Version == "" || !s.ConsumingRetry.IsZero() || !s.PublishingRetry.IsZero() {
			t.Errorf("connected: %+v", s)
		}

		away.Store(true)
		w.cut()
		synctest.Wait()

		again := w.ours.Status()
		if again.Product != s.Product || again.Version != s.Version {
			t.Errorf("cut: %+v", again)
		}
		for name, next := range map[string]time.Time{"consuming": again.ConsumingRetry, "publishing": again.PublishingRetry} {
			if wait := time.Until(next); wait < 0 || wait > time.Minute {
				t.Errorf("%s: the next attempt is in %v", name, wait)
			}
		}
	})
}
