//go:build integration

package localbroker_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/amqpwire/wiretest"
)

func TestRealPropertiesPassByteForByte(t *testing.T) {
	r := onReal(t, nil)
	r.queue()
	p, c := r.ours.Publisher(0), r.ours.Consumer(federation.Source{Queue: r.name})
	incarnation := r.acquire(p)
	var o outcomes
	encodings := wiretest.Encodings()
	passed := 0
	for i, e := range encodings {
		p.Publish(r.ctx, incarnation, federation.Message{RoutingKey: r.name, Properties: e.Raw, Body: []byte(e.Name)}, o.of(e.Name))
		d := r.next(c)
		if string(d.Message.Body) != e.Name || !bytes.Equal(d.Message.Properties, e.Raw) {
			t.Errorf("%s: got %.200x\nwant %.200x", e.Name, d.Message.Properties, e.Raw)
			continue
		}
		passed++
		must(t, c.Ack(r.ctx, d.Tag))
		_ = i
	}
	t.Logf("%d of %d encodings passed", passed, len(encodings))
	if passed != 55 || r.acquire(p) != incarnation {
		t.Fatal("not all, or not on one channel")
	}
}

func TestRealReturnGivesTheSamePropertiesBack(t *testing.T) {
	r := onReal(t, nil)
	p := r.ours.Publisher(0)
	incarnation := r.acquire(p)
	var o outcomes
	encodings := wiretest.Encodings()
	for _, e := range encodings {
		p.Publish(r.ctx, incarnation, federation.Message{RoutingKey: r.name + ".nobody", Properties: e.Raw, Body: []byte(e.Name)}, o.of(e.Name))
	}
	r.eventually("outcomes", func() bool { return len(o.kinds()) == len(encodings) })
	for _, e := range encodings {
		if got := o.get(e.Name); got.Kind != federation.Returned {
			t.Errorf("%s: %+v", e.Name, got)
		}
	}
}

func TestRealStaleAckAcknowledgesNothing(t *testing.T) {
	r := onReal(t, nil)
	r.exchange()
	c := r.ours.Consumer(r.source())
	r.running(c)
	for i := range 8 {
		r.publish(r.name, "eu.nl", fmt.Sprint(i))
	}
	var stale federation.Delivery
	for range 8 {
		stale = r.next(c)
	}
	r.proxy.cut()
	again := func(from, to int) (last federation.Delivery) {
		for i := from; i < to; i++ {
			last = r.next(c)
			if string(last.Message.Body) != fmt.Sprint(i) || !last.Redelivered {
				t.Fatalf("%d: %+v", i, last)
			}
		}
		return last
	}
	last := again(0, 5)
	must(t, c.Ack(r.ctx, stale.Tag)) // 8 of the incarnation before: here it would take three that nobody has
	must(t, c.Ack(r.ctx, last.Tag))
	last = again(5, 8)
	must(t, c.Close(r.ctx))
	if left := r.messages(r.source().Queue); len(left) != 3 || last.Tag.Incarnation != stale.Tag.Incarnation+1 {
		t.Fatalf("%q are left, %+v after %+v", left, last.Tag, stale.Tag)
	}
}

// publishAll is a small router: it sends until each message is confirmed or refused, and finds the refused one by halving the window.
func publishAll(r *real, p *localbroker.Publisher, all []federation.Message) (confirmed, refused, sent int) {
	pending, window := all, len(all)
	for len(pending) > 0 {
		incarnation := r.acquire(p)
		n := min(window, len(pending))
		results := make([]federation.Outcome, n)
		var told sync.WaitGroup
		for i, m := range pending[:n] {
			told.Add(1)
			sent++
			results[i].Kind = federation.Unknown
			if p.Publish(r.ctx, incarnation, m, func(o federation.Outcome) { results[i] = o; told.Done() }) != nil {
				told.Done() // not sent
			}
		}
		told.Wait()
		var again []federation.Message
		for i, o := range results {
			switch o.Kind {
			case federation.Confirmed:
				confirmed++
			case federation.Refused:
				refused++
			default:
				again = append(again, pending[i])
			}
		}
		if window = max(window/2, 1); len(again) == 0 {
			window = len(all)
		}
		pending = append(again, pending[n:]...)
	}
	return confirmed, refused, sent
}

func TestRealRefusedMessageInTheMiddleOfAWindowLosesNoNeighbour(t *testing.T) {
	for name, spoil := range map[string]func(*federation.Message){
		"404 missing exchange": func(m *federation.Message) { m.Exchange = "no.such.exchange" },
		"406 expiration":       func(m *federation.Message) { m.Properties = []byte{0x01, 0x00, 3, 'a', 'b', 'c'} },
		"406 user-id":          func(m *federation.Message) { m.Properties = []byte{0x00, 0x10, 4, 'a', 'n', 'n', 'a'} },
	} {
		t.Run(name[:3]+name[4:7], func(t *testing.T) {
			r := onReal(t, nil)
			r.name = strings.ReplaceAll(r.name, "/", ".")
			r.queue()
			p := r.ours.Publisher(0)
			var all []federation.Message
			for i := range 100 {
				all = append(all, message("", r.name, fmt.Sprint(i)))
			}
			spoil(&all[50])
			confirmed, refused, sent := publishAll(r, p, all)
			if confirmed != 99 || refused != 1 {
				t.Fatalf("%d confirmed, %d refused", confirmed, refused)
			}
			seen := map[string]bool{}
			got := r.messages(r.name)
			for _, body := range got {
				seen[body] = true
			}
			if len(seen) != 99 || seen["50"] || len(got) > 99+100 {
				t.Fatalf("%d different of %d", len(seen), len(got))
			}
			t.Logf("%d sent, %d duplicates", sent, len(got)-99)
		})
	}
}

