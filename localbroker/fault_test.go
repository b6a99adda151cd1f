package localbroker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/amqpwire"
)

func TestReturnsAreFoundByTheirBytesBeforeTheConfirmIsBelieved(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		// given three publishes to one exchange and key
		p, incarnation, peer := s.publisher()
		var o outcomes
		for _, body := range []string{"1", "2", "3"} {
			p.Publish(s.ctx, incarnation, message("e", "k", body), o.of(body))
		}
		synctest.Wait()
		// when the second is returned, and all are confirmed at once
		peer.giveBack("e", "k", "\x10\x00\x02", "2")
		peer.confirm(amqpwire.BasicAck, 3, true)
		synctest.Wait()
		// then it alone is not delivered
		if diff := cmp.Diff(map[string][]string{"1": {"confirmed"}, "2": {"returned"}, "3": {"confirmed"}}, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestReturnOfOneOfTwoEqualMessagesMakesBothUnknown(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		p.Publish(s.ctx, incarnation, message("e", "k", "same"), o.of("1"))
		p.Publish(s.ctx, incarnation, message("e", "k", "same"), o.of("2"))
		synctest.Wait()
		peer.giveBack("e", "k", "\x10\x00\x02", "same")
		peer.confirm(amqpwire.BasicAck, 2, true)
		synctest.Wait()
		if diff := cmp.Diff(map[string][]string{"1": {"unknown"}, "2": {"unknown"}}, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestReturnThatTheBrokerRewroteIsFoundByItsID(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		for i := range 3 {
			m := message("e", "k", "same")
			raw, err := amqpwire.Rewrite(m.Properties, amqpwire.Edit{ID: fmt.Sprint(i)})
			must(t, err)
			m.Properties = raw
			p.Publish(s.ctx, incarnation, m, o.of(fmt.Sprint(i)))
		}
		synctest.Wait()
		raw, err := amqpwire.Rewrite([]byte{0x08, 0x00, 0x05}, amqpwire.Edit{ID: "1"})
		must(t, err)
		peer.giveBack("e", "k", string(raw), "same")
		peer.confirm(amqpwire.BasicAck, 0, true)
		synctest.Wait()
		if diff := cmp.Diff(map[string][]string{"0": {"confirmed"}, "1": {"returned"}, "2": {"confirmed"}}, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The trap of the client library: a listener that is slow for 5 s loses the return, and the ack comes all the same (decisions.md, M1).
func TestSlowOutcomeLosesNoReturn(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		slow := func(name string) func(federation.Outcome) {
			told := o.of(name)
			return func(result federation.Outcome) {
				time.Sleep(10 * time.Second)
				told(result)
			}
		}
		for _, body := range []string{"1", "2", "3"} {
			p.Publish(s.ctx, incarnation, message("e", "k", body), slow(body))
		}
		synctest.Wait()
		for i, body := range []string{"1", "2", "3"} {
			peer.giveBack("e", "k", "\x10\x00\x02", body)
			peer.confirm(amqpwire.BasicAck, uint64(i+1), false)
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff(map[string][]string{"1": {"returned"}, "2": {"returned"}, "3": {"returned"}}, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestConfirmsInAnyOrderAreCountedOnce(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		for i := range 6 {
			p.Publish(s.ctx, incarnation, message("e", "k", fmt.Sprint(i+1)), o.of(fmt.Sprint(i+1)))
		}
		synctest.Wait()
		peer.confirm(amqpwire.BasicAck, 3, false)
		peer.confirm(amqpwire.BasicNack, 5, false)
		peer.confirm(amqpwire.BasicAck, 4, true)
		peer.confirm(amqpwire.BasicAck, 3, false)
		synctest.Wait()
		want := map[string][]string{"1": {"confirmed"}, "2": {"confirmed"}, "3": {"confirmed"}, "4": {"confirmed"}, "5": {"nacked"}}
		if diff := cmp.Diff(want, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWindowBoundsWhatIsUnanswered(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		published := make(chan struct{})
		go func() {
			defer close(published)
			for i := range 2200 {
				p.Publish(s.ctx, incarnation, message("e", "k", fmt.Sprint(i)), o.of(fmt.Sprint(i)))
			}
		}()
		time.Sleep(10 * time.Second)
		if n := peer.count(); n != 2048 {
			t.Fatalf("%d are outstanding, the window is 2048", n)
		}
		peer.confirm(amqpwire.BasicAck, 200, true)
		<-published
		synctest.Wait()
		if n := peer.count(); n != 2200 {
			t.Fatalf("%d were sent", n)
		}
		peer.confirm(amqpwire.BasicAck, 2200, true)
		synctest.Wait()
		if n := len(o.kinds()); n != 2200 {
			t.Fatalf("%d outcomes", n)
		}
	})
}

func TestTwoUnansweredOfWhichOneWasReturnedLeaveTheRefusedOne(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		p.Publish(s.ctx, incarnation, message("e", "k", "1"), o.of("1"))
		p.Publish(s.ctx, incarnation, message("missing", "k", "2"), o.of("2"))
		synctest.Wait()
		peer.giveBack("e", "k", "\x10\x00\x02", "1")
		peer.method(1, amqpwire.ChannelClose, "\x01\x94\x09NOT_FOUND\x00\x3c\x00\x28")
		synctest.Wait()
		if diff := cmp.Diff(map[string][]string{"1": {"returned"}, "2": {"refused"}}, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestBodyLimitThatTheBrokerShowsIsKept(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		p.Publish(s.ctx, incarnation, message("e", "k", "123456789"), o.of("1"))
		synctest.Wait()
		text := "PRECONDITION_FAILED - message size 9 is larger than configured max size 8"
		peer.method(1, amqpwire.ChannelClose, "\x01\x96"+short(text)+"\x00\x3c\x00\x28")
		synctest.Wait()
		incarnation, err := p.Acquire(s.ctx, false)
		must(t, err)
		p.Publish(s.ctx, incarnation, message("e", "k", "123456789"), o.of("2"))
		synctest.Wait()
		if diff := cmp.Diff(map[string][]string{"1": {"refused"}, "2": {"too large"}}, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestConnectionClosedByTheBrokerMakesAllUnknownWithItsCode(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		p.Publish(s.ctx, incarnation, message("e", "k", "1"), o.of("1"))
		synctest.Wait()
		peer.method(0, amqpwire.ConnectionClose, "\x02\x1d"+short("INTERNAL_ERROR")+"\x00\x3c\x00\x28")
		synctest.Wait()
		if got := o.get("1"); got.Kind != federation.Unknown || got.Code != 541 || got.Text != "INTERNAL_ERROR" {
			t.Fatalf("%+v", got)
		}
	})
}

// What a broker must not do ends its connection, never the process and never silently.
func TestBrokersMistakesEndTheConnection(t *testing.T) {
	deliver := func(tag string) string {
		return "\x00\x3c\x00\x3c\x01c\x00\x00\x00\x00\x00\x00\x00" + tag + "\x00\x00\x00"
	}
	for _, c := range []struct {
		name string
		do   func(*peer)
		says string
	}{
		{"a confirm of what was not published", func(p *peer) { p.confirm(amqpwire.BasicAck, 2, false) }, "confirmed publish 2 of 1"},
		{"a confirm of nothing", func(p *peer) { p.confirm(amqpwire.BasicAck, 0, false) }, "confirmed publish 0"},
		{"a confirm that is cut off", func(p *peer) { p.method(1, amqpwire.BasicAck, "\x00") }, "cut off"},
		{"a return of what is not outstanding", func(p *peer) { p.giveBack("other", "k", "\x00\x00", "x") }, "not outstanding"},
		{"a frame over the limit", func(p *peer) { p.raw("\x01\x00\x01\x7f\xff\xff\xff") }, "over the limit"},
		{"a frame without its end", func(p *peer) { p.raw("\x08\x00\x00\x00\x00\x00\x00\x00") }, "without its end"},
		{"another protocol", func(p *peer) { p.raw("AMQP\x00\x01\x00\x00") }, "does not speak"},
		{"a method without a number", func(p *peer) { p.send(1, 1, "\x00") }, "without its number"},
		{"a body without a header", func(p *peer) { p.send(3, 1, "x") }, "does not continue"},
		{"a header that is cut off", func(p *peer) { p.send(1, 1, deliver("\x01")); p.send(2, 1, "\x00\x3c") }, "cut off"},
		{"a body longer than its header said", func(p *peer) {
			p.method(1, amqpwire.BasicReturn, "\x01\x38\x00\x01e\x01k")
			p.send(2, 1, "\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00")
			p.send(3, 1, "xy")
		}, "does not continue"},
		{"a delivery that is cut off", func(p *peer) { p.method(1, amqpwire.BasicDeliver, "\x09x") }, "cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inScript(t, nil, func(s *scripted) {
				p, incarnation, peer := s.publisher()
				var o outcomes
				p.Publish(s.ctx, incarnation, message("e", "k", "1"), o.of("1"))
				synctest.Wait()
				go c.do(peer)
				synctest.Wait()
				if got := o.get("1"); got.Kind != federation.Unknown || !strings.Contains(got.Text, c.says) {
					t.Fatalf("%+v, want a text with %q", got, c.says)
				}
				_, err := p.Acquire(s.ctx, false) // and it starts again
				must(t, err)
			})
		})
	}
}

func TestSilentBrokerIsFoundByItsMissingHeartbeats(t *testing.T) {
	inScript(t, nil, func(s *scripted) {
		p, incarnation, _ := s.publisher()
		var o outcomes
		started := time.Now()
		p.Publish(s.ctx, incarnation, message("e", "k", "1"), func(r federation.Outcome) {
			if d := time.Since(started); d != 15*time.Second {
				t.Errorf("found after %v", d)
			}
			o.of("1")(r)
		})
		time.Sleep(16 * time.Second)
		if got := o.get("1"); got.Kind != federation.Unknown || !strings.Contains(got.Text, "silent for 15s") {
			t.Fatalf("%+v", got)
		}
	})
}

func TestAnswerThatNobodyAskedForEndsTheConnection(t *testing.T) {
	inScript(t, func(p *peer) { p.alive = true }, func(s *scripted) {
		p, incarnation, peer := s.publisher()
		var o outcomes
		p.Publish(s.ctx, incarnation, message("e", "k", "1"), o.of("1"))
		synctest.Wait()
		go peer.method(1, 60<<16|11, "") // basic.qos-ok
		time.Sleep(31 * time.Second)
		if got := o.get("1"); got.Kind != federation.Unknown || !strings.Contains(got.Text, "nobody asked for") {
			t.Fatalf("%+v", got)
		}
		time.Sleep(time.Minute)
		_, err := p.Acquire(s.ctx, false)
		must(t, err)
	})
}

func TestCallWithoutAnAnswerEndsTheConnection(t *testing.T) {
	hangs := func(p *peer) { p.alive, p.silent[50<<16|10] = true, true } // queue.declare
	inScript(t, hangs, func(s *scripted) {
		c := s.ours.Consumer(own())
		before := s.dialled()
		time.Sleep(14 * time.Second)
		if s.dialled() != before {
			t.Fatal("too early")
		}
		time.Sleep(3 * time.Second)
		if s.dialled() == before {
			t.Fatalf("the connection is still used: %+v", c.State())
		}
	})
}

func TestSocketThatTakesNothingEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		gate, over := make(chan struct{}), make(chan struct{}) // closed: the broker stops reading, but lives; the test is over
		ours, err := localbroker.New(localbroker.Config{URL: "amqp://broker", Site: "ams", Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			p := &peer{conn: server, in: bufio.NewReader(&gated{server, gate, over}), alive: true}
			go p.serve()
			return client, nil
		}})
		must(t, err)
		ran := make(chan error, 1)
		go func() { ran <- ours.Run(ctx) }()
		p := ours.Publisher(0)
		incarnation, err := p.Acquire(ctx, false)
		must(t, err)
		close(gate)
		var o outcomes
		p.Publish(ctx, incarnation, message("e", "k", "1"), o.of("1"))
		time.Sleep(40 * time.Second)
		if got := o.get("1"); got.Kind != federation.Unknown || !strings.Contains(got.Text, "took nothing for 15s") {
			t.Fatalf("%+v", got)
		}
		close(over)
		stop()
		<-ran
	})
}

// gated blocks reads once its gate is closed, until the connection ends.
type gated struct {
	net.Conn
	gate, over chan struct{}
}

func (g *gated) Read(p []byte) (int, error) {
	select {
	case <-g.gate:
		<-g.over
		return 0, errors.New("the test is over")
	default:
		return g.Conn.Read(p)
	}
}

func TestBrokerThatIsAwayIsDialledAgainWithJitterForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var dials atomic.Int64
		ours, err := localbroker.New(localbroker.Config{URL: "amqp://broker", Site: "ams", Dial: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, errors.New("connection refused")
		}})
		must(t, err)
		ran := make(chan error, 1)
		go func() { ran <- ours.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		s := ours.Status()
		if s.Consuming.State != "down" || !strings.Contains(s.Consuming.Reason, "connection refused") || s.Consuming.Fix == "" || time.Since(s.Consuming.Since) < 9*time.Minute {
			t.Fatalf("%+v", s)
		}
		if n := dials.Load(); n < 100 || n > 500 { // two connections, a mean of 7.5 s each
			t.Fatalf("%d dials in 10 minutes", n)
		}
		stop()
		<-ran
	})
}
