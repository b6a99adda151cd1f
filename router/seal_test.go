package router

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

func TestADestinationOnThePathIsExcludedAndNoneGetsItAfterMaxHops(t *testing.T) {
	dests := []federation.Destination{{Site: "nyc"}, {Site: "sin"}, {Site: "sin", Target: 1}}
	tests := []struct {
		name    string
		path    []federation.SiteID
		maxHops int
		want    uint64
	}{
		{"fresh", nil, 8, 0},
		{"came from elsewhere", []federation.SiteID{"ams"}, 8, 0},
		{"came from one", []federation.SiteID{"nyc"}, 8, 0b001},
		{"every target of a site", []federation.SiteID{"ams", "sin"}, 8, 0b110},
		{"came from all", []federation.SiteID{"sin", "nyc"}, 8, 0b111},
		{"below max hops", []federation.SiteID{"a"}, 2, 0},
		{"at max hops", []federation.SiteID{"a", "b"}, 2, 0b111},
		{"no max hops", []federation.SiteID{"a", "b", "c"}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := excluded(tt.path, dests, tt.maxHops); got != tt.want {
				t.Errorf("excluded %b, want %b", got, tt.want)
			}
		})
	}
}

func TestABatchLingersOnlyWhenEnoughWouldCome(t *testing.T) {
	start := time.Now()
	tests := []struct {
		name  string
		every time.Duration // a batch of 10 messages
		idle  time.Duration // since the last one
		want  time.Duration
	}{
		{"100 messages a second", 100 * time.Millisecond, 0, 0},
		{"10,000 a second", time.Millisecond, 0, 10 * time.Millisecond},
		{"10,000 a second, then nothing", time.Millisecond, time.Second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &sealer{lane: &outLane{r: &Router{cfg: Config{Linger: 10 * time.Millisecond}}}}
			now := start
			for range 1000 {
				now = now.Add(tt.every)
				s.rate.add(10, now)
			}
			if got := s.linger(now.Add(tt.idle)); got != tt.want {
				t.Errorf("lingers %s, want %s", got, tt.want)
			}
		})
	}
}

func TestATombstoneKeepsItsReasonAndNotItsMessage(t *testing.T) {
	e := federation.Entry{Flags: federation.EntryDuplicate, Age: time.Second, TTL: time.Minute, Excluded: 3, Message: federation.Message{Body: []byte("large")}}

	got := tombstone(e, ReasonTooLarge)

	if got.Kind != federation.EntryTombstone || got.Reason != ReasonTooLarge || got.Message.Body != nil || got.TTL != federation.NoTTL ||
		got.Flags != e.Flags || got.Age != e.Age || got.Excluded != e.Excluded {
		t.Errorf("tombstone %+v", got)
	}
}

func TestEveryPartOfAMessageCountsAgainstMaxMessageSizeAndItsParkingSaysSo(t *testing.T) {
	route, dests := topology.Route{MaxMessageSize: 100}, []federation.Destination{{Site: "nyc"}}
	fits := federation.Entry{Message: federation.Message{Exchange: "orders", RoutingKey: "eu", Properties: []byte{0, 0}, Body: make([]byte, 90)}}
	over := federation.Entry{Message: federation.Message{Exchange: "orders", RoutingKey: "eu", Properties: []byte{0, 0}, Body: make([]byte, 91)}}

	if got := whyBuried(&fits, dests, route); got != "" {
		t.Errorf("of 100 bytes: %q", got)
	}
	if got := whyBuried(&over, dests, route); got != ReasonTooLarge {
		t.Errorf("of 101 bytes: %q", got)
	}
	park := parkAtOrigin(orders, 1, 1, over, ReasonTooLarge, time.Now()).(spool.ParkRecord)
	if want := "exchange, routing key, properties (headers) and body have 101 bytes together, over max-message-size of the route"; park.Errors != want {
		t.Errorf("parked with %q, want %q", park.Errors, want)
	}
}

func TestARateFollowsArrivalsWithoutOvershootingTheirBursts(t *testing.T) {
	var r arrivalRate
	now := time.Now()
	for range 200 { // 400 a second, in bursts of 10
		now = now.Add(25*time.Millisecond - 9*time.Microsecond)
		for range 10 {
			now = now.Add(time.Microsecond)
			r.add(1, now)
		}
		if r.perSecond > 500 {
			t.Fatalf("rate %.0f of 400 messages a second", r.perSecond)
		}
	}
	if r.perSecond < 300 {
		t.Errorf("rate %.0f of 400 messages a second", r.perSecond)
	}
}

// visited says of a message with the properties "visited" that it was at nyc, and of one with "bad" at a place that no site can be.
type visited struct{ plainProperties }

func (visited) Facts(raw []byte) (PropertyFacts, error) {
	facts := PropertyFacts{TTL: federation.NoTTL}
	switch string(raw) {
	case "visited":
		facts.ID, facts.Path, facts.TTL = "nyc/back@7:1", []federation.SiteID{"ber", "nyc"}, time.Minute
	case "bad":
		facts.Path = []federation.SiteID{"Bad Site"}
	}
	return facts, nil
}

