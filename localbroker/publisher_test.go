package localbroker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

// publishing gives a publisher that holds its lock, and a queue "q".
func (w *world) publishing() (*localbroker.Publisher, uint64) {
	w.t.Helper()
	w.declareTopic()
	_, err := w.service().QueueDeclare("q", true, false, false, false, nil)
	must(w.t, err)
	p := w.ours.Publisher(0)
	return p, w.acquire(p)
}

func TestPublishEndsConfirmedReturnedOrTooLarge(t *testing.T) {
	inWorld(t, func(c *localbroker.Config) { c.MaxMessageSize = 1000 }, func(w *world) {
		p, incarnation := w.publishing()
		var o outcomes
		p.Publish(w.ctx, incarnation, message("", "q", "routed"), o.of("routed"))
		p.Publish(w.ctx, incarnation, message("orders", "nobody", "unroutable"), o.of("unroutable"))
		p.Publish(w.ctx, incarnation, message("", "q", strings.Repeat("x", 1001)), o.of("large"))
		p.Publish(w.ctx, incarnation, message("", strings.Repeat("k", 256), "key"), o.of("key"))
		if err := p.Publish(w.ctx, incarnation+1, message("", "q", "other"), o.of("other incarnation")); err != localbroker.ErrIncarnationOver {
			t.Fatal(err)
		}
		synctest.Wait()
		want := map[string][]string{"routed": {"confirmed"}, "unroutable": {"returned"}, "large": {"too large"}, "key": {"too large"}}
		if diff := cmp.Diff(want, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
		if got := o.get("unroutable"); got.Code != 312 || got.Text != "NO_ROUTE" {
			t.Fatalf("%+v", got)
		}
		if diff := cmp.Diff([]string{"routed"}, w.bodies("q")); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestHeaderOverTheFrameIsTooLargeAndItsNeighboursGoOn(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		var o outcomes
		p.Publish(w.ctx, incarnation, message("", "q", "before"), o.of("before"))
		fits, over := rawHeader(131072-8-12), rawHeader(131072-8-12+1)
		p.Publish(w.ctx, incarnation, federation.Message{RoutingKey: "q", Properties: fits}, o.of("fits"))
		p.Publish(w.ctx, incarnation, federation.Message{RoutingKey: "q", Properties: over}, o.of("over"))
		p.Publish(w.ctx, incarnation, message("", "q", "after"), o.of("after"))
		synctest.Wait()
		want := map[string][]string{"before": {"confirmed"}, "fits": {"confirmed"}, "over": {"too large"}, "after": {"confirmed"}}
		if diff := cmp.Diff(want, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// rawHeader gives properties of exactly size bytes: one header with a long string.
func rawHeader(size int) []byte {
	value := size - 2 - 4 - 2 - 1 - 4
	table := value + 2 + 1 + 4
	raw := []byte{0x20, 0, byte(table >> 24), byte(table >> 16), byte(table >> 8), byte(table), 1, 'k', 'S', byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}
	return append(raw, strings.Repeat("v", value)...)
}

func TestRefusedPublishAloneIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		var o outcomes
		p.Publish(w.ctx, incarnation, message("missing", "k", "1"), o.of("1"))
		synctest.Wait()
		if got := o.get("1"); got.Kind != federation.Refused || got.Code != 404 || !strings.Contains(got.Text, "missing") {
			t.Fatalf("%+v", got)
		}
		// and the next incarnation goes on
		if next := w.acquire(p); next == incarnation {
			t.Fatal("the incarnation did not end")
		} else {
			p.Publish(w.ctx, next, message("", "q", "2"), o.of("2"))
		}
		synctest.Wait()
		if got := o.get("2"); got.Kind != federation.Confirmed {
			t.Fatalf("%+v", got)
		}
	})
}

func TestRefusedPublishAmongOthersMakesAllOfThemUnknownWithTheCode(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		var o outcomes
		sent := 0
		for i := range 20 {
			m := message("", "q", fmt.Sprint(i))
			if i == 7 {
				m.Exchange = "missing"
			}
			if err := p.Publish(w.ctx, incarnation, m, o.of(fmt.Sprint(i))); err == localbroker.ErrIncarnationOver {
				break // its end is known
			}
			sent++
		}
		synctest.Wait()
		unknown := 0
		for i := range sent {
			switch got := o.get(fmt.Sprint(i)); {
			case got.Kind == federation.Confirmed && i < 7:
			case got.Kind == federation.Unknown && got.Code == 404:
				unknown++
			default:
				t.Fatalf("%d: %+v", i, got)
			}
		}
		if unknown < 1 || len(w.bodies("q")) > 7 || len(o.kinds()) != sent {
			t.Fatalf("%d unknown, queue %q", unknown, w.bodies("q"))
		}
	})
}

func TestLostConnectionMakesUnansweredPublishesUnknownOnce(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		w.broker.SetAlarm(true)
		var o outcomes
		p.Publish(w.ctx, incarnation, message("", "q", "1"), o.of("1"))
		synctest.Wait()
		w.cut()
		synctest.Wait()
		if got := o.get("1"); got.Kind != federation.Unknown || got.Code != 0 {
			t.Fatalf("%+v", got)
		}
		w.broker.SetAlarm(false)
		w.acquire(p)
	})
}

