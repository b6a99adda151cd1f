package localdir_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/crashdisk"
	"cloudqueue/router/spool/storetest"
)

// leastStates keeps a change of the script from making the enumeration small without anybody noticing. States that differ are
// counted: what stands after one operation mostly stands before the next. How many there are depends on what the spool's
// goroutines have in flight at once. The enumeration over memstore adds as many.
const leastStates = 10_000

// TestASpoolLosesNothingWhereverTheDiskCrashes runs a short life of a spool (batches, marks, parks, forgetting, cleaning, a
// clean stop, a second opening) and opens the directories that a crash before or after any write, sync, rename, create or
// remove could leave: every one, but where there are very many at one moment (examine_test.go). Each must hold what was committed, in whole groups, as a prefix; each must take new commits, and a
// second opening must find the same.
func TestASpoolLosesNothingWhereverTheDiskCrashes(t *testing.T) {
	disk := crashdisk.New(1 << 30)
	if _, err := localdir.InitFiles(disk, home, birth); err != nil {
		t.Fatal(err)
	}
	l := &life{t: t, disk: disk, examined: map[state]bool{}}
	var mu sync.Mutex // one moment at a time: the spool writes, creates and removes in several goroutines
	moments := 0
	crash := func(op crashdisk.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			return errDead // the first finding says it all
		}
		moments++
		err := l.examineAll()
		if err != nil {
			t.Errorf("moment %d, %+v: %v", moments, op, err)
		}
		return err
	}
	disk.Before, disk.After = crash, crash
	l.run()
	disk.Before, disk.After = nil, nil
	states := l.distinct()
	t.Logf("%d states at %d moments: nothing lost, nothing wrong, nothing out of order", states, moments)
	if states < leastStates {
		t.Errorf("%d states, want at least %d", states, leastStates)
	}
}

// life is a short life of a spool. Commit n holds batch n of the lane "orders", a mark with n, and for some n a parked
// message n or the end of one: whole groups survive together or not at all.
type life struct {
	t    *testing.T
	disk *crashdisk.Disk

	examined map[state]bool

	mu                   sync.Mutex // guards what follows: a crash is examined in the spool's goroutine
	submitted, committed federation.Offset
	forgotten            federation.Offset
}

// Batches of this size roll a segment of the smallest size every few commits.
const (
	bodySize  = 9 << 10
	parkEvery = 3 // commit 3n parks message 3n; commit 3n+2 ends the parking of message 3n when n is odd
)

func smallSpool() spool.Config { return spool.Config{SegmentSize: 64 << 10, Quota: 64 << 20} }

func (l *life) run() {
	for range 10 { // openings: the later ones recover, and go on. Eight make leastStates
		sp, stop := startOn(l.t, onDisk{l.disk})
		for range 10 {
			l.commit(sp)
		}
		l.forget(sp, l.acknowledged()-3)
		for range 4 {
			l.commit(sp)
		}
		stop()
	}
}

func (l *life) commit(sp *spool.Spool) {
	if l.t.Failed() {
		return
	}
	l.mu.Lock()
	l.submitted++
	n := l.submitted
	l.mu.Unlock()
	if err := sp.Commit(l.t.Context(), recordsOf(l.t, n)...); err != nil {
		l.t.Errorf("commit %d: %v", n, err)
		return
	}
	l.mu.Lock()
	l.committed = n
	l.mu.Unlock()
}

func (l *life) forget(sp *spool.Spool, upTo federation.Offset) {
	if l.t.Failed() {
		return
	}
	l.mu.Lock()
	l.forgotten = upTo
	l.mu.Unlock()
	sp.Forget(orders, generation, upTo)
}

// onDisk is a store on a disk in memory.
type onDisk struct{ *crashdisk.Disk }

func (d onDisk) Open() (spool.Segments, error) { return localdir.OpenFiles(d.Disk) }

// startOn opens the spool of a place and runs it until stop, or the end of the test.
func startOn(t *testing.T, place storetest.Place) (sp *spool.Spool, stop func()) {
	t.Helper()
	sp, end, err := tryStart(place)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := end(); err != nil && !t.Failed() {
			t.Errorf("stop: %v", err)
		}
	})
	t.Cleanup(stop)
	return sp, stop
}

func tryStart(place storetest.Place) (*spool.Spool, func() error, error) {
	ctx, cancel := context.WithCancel(context.Background()) // no deadline: a life takes as long as its crashes are examined
	dir, err := place.Open()
	if err != nil {
		cancel()
		return nil, nil, err
	}
	sp, err := spool.Open(ctx, dir, smallSpool())
	if err != nil {
		cancel()
		return nil, nil, errors.Join(err, dir.Close())
	}
	ran := make(chan error, 1)
	go func() { ran <- sp.Run(ctx) }()
	return sp, func() error {
		err := sp.Close(ctx)
		cancel()
		<-ran
		return errors.Join(err, dir.Close())
	}, nil
}
