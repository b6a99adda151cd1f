package embedded

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// stage is an embedded broker in a bubble with clients that speak as scripts do.
type stage struct {
	t      *testing.T
	broker *Broker
	*runner
}

// onStage runs a story in virtual time, and afterwards checks that the broker ends without a trace.
func onStage(t *testing.T, cfg Config, story func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := New(cfg)
		s := &stage{t: t, broker: b}
		s.runner = newRunner(t, func() net.Conn { return pipe(t.Context(), b) })
		s.settle, s.waitFor = s.quiet, func(func() bool) { synctest.Wait() }
		story(s)
		s.hangUp()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		synctest.Wait()
		checkEmpty(t, b)
	})
}

func (s *stage) quiet() {
	synctest.Wait()
	checkInvariants(s.t, s.broker)
}

// say sends commands and checks that exactly these answers come.
func (s *stage) say(command string, want ...string) {
	s.t.Helper()
	s.do(command)
	s.settle()
	if diff := cmp.Diff(want, s.collect(), cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("after %q (-want +got):\n%s", command, diff)
	}
}

// hears checks what has come without a command.
func (s *stage) hears(want ...string) {
	s.t.Helper()
	s.settle()
	if diff := cmp.Diff(want, s.collect(), cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("-want +got:\n%s", diff)
	}
}