func TestAlarmHoldsPublishesAndLosesNone(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		c := w.ours.Consumer(federation.Source{Queue: "q"})
		var o outcomes
		// given an alarm, and publishes during it
		w.broker.SetAlarm(true)
		published := make(chan struct{})
		go func() {
			defer close(published)
			for i := range 100 {
				p.Publish(w.ctx, incarnation, message("", "q", fmt.Sprint(i)), o.of(fmt.Sprint(i)))
			}
		}()
		time.Sleep(time.Minute)
		// then nothing is counted a failure, and status tells
		if len(o.kinds()) != 0 {
			t.Fatalf("%v", o.kinds())
		}
		w.state(p, "alarm")
		if s := w.ours.Status(); s.Publishing.State != "alarm" || s.Consuming.State != "running" || s.Publishing.Fix == "" {
			t.Fatalf("%+v", s)
		}
		// when it ends everything is confirmed, in order, once
		w.broker.SetAlarm(false)
		<-published
		for i := range 100 {
			if got := w.take(c, 1); string(got.Message.Body) != fmt.Sprint(i) {
				t.Fatalf("%q at %d", got.Message.Body, i)
			}
		}
		synctest.Wait()
		for i := range 100 {
			if got := o.get(fmt.Sprint(i)); got.Kind != federation.Confirmed {
				t.Fatalf("%d: %+v", i, got)
			}
		}
		w.state(p, "running")
		if w.acquire(p) != incarnation {
			t.Fatal("the incarnation ended")
		}
	})
}

func TestPublishDuringAnAlarmEndsWithItsContextAndSendsNothing(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		var o outcomes
		w.broker.SetAlarm(true)
		p.Publish(w.ctx, incarnation, message("", "q", "first"), o.of("first"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		if err := p.Publish(ctx, incarnation, message("", "q", "second"), o.of("second")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		w.broker.SetAlarm(false)
		synctest.Wait()
		if diff := cmp.Diff([]string{"first"}, w.bodies("q")); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(map[string][]string{"first": {"confirmed"}}, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTryPublishDuringAnAlarmSendsNothingAndSaysWhenToTryAgain(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		var o outcomes
		w.broker.SetAlarm(true)
		p.TryPublish(incarnation, message("", "q", "tells of the alarm"), o.of("first"))
		synctest.Wait()

		again, err := p.TryPublish(incarnation, message("", "q", "second"), o.of("second"))
		if again == nil || err != nil {
			t.Fatalf("again %v, %v", again, err)
		}
		w.broker.SetAlarm(false)
		<-again
		again, err = p.TryPublish(incarnation, message("", "q", "second"), o.of("second"))
		synctest.Wait()

		if again != nil || err != nil {
			t.Errorf("after the alarm: again %v, %v", again, err)
		}
		if diff := cmp.Diff(map[string][]string{"first": {"confirmed"}, "second": {"confirmed"}}, o.kinds()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhatWaitsForTheSocketWhenTheConnectionIsLostIsUnknownAndWhatComesLaterIsNotSent(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		// given an alarm: the broker does not read, and what was handed over waits in the process
		p, incarnation := w.publishing()
		w.broker.SetAlarm(true)
		var o outcomes
		p.TryPublish(incarnation, message("", "q", "tells of the alarm"), o.of("1"))
		p.TryPublish(incarnation, message("", "q", "behind it"), o.of("2"))
		synctest.Wait()
		again, _ := p.TryPublish(incarnation, message("", "q", "3"), o.of("3"))
		w.cut()
		<-again
		synctest.Wait()
		if _, err := p.TryPublish(incarnation, message("", "q", "3"), o.of("3")); err != localbroker.ErrIncarnationOver {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string][]string{"1": {"unknown"}, "2": {"unknown"}}, o.kinds()); diff != "" {
			t.Error(diff)
		}
		w.broker.SetAlarm(false)
	})
}

func TestAPublisherWhoseChannelEndedSaysSinceWhenItWaits(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, _ := w.publishing()
		time.Sleep(time.Hour)
		lost := time.Now()
		w.cut()
		synctest.Wait()

		if got := p.State(); got.State != federation.StateWaiting || !got.Since.Equal(lost) {
			t.Errorf("%+v, want waiting since %v", got, lost)
		}
	})
}

func TestCloseTellsEveryOutcome(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, incarnation := w.publishing()
		var o outcomes
		w.broker.SetAlarm(true)
		p.Publish(w.ctx, incarnation, message("", "q", "1"), o.of("1"))
		synctest.Wait()
		must(t, p.Close(w.ctx))
		if got := o.get("1"); got.Kind != federation.Unknown {
			t.Fatalf("%+v", got)
		}
		if err := p.Publish(w.ctx, incarnation, message("", "q", "2"), o.of("2")); err != localbroker.ErrIncarnationOver {
			t.Fatal(err)
		}
		if _, err := p.Acquire(w.ctx, false); !errors.Is(err, localbroker.ErrClosed) {
			t.Fatal(err)
		}
		w.broker.SetAlarm(false)
	})
}

func TestCheckExchangeFindsMissesAndDeclares(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.declareTopic()
		must(t, w.ours.CheckExchange(w.ctx, "", ""))
		must(t, w.ours.CheckExchange(w.ctx, "orders", ""))
		if err := w.ours.CheckExchange(w.ctx, "invoices", ""); !errors.Is(err, localbroker.ErrMissing) {
			t.Fatal(err)
		}
		must(t, w.ours.CheckExchange(w.ctx, "invoices", "fanout"))
		must(t, w.ours.CheckExchange(w.ctx, "invoices", ""))
		if err := w.ours.CheckExchange(w.ctx, "wrong", "no-such-type"); err == nil {
			t.Fatal("no error")
		}
	})
}