// give hands over a message of a route with properties.
func (s *story) give(route, properties, body string) {
	c := s.broker.consumer("cq.out." + route)
	c.mu.Lock()
	c.given++
	c.deliveries <- federation.Delivery{Tag: federation.Tag{Incarnation: c.incarnation, Number: c.given},
		Message: federation.Message{Exchange: route, Properties: []byte(properties), Body: []byte(body)}}
	c.mu.Unlock()
	synctest.Wait()
}

// stored opens the batch of a lane that holds an offset.
func (s *story) stored(lane federation.Lane, at federation.Offset) []federation.Entry {
	s.t.Helper()
	b, err := s.spool.Read(s.t.Context(), lane, s.router.out[lane].generation(), at)
	if err != nil {
		s.t.Fatal(err)
	}
	coder, err := federation.NewCoder()
	if err != nil {
		s.t.Fatal(err)
	}
	entries, err := b.Open(coder)
	if err != nil {
		s.t.Fatal(err)
	}
	return entries
}

func TestAMessageThatNoBatchTakesIsParkedAndNeverHoldsItsLane(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.router.cfg.Properties = visited{}
		l := s.opened()
		s.give("orders", "", "a")
		s.give("orders", "bad", "b")
		s.give("orders", "", "c")

		if got := s.router.OutLanes()[0]; got.State != "running" || got.LastAssigned != 3 {
			t.Errorf("lane %+v", got)
		}
		if got := len(l.sent()); got != 3 {
			t.Errorf("%d batches were sent, want 3", got)
		}
		if got := s.stored(orders, 2)[0]; got.Kind != federation.EntryTombstone || got.Reason != ReasonBadProperties {
			t.Errorf("entry %+v", got)
		}
		parked := s.spool.Parked()
		if len(parked) != 1 || parked[0].Reason != ReasonBadProperties || parked[0].ID.Offset != 2 || parked[0].ID.Destination != atAms {
			t.Fatalf("parked %+v", parked)
		}
		if p, err := s.spool.ReadPark(t.Context(), parked[0].ID); err != nil || string(p.Entry.Message.Body) != "b" {
			t.Errorf("parked %+v, %v", p, err)
		}
	})
}

func TestMessagesThatAreTooLargeTogetherAreSealedApart(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		var list []takenDelivery
		for i, size := range []int{1, 12 << 20, 12 << 20, 1} {
			tag := federation.Tag{Incarnation: 1, Number: uint64(i + 1)}
			list = append(list, takenDelivery{federation.Delivery{Tag: tag, Message: federation.Message{Exchange: "orders", Body: make([]byte, size)}}, time.Now()})
		}
		in := s.router.out[orders].in
		if err := in.submit(t.Context(), list); err != nil { // its own goroutine waits for messages
			t.Fatal(err)
		}
		synctest.Wait()

		if got := s.router.OutLanes()[0]; got.State != "running" || got.LastAssigned != 4 {
			t.Errorf("lane %+v", got)
		}
		if diff := cmp.Diff([]federation.Offset{1, 3}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestWhatHadExpiredWhenItWasParkedIsNotPublishedAgain(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		err := s.router.publishParked(t.Context(), spool.ParkRecord{Lane: events, Offset: 1, Destination: atAms, Entry: federation.Entry{TTL: 0}})
		if err == nil || len(s.broker.bodies()) != 0 {
			t.Errorf("error %v, appeared %q", err, s.broker.bodies())
		}
	})
}

// forBoth sends to two sites what has at most so many bytes.
const forBoth = `
federation: acme
sites:
  ams: {listen: ["127.0.0.1:1"]}
  nyc: {listen: ["127.0.0.1:2"]}
  sin: {listen: ["127.0.0.1:3"]}
routes:
  back:
    from: {site: nyc, exchange: back, keys: ["#"]}
    to: [{site: ams}]
  both:
    from: {site: ams, exchange: both, keys: ["#"]}
    to: [{site: nyc}, {site: sin}]
    max-message-size: `

func TestAMessageThatIsSealedAgainKeepsItsPathItsLifetimeAndItsTime(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		both := federation.Lane{Origin: "ams", Route: "both"}
		s.router.cfg.Properties = visited{}
		s.apply(forBoth + "10B")
		s.give("both", "visited", "more than ten bytes")
		time.Sleep(time.Hour)
		s.apply(forBoth + "1KiB")
		done, err := s.router.Redrive(t.Context(), admin.ParkAction{Who: "test", Why: "the limit was raised"})
		if err != nil || done.Done != 1 {
			t.Fatalf("%+v, %v", done, err)
		}

		first, again := s.stored(both, 1)[0], s.stored(both, 2)[0]
		if first.Kind != federation.EntryTombstone || first.Reason != ReasonTooLarge {
			t.Errorf("first %+v", first)
		}
		if again.Excluded != 1 || again.TTL != time.Minute || again.Age != time.Hour || !slices.Equal(again.Path, []federation.SiteID{"ber", "nyc"}) {
			t.Errorf("again: excluded %b, ttl %s, age %s, path %s", again.Excluded, again.TTL, again.Age, again.Path)
		}
	})
}
