package localbroker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

func TestOwnerLockIsWaitedFor(t *testing.T) {
	for name, apart := range map[string]bool{"on the shared connection": false, "apart": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *world) { w.waitsForTheLock(apart) })
		})
	}
}

// waitsForTheLock has a second router want the lock of a first one.
func (w *world) waitsForTheLock(apart bool) {
	// given a publisher that holds the lock, and another router's
	p, _ := w.publishing()
	incarnation := w.acquireOn(p, apart)
	other, err := localbroker.New(localbroker.Config{URL: "amqp://broker/", Site: "ams", Dial: w.dial})
	must(w.t, err)
	ctx, stop := context.WithCancel(w.ctx)
	ran := make(chan error, 1)
	go func() { ran <- other.Run(ctx) }()
	q := other.Publisher(0)
	short, cancel := context.WithTimeout(w.ctx, 20*time.Second) // an idle one apart stays there for longer
	defer cancel()
	// when that acquires, it waits for it, and says so
	if _, err := q.Acquire(short, apart); !errors.Is(err, context.DeadlineExceeded) {
		w.t.Fatal(err)
	}
	if state := w.state(q, "waiting"); !strings.Contains(state.Reason, "cq.owner.ams.0") {
		w.t.Fatalf("%+v", state)
	}
	// another index is free
	w.acquireOn(other.Publisher(1), apart)
	// and it is free as soon as the first one is closed
	var o outcomes
	must(w.t, p.Publish(w.ctx, incarnation, message("", "q", "last of the first"), o.of("last")))
	must(w.t, p.Close(w.ctx))
	w.acquireOn(q, apart)
	if got := o.get("last"); got.Kind != federation.Confirmed {
		w.t.Fatalf("%+v", got)
	}
	stop()
	<-ran
}

func TestLostLockEndsTheIncarnation(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		_, err := w.service().QueueDelete("cq.owner.ams.0", false, false, false)
		must(t, err)
		synctest.Wait()
		var o outcomes
		err = p.Publish(w.ctx, incarnation, message("", "q", "1"), o.of("1"))
		synctest.Wait()
		if err != localbroker.ErrIncarnationOver || len(o.kinds()) != 0 || len(w.bodies("q")) != 0 {
			t.Fatalf("%v, %v, queue %q", err, o.kinds(), w.bodies("q"))
		}
		w.acquire(p)
	})
}

func TestStrangersMessageInTheLockQueueDisturbsNothing(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		w.publish("", "cq.owner.ams.0", "hello", "hello again")
		var o outcomes
		p.Publish(w.ctx, incarnation, message("", "q", "1"), o.of("1"))
		synctest.Wait()
		if got := o.get("1"); got.Kind != federation.Confirmed {
			t.Fatalf("%+v", got)
		}
	})
}
