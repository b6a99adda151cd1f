package localdir_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/crashdisk"
	"cloudqueue/router/spool/storetest"
)

// leastStates keeps a change of the script from making the enumeration small without anybody noticing. How many there are
// depends on what the spool's goroutines have in flight at once: 16,000 to 24,000 were seen. The enumeration over memstore
// adds twice as many.
const leastStates = 10_000

// TestASpoolLosesNothingWhereverTheDiskCrashes runs a short life of a spool (batches, marks, parks, forgetting, cleaning, a
// clean stop, a second opening) and opens every directory that a crash before or after any write, sync, rename, create or
// remove could leave. Each must hold what was committed, in whole groups, as a prefix; each must take new commits, and a
// second opening must find the same.
func TestASpoolLosesNothingWhereverTheDiskCrashes(t *testing.T) {
	disk := crashdisk.New(1 << 30)
	if _, err := localdir.InitFiles(disk, birth); err != nil {
		t.Fatal(err)
	}
	l := &life{t: t, disk: disk}
	var mu sync.Mutex // one moment at a time: the spool writes, creates and removes in several goroutines
	states, moments := 0, 0
	crash := func(op crashdisk.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			return errDead // the first finding says it all
		}
		moments++
		n, err := l.examineAll(states)
		states += n
		if err != nil {
			t.Errorf("moment %d, %+v: %v", moments, op, err)
		}
		return err
	}
	disk.Before, disk.After = crash, crash
	l.run()
	disk.Before, disk.After = nil, nil
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
	for range 5 { // openings: the later ones recover, and go on. Five, as three make fewer than leastStates now and then
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

var (
	orders     = federation.Lane{Origin: "ams", Route: "orders"}
	generation = federation.Generation(birth.UnixMilli())
	nyc        = federation.Destination{Site: "nyc"}
	countKey   = federation.MarkKey{Kind: federation.MarkReceipt, Lane: orders, Generation: generation, Dest: nyc}
)

func recordsOf(t *testing.T, n federation.Offset) []spool.Record {
	records := []spool.Record{
		spool.BatchRecord{Batch: batchOf(t, n)},
		spool.MarkRecord{Key: countKey, Value: binary.LittleEndian.AppendUint64(nil, uint64(n))},
	}
	switch n % parkEvery {
	case 0:
		records = append(records, parkOf(n))
	case 2:
		if parked := n - 2; parked > 0 && parked/parkEvery%2 == 1 {
			records = append(records, spool.UnparkRecord{Park: parkID(parked), Outcome: "dropped", Who: "admin", Why: "test", At: birth})
		}
	}
	return records
}

func parkID(n federation.Offset) spool.ParkID {
	return spool.ParkID{Lane: orders, Generation: generation, Offset: n, Destination: nyc}
}

func parkOf(n federation.Offset) spool.ParkRecord {
	return spool.ParkRecord{Lane: orders, Generation: generation, Offset: n, Destination: nyc, Reason: "unroutable", Attempts: 1, First: birth, Last: birth, Entry: entryOf(n)}
}

// isParked tells whether message n is parked when commit last was the last one.
func isParked(n, last federation.Offset) bool {
	ended := n/parkEvery%2 == 1 && last >= n+2
	return n > 0 && n%parkEvery == 0 && n <= last && !ended
}

func entryOf(n federation.Offset) federation.Entry {
	body := make([]byte, bodySize)
	for i := range body {
		body[i] = byte(uint64(n)*131 + uint64(i)*uint64(i)*31)
	}
	return federation.Entry{TTL: federation.NoTTL, Message: federation.Message{Exchange: "x", RoutingKey: fmt.Sprint(n), Properties: []byte{0, 0}, Body: body}}
}

var sealed sync.Map // federation.Offset → *federation.Batch: each is sealed once, as a batch is

func batchOf(t *testing.T, n federation.Offset) *federation.Batch {
	if b, ok := sealed.Load(n); ok {
		return b.(*federation.Batch)
	}
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	h := federation.Header{Lane: orders, Generation: generation, First: n, SealEpoch: 7, SealedAt: birth, Destinations: []federation.Destination{nyc}}
	b, err := federation.Seal(h, []federation.Entry{entryOf(n)}, federation.CodecNone, coder)
	if err != nil {
		t.Fatal(err)
	}
	sealed.Store(n, b)
	return b
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

// reopenEvery is how many states are between two that are written to and opened again: the writing costs ten times the reading.
const reopenEvery = 7

// examineAll opens every state of this moment, several at a time: each mostly waits. first is the number of the first one.
func (l *life) examineAll(first int) (states int, err error) {
	least := l.acknowledged() // before the disk's state is taken: what is acknowledged later may be missing in it
	var group errgroup.Group
	group.SetLimit(8)
	for image := range l.disk.Crashes() {
		states++
		write := (first+states)%reopenEvery == 0
		group.Go(func() error {
			if err := l.examine(image, least, write); err != nil {
				return fmt.Errorf("%s%w", image.Outcome, err)
			}
			return nil
		})
	}
	return states, group.Wait()
}

func (l *life) acknowledged() federation.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.committed
}

// examine opens what a crash left, in which least commits must be.
func (l *life) examine(image *crashdisk.Disk, least federation.Offset, write bool) error {
	l.mu.Lock()
	submitted, forgotten := l.submitted, l.forgotten
	l.mu.Unlock()
	sp, stop, err := tryStart(onDisk{image})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	last, err := survived(sp, forgotten)
	if err == nil && (last < least || last > submitted) {
		err = fmt.Errorf("commit %d is the last that survived; %d were acknowledged, %d submitted", last, least, submitted)
	}
	if !write {
		return errors.Join(err, stop())
	}
	if err == nil {
		err = sp.Commit(l.t.Context(), recordsOf(l.t, last+1)...)
	}
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return again(image, forgotten, last+1)
}

// again opens the image a second time.
func again(image *crashdisk.Disk, forgotten, want federation.Offset) error {
	sp, stop, err := tryStart(onDisk{image})
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	last, err := survived(sp, forgotten)
	if err == nil && last != want {
		err = fmt.Errorf("the second opening finds commit %d as the last, want %d", last, want)
	}
	return errors.Join(err, stop())
}

// survived finds the last commit that is there, and checks that everything agrees with it: the mark, every batch that may
// not be forgotten, byte for byte, and what is parked.
func survived(sp *spool.Spool, forgotten federation.Offset) (last federation.Offset, err error) {
	if corrupt := sp.Corrupt(); len(corrupt) > 0 {
		return 0, fmt.Errorf("a crash was taken for corruption: %w", corrupt[0])
	}
	if value, ok := sp.Mark(countKey); ok {
		last = federation.Offset(binary.LittleEndian.Uint64(value))
	}
	ctx := context.Background()
	for n := forgotten + 1; n <= last; n++ {
		b, err := sp.Read(ctx, orders, generation, n)
		if err != nil || !bytes.Equal(b.Bytes(), mustSealed(n).Bytes()) {
			return last, fmt.Errorf("batch %d of %d: %w", n, last, err)
		}
	}
	if b, err := sp.Read(ctx, orders, generation, last+1); !errors.Is(err, spool.ErrNone) {
		return last, fmt.Errorf("the mark says %d, but there is batch %v, %w", last, b, err)
	}
	return last, parksAgree(sp, last)
}

func mustSealed(n federation.Offset) *federation.Batch {
	b, _ := sealed.Load(n)
	return b.(*federation.Batch)
}

func parksAgree(sp *spool.Spool, last federation.Offset) error {
	there := map[spool.ParkID]bool{}
	for _, p := range sp.Parked() {
		there[p.ID] = true
	}
	for n := federation.Offset(1); n <= last; n++ {
		if there[parkID(n)] != isParked(n, last) {
			return fmt.Errorf("message %d parked: %v, want %v after commit %d", n, there[parkID(n)], isParked(n, last), last)
		}
		delete(there, parkID(n))
	}
	if len(there) > 0 {
		return fmt.Errorf("%d messages are parked that nobody parked", len(there))
	}
	return nil
}
