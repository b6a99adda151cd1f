package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"cloudqueue/sim/check"
	"cloudqueue/sim/load"
)

// seed of the bodies. They only have to be told apart.
const seed = 1

// flow is one route with its publisher.
type flow struct {
	route
	count     int
	publisher *load.Publisher
}

// flows share the messages.
func (w *world) flows(messages int) []*flow {
	var out []*flow
	for i, r := range routes {
		count := messages/len(routes) + min(1, (messages%len(routes))*(1-i))
		rate := float64(count) / publishing.Seconds()
		out = append(out, &flow{route: r, count: count, publisher: load.NewPublisher(load.PublisherConfig{URL: w.urls[r.from], Exchange: r.name,
			RoutingKey: r.name + ".demo", Lane: r.lane(), Seed: seed, Rate: rate, Count: count})})
	}
	return out
}

// publishing is how long the publishers take: long enough to see the faults happen.
const publishing = 12 * time.Second

func (w *world) publish(ctx context.Context, flows []*flow) <-chan error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range flows {
		group.Go(func() error { return f.publisher.Run(ctx) })
	}
	done := make(chan error, 1)
	w.start(func() { done <- group.Wait() })
	return done
}

// step is a thing that happens when a share of all messages is published.
type step struct {
	share float64
	text  string
	do    func(context.Context) error
}

func (w *world) story() []step {
	none := func(context.Context) error { return nil }
	return []step{
		{0, "publishing: orders from ams to nyc and sin, events from sin to ams", none},
		{0.20, "CUT   the link ams – nyc: no packet passes", w.link(true)},
		{0.45, "HEAL  the link ams – nyc", w.link(false)},
		{0.60, "KILL  the router of sin (SIGKILL), with messages in flight", func(context.Context) error { w.sites.Site("sin").Kill(); return nil }},
		{0.75, "START the router of sin again, on its store", func(ctx context.Context) error { return w.sites.Site("sin").Start(ctx) }},
	}
}

// link cuts or heals ams – nyc. ams dials nyc through nyc's proxy; nyc's own attempts, when ams's fail, go through that of
// ams, which no other site dials.
func (w *world) link(cut bool) func(context.Context) error {
	return func(context.Context) error {
		for _, name := range []string{"ams", "nyc"} {
			if cut {
				w.proxies[name].Cut()
			} else {
				w.proxies[name].Heal()
			}
		}
		return nil
	}
}

// reach waits until a share of all messages is published.
func (w *world) reach(ctx context.Context, flows []*flow, share float64) error {
	return until(ctx, func() bool {
		published, total := 0, 0
		for _, f := range flows {
			n, _ := f.publisher.Counts()
			published += n
			total += f.count
		}
		w.screen.show(w.progress(flows))
		return float64(published) >= share*float64(total)
	})
}

// patience is how long the last messages may take to arrive after the last publish.
const patience = time.Minute

// drained waits until nothing is missing at any destination, and no repeat can follow: every origin has its receipts.
func (w *world) drained(ctx context.Context, flows []*flow) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := until(ctx, func() bool {
		w.screen.show(w.progress(flows))
		for _, f := range flows {
			_, confirmed := f.publisher.Counts()
			for _, to := range f.to {
				if w.depth(to, f.queue()) < confirmed { // repeats may make it more
					return false
				}
			}
			for _, h := range w.histories(f) {
				if check.Judge(h).Lost.Count > 0 {
					return false
				}
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("not everything arrived within %s", patience)
	}
	if _, err := w.sites.Receipted(ctx); err != nil {
		return fmt.Errorf("everything arrived, but not every receipt came back within %s: %w", patience, err)
	}
	return nil
}

func (w *world) depth(site, queue string) int {
	q, _ := w.brokers[site].Queue(queue)
	return int(q.Ready)
}

// progress is a line per route and destination.
func (w *world) progress(flows []*flow) []string {
	var out []string
	for _, f := range flows {
		published, confirmed := f.publisher.Counts()
		for _, to := range f.to {
			arrived := w.depth(to, f.queue())
			out = append(out, fmt.Sprintf("  %-6s %s → %s   published %6d  confirmed %6d  arrived %6d  %s", f.name, f.from, to, published, confirmed, arrived, bar(arrived, f.count)))
		}
	}
	return out
}

func bar(n, of int) string {
	const width = 20
	full := min(width, n*width/max(1, of))
	return strings.Repeat("█", full) + strings.Repeat("·", width-full)
}

// histories are what the judge looks at: the publisher's side, and each destination's queue as it stands in the broker.
func (w *world) histories(f *flow) []check.History {
	var out []check.History
	for _, to := range f.to {
		out = append(out, check.History{Lane: f.lane(), Queue: to + " " + f.queue(), Published: f.publisher.Published(),
			Appeared: load.Appearances(w.brokers[to].Snapshot(f.queue()), seed), Routed: true})
	}
	return out
}

// dropOne removes one message by hand, from the middle of the first destination's queue.
func (w *world) dropOne(flows []*flow) {
	f := flows[0]
	to := f.to[0]
	list := w.brokers[to].Snapshot(f.queue())
	if len(list) == 0 {
		return
	}
	m := list[len(list)/2]
	w.brokers[to].Remove(f.queue(), m.Position)
	event, _ := load.ParseEvent(m.Body)
	w.screen.say(fmt.Sprintf("BREAK one message is removed by hand from %s at %s: %s %d", f.queue(), to, event.Lane, event.Index))
}
