package localbroker

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestPrefetchNeverAsksForMoreThanItsBudgetOfWhatItSaw(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := newPrefetch(1<<20, 256)
		for range 2000 {
			size := int64(1) << r.IntN(22)
			p.seen(size)
			if n := p.count(); n < 1 || n > 256 || n > 1 && int64(n)*size > 1<<20 {
				t.Fatalf("seed %d: %d messages of %d bytes", seed, n, size)
			}
		}
	}
}

func TestPrefetchReachesItsMostWithSmallMessages(t *testing.T) {
	p := newPrefetch(4<<20, 1024)
	if p.count() != 8 {
		t.Fatalf("begins with %d", p.count())
	}
	for range firstQuiet {
		p.seen(1400)
	}
	if p.count() != 1024 {
		t.Fatalf("%d after %d small messages", p.count(), firstQuiet)
	}
}

// A mix of sizes must not make the consumer ask again and again: each time is a round trip without deliveries.
func TestPrefetchOfAMixSettles(t *testing.T) {
	p := newPrefetch(4<<20, 1024)
	asked := 0
	for i := range 1_000_000 {
		size := int64(1000)
		if i%100 == 99 {
			size = 1 << 20
		}
		if p.seen(size) {
			asked++
		}
	}
	if asked > 20 {
		t.Fatalf("asked %d times in a million messages", asked)
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	b := backoff{least: 100 * time.Millisecond, most: time.Second}
	for i := range 1000 {
		bound := min(100*time.Millisecond<<min(i, 10), time.Second)
		if d := b.next(); d <= 0 || d > bound+time.Millisecond {
			t.Fatalf("attempt %d waits %v, the bound is %v", i, d, bound)
		}
	}
	if d := (&backoff{}).next(); d <= 0 { // a quarter of a nanosecond
		t.Fatal(d)
	}
	b.reset()
	if d := b.next(); d > 101*time.Millisecond {
		t.Fatal(d)
	}
}

func TestFifoGivesEverythingInOrderAndUsesItsMemoryAgain(t *testing.T) {
	var q fifo[int]
	next, last := 0, 0
	for i := range 100_000 {
		q.push(last)
		last++
		if i > 500 {
			if got := q.pop(); got != next {
				t.Fatalf("%d, want %d", got, next)
			}
			next++
		}
	}
	if q.len() != last-next || cap(q.items) > 4096 {
		t.Fatalf("%d in it, %d slots", q.len(), cap(q.items))
	}
}
