package spool_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// crowded is a spool of which a group of 6,000 bytes waits for the store, and of whose 8,000 of queue a submission of 6,000 wants its part.
// A third one of 100 bytes, for which there would be room, has come after it.
type crowded struct {
	*session
	hung         atomic.Bool
	large, small chan error
	giveUp       context.CancelFunc // of the large one
}

func crowd(t *testing.T) *crowded {
	t.Helper()
	disk := memstore.New(memstore.Options{})
	cfg := small()
	cfg.MaxQueuedBytes = 8_000
	c := &crowded{session: start(t, disk, cfg), large: make(chan error, 1), small: make(chan error, 1)}
	c.commit(spool.MarkRecord{Key: receipt("warm"), Value: []byte("up")})
	synctest.Wait()
	disk.SetFault(func(memstore.Op) memstore.Fault {
		if c.hung.Load() {
			return memstore.Fault{Delay: time.Second, Err: errDisk}
		}
		return memstore.Fault{}
	})
	c.hung.Store(true)
	c.submit(spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 6_000)})
	ctx, giveUp := context.WithCancel(c.ctx)
	c.giveUp = giveUp
	go func() { c.large <- c.Commit(ctx, spool.BatchRecord{Batch: sealed(t, "orders", 2, 1, 6_000)}) }()
	synctest.Wait()
	go func() { c.small <- c.Commit(c.ctx, spool.BatchRecord{Batch: sealed(t, "news", 1, 1, 100)}) }()
	synctest.Wait()
	return c
}

func TestASmallSubmissionDoesNotPassALargeOneThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd(t)
		if queued := c.Usage().Queued; queued < 6_000 || queued > 6_250 {
			t.Errorf("%d bytes queued, want the first batch alone", queued)
		}

		c.hung.Store(false)

		if err := errors.Join(<-c.large, <-c.small); err != nil {
			t.Error(err)
		}
		c.giveUp()
		c.close()
	})
}

func TestOneThatGivesUpWaitingForRoomLetsTheNextIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd(t)

		c.giveUp()

		if err := <-c.large; !errors.Is(err, context.Canceled) {
			t.Errorf("the large one: %v", err)
		}
		synctest.Wait()
		if queued := c.Usage().Queued; queued < 6_300 {
			t.Errorf("%d bytes queued, want the small one among them", queued)
		}
		c.hung.Store(false)
		if err := <-c.small; err != nil {
			t.Error(err)
		}
		c.close()
	})
}

func TestTheEndOfTheSpoolEndsThoseThatWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd(t)
		c.stop()
		for _, err := range []error{<-c.large, <-c.small} {
			if !errors.Is(err, spool.ErrClosed) && !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want the end of the spool", err)
			}
		}
		c.giveUp()
	})
}
