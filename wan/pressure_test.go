package wan

import (
	"context"
	"errors"
	"testing"
	"time"

	"cloudqueue/federation"
)

// slow makes a link whose peer takes no copies from the network: its stream windows are 64 KiB and nobody reads.
func (w *world) slow() (s *site, r *rogue, link *Link) {
	w.t.Helper()
	s = w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
	r = w.rogue("ams", "10.0.0.1").connect(s)
	go r.beat()
	return s, r, s.endpoint.peer("ams").current()
}

func ignore(federation.Verdict, time.Duration) {}

func TestCopyWaitsWhileTheQueueIsFullAndItsContextEndsIt(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		_, _, link := w.slow()
		b := batches(t, testLane(1), 1, 600<<10)[0]
		send := func(bound time.Duration) error {
			ctx, cancel := context.WithTimeout(context.Background(), bound)
			defer cancel()
			return link.Copy(ctx, 1, testLane(1), federation.Sidecar{}, b, ignore)
		}
		if err := send(time.Second); err != nil { // being written
			t.Fatal(err)
		}
		began := time.Now()

		err := send(5 * time.Second) // with the first one over the megabyte

		if d := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || d != 5*time.Second {
			t.Errorf("got %v after %s, want the context's end after 5 s", err, d)
		}
		if err := link.Copy(context.Background(), 0, testLane(1), federation.Sidecar{}, b, ignore); err != nil {
			t.Errorf("another class waits too: %v", err)
		}
		link.Close("test")
		sleep(time.Second)
	})
}

func TestCopyThatWaitsEndsWithTheLink(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		_, _, link := w.slow()
		b := batches(t, testLane(1), 1, 600<<10)[0]
		failed := make(chan error, 10)
		for range 10 {
			go func() {
				failed <- link.Copy(context.Background(), 1, testLane(1), federation.Sidecar{}, b, func(v federation.Verdict, _ time.Duration) {
					failed <- nil
				})
			}()
		}
		sleep(time.Second)

		link.Close("test")
		sleep(time.Second)

		// One copy was taken: Copy gave nil and its answer was LINK_LOST. Nine waited.
		var taken, down int
		for range 11 {
			switch err := <-failed; {
			case err == nil:
				taken++
			case errors.Is(err, ErrLinkDown):
				down++
			}
		}
		if taken != 2 || down != 9 {
			t.Errorf("%d taken or answered, %d down; want 2 and 9", taken, down)
		}
		if err := link.Copy(context.Background(), 1, testLane(1), federation.Sidecar{}, b, ignore); !errors.Is(err, ErrLinkDown) {
			t.Errorf("Copy after the end: %v", err)
		}
		window := federation.Window{Lane: testLane(1), Generation: 1, Destination: federation.Destination{Site: "nyc"}, Next: 1}
		if err := link.Send(context.Background(), window); !errors.Is(err, ErrLinkDown) {
			t.Errorf("Send after the end: %v", err)
		}
		if err := link.Send(context.Background(), federation.DrainDone{}); err == nil || errors.Is(err, ErrLinkDown) {
			t.Errorf("Send of a frame of the link's own: %v", err)
		}
	})
}

func TestCopyRefusesWhatThePeerDoesNotTakeOrNobodyCanEncode(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		nyc.cfg.MaxBatch = 10_000
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)
		small, large := batches(t, testLane(1), 1, 1000)[0], batches(t, testLane(1), 1, 10_000)[0]

		if err := ams.link(nyc).Copy(context.Background(), 1, testLane(1), federation.Sidecar{}, large, ignore); !errors.Is(err, federation.ErrTooLarge) {
			t.Errorf("a batch over the peer's limit: %v", err)
		}
		long := federation.Sidecar{Path: make([]federation.SiteID, federation.MaxPath+1)}
		if err := ams.link(nyc).Copy(context.Background(), 1, testLane(1), long, small, ignore); err == nil {
			t.Error("a path over the limit was taken")
		}
		answers := newLedger()
		answers.copyAll(t, ams.link(nyc), 255, []*federation.Batch{small})
		sleep(time.Second)

		if counts, err := answers.tally(); err != nil || counts[federation.OK] != 1 {
			t.Errorf("the copy after the refused ones, of class 255: %v, %v", counts, err)
		}
	})
}

func TestUrgentCopiesPassABacklog(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		w.net.mu.Lock()
		w.net.rate = 1_250_000 // 10 Mbit/s
		w.net.mu.Unlock()
		link := ams.link(nyc)
		for i := range 200 { // lanes on both bulk streams of connection 0
			if hashLane(testLane(i))>>32&1 == 0 {
				bulk := batches(t, testLane(i), 1, 500<<10)[0]
				for class := uint8(1); class < 4; class++ {
					go link.Copy(context.Background(), class, testLane(i), federation.Sidecar{}, bulk, ignore)
				}
			}
		}
		sleep(5 * time.Second)
		lane := 0
		for hashLane(testLane(lane))>>32&1 != 0 {
			lane++
		}
		urgent := batches(t, testLane(lane), 1, 100<<10)[0]
		began := time.Now()
		answered := make(chan time.Duration, 1)

		if err := link.Copy(context.Background(), 0, testLane(lane), federation.Sidecar{}, urgent, func(federation.Verdict, time.Duration) { answered <- time.Since(began) }); err != nil {
			t.Fatal(err)
		}

		// Alone it takes 0.08 s and a round trip of 0.1 to 0.2 s; a seventh of the link would make it 0.6 s longer.
		if d := <-answered; d > 600*time.Millisecond {
			t.Errorf("an urgent copy took %s beside a backlog", d)
		}
		link.Close("test")
		sleep(time.Second)
	})
}