func TestRealReturnsUnderLoadAreExact(t *testing.T) {
	r := onReal(t, nil)
	r.queue()
	p := r.ours.Publisher(0)
	incarnation := r.acquire(p)
	var o outcomes
	const n = 5000
	for i := range n {
		m := message("", r.name, fmt.Sprint(i))
		if i%3 == 0 {
			m.RoutingKey = r.name + ".nobody"
		}
		p.Publish(r.ctx, incarnation, m, o.of(fmt.Sprint(i)))
	}
	r.eventually("outcomes", func() bool { return len(o.kinds()) == n })
	for i := range n {
		want := federation.Confirmed
		if i%3 == 0 {
			want = federation.Returned
		}
		if got := o.get(fmt.Sprint(i)); got.Kind != want {
			t.Fatalf("%d: %+v", i, got)
		}
	}
}

func TestRealDeletedQueueAndRecreatedExchangeHeal(t *testing.T) {
	r := onReal(t, func(c *localbroker.Config) { c.Reassert = time.Second })
	r.exchange()
	c := r.ours.Consumer(r.source())
	r.running(c)
	_, err := r.service.QueueDelete(r.source().Queue, false, false, false)
	must(t, err)
	arrives := func(body string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
		defer cancel()
		for {
			r.publish(r.name, "eu.nl", body)
			short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
			d, err := c.Next(short)
			stop()
			if err == nil {
				must(t, c.Ack(r.ctx, d.Tag))
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%s does not arrive: %+v", body, c.State())
			}
		}
	}
	arrives("after the queue")
	must(t, r.service.ExchangeDelete(r.name, false, false))
	r.eventually("held", func() bool { return c.State().State == "held" })
	r.exchange()
	arrives("after the exchange")
	r.running(c)
	must(t, c.Detach(r.ctx))
	must(t, r.service.ExchangeDelete(r.name, false, false))
	source := r.source()
	c.SetSource(source)
	r.eventually("held again", func() bool { return c.State().State == "held" })
	must(t, c.Detach(r.ctx)) // of bindings that are gone with their exchange
}

func TestRealOwnerLockWaitsForTheEndOfACutChannel(t *testing.T) {
	r := onReal(t, nil)
	r.queue()
	p := r.ours.Publisher(0)
	incarnation := r.acquire(p)
	second := r.another(nil)
	ctx, stop := context.WithCancel(r.ctx)
	ran := make(chan error, 1)
	go func() { ran <- second.Run(ctx) }()
	q := second.Publisher(0)
	short, cancel := context.WithTimeout(r.ctx, 2*time.Second)
	defer cancel()
	if _, err := q.Acquire(short, false); err == nil {
		t.Fatal("two owners")
	}
	if state := q.State(); state.State != "waiting" || !strings.Contains(state.Reason, "owner lock") {
		t.Fatalf("%+v", state)
	}
	// when the first one is cut in the middle of publishing, and does not come back
	var told sync.WaitGroup
	published := 0
	for ; published < 2000; published++ {
		told.Add(1)
		must(t, p.Publish(r.ctx, incarnation, message("", r.name, "first"), func(federation.Outcome) { told.Done() }))
	}
	r.stop()
	r.proxy.cut()
	told.Wait()
	started := time.Now()
	next := r.acquire(q)
	t.Logf("lock free after %v", time.Since(started))
	done := make(chan federation.Outcome, 1)
	q.Publish(r.ctx, next, message("", r.name, "second"), func(o federation.Outcome) { done <- o })
	if o := <-done; o.Kind != federation.Confirmed {
		t.Fatalf("%+v", o)
	}
	time.Sleep(time.Second) // for what would come late
	got := r.messages(r.name)
	if got[len(got)-1] != "second" {
		t.Fatal("a message of the first owner came after the second one's")
	}
	stop()
	<-ran
}

func TestRealHeaderAtTheFrameLimit(t *testing.T) {
	r := onReal(t, nil)
	r.queue()
	p := r.ours.Publisher(0)
	incarnation := r.acquire(p)
	var o outcomes
	for name, size := range map[string]int{"fits": 131072 - 8 - 12, "over": 131072 - 8 - 12 + 1} {
		p.Publish(r.ctx, incarnation, federation.Message{RoutingKey: r.name, Properties: rawHeader(size)}, o.of(name))
	}
	r.eventually("outcomes", func() bool { return len(o.kinds()) == 2 })
	if o.get("fits").Kind != federation.Confirmed || o.get("over").Kind != federation.TooLarge || r.acquire(p) != incarnation {
		t.Fatalf("%v", o.kinds())
	}
	c := r.ours.Consumer(federation.Source{Queue: r.name})
	if d := r.next(c); len(d.Message.Properties) != 131072-8-12 {
		t.Fatal(len(d.Message.Properties))
	}
}

