package localbroker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

func TestAPublisherThatNobodyUsesTakesItsLockAgainAfterALostConnection(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, first := w.publishing()
		w.cut()
		time.Sleep(time.Minute)

		w.state(p, "running")
		w.consumers("cq.owner.ams.0", 1)
		if second := w.acquire(p); second == first {
			t.Errorf("incarnation %d again", second)
		}
	})
}

func TestAPublisherThatNobodyUsesGivesUpItsOwnConnectionAndKeepsItsLock(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, _ := w.publishing()
		apart := w.acquireApart(p)
		time.Sleep(time.Minute)

		if diff := cmp.Diff([]string{"consuming", "publishing"}, w.connections()); diff != "" {
			t.Error(diff)
		}
		w.state(p, "running")
		w.consumers("cq.owner.ams.0", 1)
		var o outcomes
		if err := p.Publish(w.ctx, apart, message("", "q", "late"), o.of("late")); err != localbroker.ErrIncarnationOver {
			t.Error(err)
		}
		must(t, p.Publish(w.ctx, w.acquireApart(p), message("", "q", "apart"), o.of("apart")))
		synctest.Wait()
		if diff := cmp.Diff(map[string][]string{"apart": {"confirmed"}}, o.kinds()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPublisherStaysApartWhileItIsUsedOrWaitsForAnAnswer(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, _ := w.publishing()
		apart := w.acquireApart(p)
		var o outcomes
		for range 10 {
			must(t, p.Publish(w.ctx, apart, message("", "q", "used"), o.of("used")))
			time.Sleep(25 * time.Second)
		}
		w.broker.SetAlarm(true)
		must(t, p.Publish(w.ctx, apart, message("", "q", "waits"), o.of("waits")))
		time.Sleep(time.Hour)
		w.broker.SetAlarm(false)
		synctest.Wait()

		if again := w.acquireApart(p); again != apart {
			t.Errorf("incarnation %d, then %d", apart, again)
		}
		if got := o.get("waits"); got.Kind != federation.Confirmed {
			t.Errorf("%+v", got)
		}
	})
}

// consumers checks how many there are.
func (w *world) consumers(queue string, want int) {
	w.t.Helper()
	if got, ok := w.broker.Queue(queue); !ok || got.Consumers != want {
		w.t.Errorf("queue %s %t: %d consumers, want %d", queue, ok, got.Consumers, want)
	}
}
