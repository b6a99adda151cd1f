package localdir_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir/crashdisk"
)

// reopenEvery is how many states are between two that are written to and opened again: the writing costs ten times the reading.
const reopenEvery = 7

// A moment at which several files have unsynced tails has the product of their states: once in a while hundreds of thousands. Beyond
// wholeMoment every sampleOf'th is opened (a prime, so that every kind of tail is met), and beyond longMoment none.
const (
	wholeMoment = 1000
	sampleOf    = 31
	longMoment  = 30_000
)

// state is a directory, and how many commits must be in it.
type state struct {
	disk  uint64 // its digest
	least federation.Offset
}

// distinct is how many directories were examined that differ.
func (l *life) distinct() int {
	disks := map[uint64]bool{}
	for s := range l.examined {
		disks[s.disk] = true
	}
	return len(disks)
}

// examineAll opens the states of this moment that were not examined before, several at a time: each mostly waits.
func (l *life) examineAll() error {
	least := l.acknowledged() // before the disk's state is taken: what is acknowledged later may be missing in it
	var group errgroup.Group
	group.SetLimit(8)
	met := 0
	for image := range l.disk.Crashes() {
		if met++; met > longMoment {
			break
		}
		if met > wholeMoment && met%sampleOf != 0 {
			continue
		}
		this := state{image.Digest(), least}
		if l.examined[this] {
			continue
		}
		l.examined[this] = true
		write := len(l.examined)%reopenEvery == 0
		group.Go(func() error {
			if err := l.examine(image, least, write); err != nil {
				return fmt.Errorf("%s%w", image.Outcome, err)
			}
			return nil
		})
	}
	return group.Wait()
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
