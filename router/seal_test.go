package router

import (
	"testing"
	"time"

	"cloudqueue/federation"
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

	got := tombstone(e, reasonTooLarge)

	if got.Kind != federation.EntryTombstone || got.Reason != reasonTooLarge || got.Message.Body != nil || got.TTL != federation.NoTTL ||
		got.Flags != e.Flags || got.Age != e.Age || got.Excluded != e.Excluded {
		t.Errorf("tombstone %+v", got)
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