func TestRealBodyOverTheBrokersLimitIsLearned(t *testing.T) {
	r := onReal(t, func(c *localbroker.Config) { c.MaxMessageSize = 256 << 20 })
	r.queue()
	p := r.ours.Publisher(0)
	m := message("", r.name, "")
	m.Body = make([]byte, 128<<20+1)
	var got []string
	for range 2 {
		done := make(chan federation.Outcome, 1)
		p.Publish(r.ctx, r.acquire(p), m, func(o federation.Outcome) { done <- o })
		o := <-done
		got = append(got, fmt.Sprint(o.Kind, o.Code))
	}
	if got[0] != "refused 406" || got[1] != "too large 0" {
		t.Fatalf("%q", got)
	}
}

func TestRealSwallowedConnectionIsFoundByHeartbeats(t *testing.T) {
	r := onReal(t, func(c *localbroker.Config) { c.Heartbeat = 2 * time.Second })
	r.exchange()
	c := r.ours.Consumer(r.source())
	r.running(c)
	r.publish(r.name, "eu.nl", "1")
	first := r.next(c)
	r.proxy.swallow.Store(true)
	started := time.Now()
	r.eventually("noticed", func() bool { return r.ours.Status().Consuming.State != "running" })
	noticed := time.Since(started)
	if noticed > 5*time.Second {
		t.Fatalf("noticed after %v", noticed)
	}
	r.proxy.swallow.Store(false)
	again := r.next(c) // when the broker has noticed too: the queue is exclusive
	if string(again.Message.Body) != "1" || !again.Redelivered || again.Tag.Incarnation == first.Tag.Incarnation {
		t.Fatalf("%+v", again)
	}
	t.Logf("noticed after %v, redelivered after %v", noticed, time.Since(started))
}

func TestRealRefusalsOfALoginSayWhatToDo(t *testing.T) {
	r := onReal(t, nil)
	for name, change := range map[string]func(*localbroker.Config){
		"password": func(c *localbroker.Config) { c.Password = "wrong" },
		"vhost":    func(c *localbroker.Config) { c.URL += "nowhere" },
	} {
		b := r.another(change)
		ctx, stop := context.WithCancel(r.ctx)
		ran := make(chan error, 1)
		go func() { ran <- b.Run(ctx) }()
		r.eventually("down", func() bool { return b.Status().Consuming.State == "down" && b.Status().Consuming.Fix != "" })
		state := b.Status().Consuming
		if !strings.Contains(state.Reason, name) || strings.Contains(state.Reason+state.Fix, "wrong") {
			t.Errorf("%s: %+v", name, state)
		}
		if found := b.Inspect(r.ctx, localbroker.Wish{}); len(found) != 1 || found[0].Level != localbroker.Broken || found[0].Text != state.Reason {
			t.Errorf("%s: %+v", name, found)
		}
		stop()
		<-ran
	}
}

func TestRealInspectSeesWithoutChanging(t *testing.T) {
	r := onReal(t, nil)
	r.exchange()
	_, err := r.service.QueueDeclare(r.source().Queue, true, false, false, false, amqp.Table{"x-max-length": int64(5)})
	must(t, err)
	found := r.ours.Inspect(r.ctx, localbroker.Wish{Sources: []federation.Source{r.source(), {Queue: "no.such.queue"}}, Exchanges: []string{r.name, "no.such.exchange"}})
	levels := map[string]localbroker.Level{}
	for _, f := range found {
		levels[f.Subject] = max(levels[f.Subject], f.Level)
		if f.Level != localbroker.Good && f.Fix == "" {
			t.Errorf("nothing to do about %+v", f)
		}
	}
	for subject, want := range map[string]localbroker.Level{
		"connection": localbroker.Good, fmt.Sprintf("exchange %q", r.name): localbroker.Good, `exchange "no.such.exchange"`: localbroker.Broken,
		fmt.Sprintf("queue %q", r.source().Queue): localbroker.Unsafe, `queue "no.such.queue"`: localbroker.Broken,
		fmt.Sprintf("owner lock %q", "cq.owner."+r.name+".0"): localbroker.Good, "permission to declare cq.*": localbroker.Good,
		fmt.Sprintf("permission to bind cq.* to exchange %q", r.name): localbroker.Good, fmt.Sprintf("permission to publish to exchange %q", r.name): localbroker.Good,
		"other permissions": localbroker.Unseen,
	} {
		if levels[subject] != want {
			t.Errorf("%s: %v, want %v", subject, levels[subject], want)
		}
	}
	if _, err := r.service.QueueDeclarePassive("no.such.queue", true, false, false, false, nil); err == nil {
		t.Fatal("declared")
	}
}
