package localbroker_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

// deadly has a header of type U, over which RabbitMQ and the embedded broker close the connection with 541.
func deadly(key string) federation.Message {
	return federation.Message{RoutingKey: key, Properties: []byte("\x20\x00\x00\x00\x00\x05\x01kU\x00\x01"), Body: []byte("deadly")}
}

// acquireApart waits for a channel on the publisher's own connection.
func (w *world) acquireApart(p *localbroker.Publisher) uint64 {
	w.t.Helper()
	return w.acquireOn(p, true)
}

// connections are the names of ours that the broker has.
func (w *world) connections() (names []string) {
	for _, c := range w.broker.Connections() {
		if name, ours := strings.CutPrefix(c.Name, "cloudqueue ams "); ours {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestAPublishThatClosesTheConnectionIsRefusedApartAndOthersGoOn(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		// given one that closed the connection that all share: nobody can tell whose it was
		p, incarnation := w.publishing()
		var o outcomes
		must(t, p.Publish(w.ctx, incarnation, deadly("q"), o.of("shared")))
		synctest.Wait()
		if got := o.get("shared"); got.Kind != federation.Unknown || got.Code != 541 {
			t.Fatalf("%+v", got)
		}
		other := w.ours.Publisher(1)
		undisturbed := w.acquire(other)

		// when it is published apart, with a neighbour and then alone
		incarnation = w.acquireApart(p)
		must(t, p.Publish(w.ctx, incarnation, deadly("q"), o.of("with a neighbour")))
		must(t, p.Publish(w.ctx, incarnation, message("", "q", "neighbour"), o.of("neighbour")))
		synctest.Wait()
		must(t, p.Publish(w.ctx, w.acquireApart(p), deadly("q"), o.of("alone")))
		synctest.Wait()

		// then it is known by being alone
		want := map[string][]string{"shared": {"unknown"}, "with a neighbour": {"unknown"}, "neighbour": {"unknown"}, "alone": {"refused"}}
		if diff := cmp.Diff(want, o.kinds()); diff != "" {
			t.Error(diff)
		}
		if got := o.get("alone"); got.Code != 541 {
			t.Errorf("%+v", got)
		}
		if w.acquire(other) != undisturbed {
			t.Error("the other publisher's channel ended")
		}
		must(t, p.Publish(w.ctx, w.acquireApart(p), message("", "q", "next"), o.of("next")))
		synctest.Wait()
		if diff := cmp.Diff([]string{"next"}, w.bodies("q")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPublisherComesBackToTheSharedConnectionAndEndsItsOwn(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, first := w.publishing()
		second := w.acquireApart(p)
		if again := w.acquireApart(p); again != second || second == first {
			t.Fatalf("incarnations %d, %d, %d", first, second, again)
		}
		if diff := cmp.Diff([]string{"consuming", "publishing", "publishing apart"}, w.connections()); diff != "" {
			t.Fatal(diff)
		}
		var o outcomes
		must(t, p.Publish(w.ctx, second, message("", "q", "apart"), o.of("apart")))

		third := w.acquire(p)
		err := p.Publish(w.ctx, second, message("", "q", "late"), o.of("late"))
		must(t, p.Publish(w.ctx, third, message("", "q", "back"), o.of("back")))
		synctest.Wait()

		if err != localbroker.ErrIncarnationOver {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string][]string{"apart": {"confirmed"}, "back": {"confirmed"}}, o.kinds()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"consuming", "publishing"}, w.connections()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnAlarmShowsApartAndALostConnectionOfItsOwnIsMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		p, _ := w.publishing()
		incarnation := w.acquireApart(p)
		w.broker.SetAlarm(true)
		var o outcomes
		must(t, p.Publish(w.ctx, incarnation, message("", "q", "1"), o.of("1")))
		synctest.Wait()
		w.state(p, "alarm")
		w.cut()
		synctest.Wait()
		w.broker.SetAlarm(false)

		if got := o.get("1"); got.Kind != federation.Unknown || got.Code != 0 {
			t.Errorf("%+v", got)
		}
		must(t, p.Publish(w.ctx, w.acquireApart(p), message("", "q", "2"), o.of("2")))
		synctest.Wait()
		if got := o.get("2"); got.Kind != federation.Confirmed {
			t.Errorf("%+v", got)
		}
	})
}
