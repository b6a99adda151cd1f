package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// damaged is a store that one test harms: what it held, and how the harm must show.
type damaged struct {
	disk    *memstore.Disk
	batches map[federation.Offset][]byte // of lane "orders"
	last    int                          // value of the mark
}

// damageable writes commits of one batch and one mark into segments of 4 KiB and leaves them in good order, or by a kill.
func damageable(t testing.TB, commits int, clean bool) *damaged {
	t.Helper()
	d := &damaged{memstore.New(memstore.Options{}), make(map[federation.Offset][]byte), commits}
	s := start(t, d.disk, small())
	for i := 1; i <= commits; i++ {
		b := sealed(t, "orders", federation.Offset(i), 1, 150)
		d.batches[federation.Offset(i)] = b.Bytes()
		s.commit(spool.BatchRecord{Batch: b}, spool.MarkRecord{Key: receipt("orders"), Value: fmt.Append(nil, i)})
	}
	if clean {
		s.close()
	}
	s.abandon()
	d.disk.Kill()
	return d
}

// verdict is what opening a harmed store and reading all of it shows.
type verdict struct {
	loud   bool // an error at Open, or a *CorruptError while reading
	served int  // offsets that could be read
	mark   string
	broken string // what was served wrong
}

// examine opens a harmed copy of the store and reads all of the lane.
func (d *damaged) examine(t testing.TB, disk *memstore.Disk) (v verdict) {
	t.Helper()
	ctx := t.Context()
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	s, err := spool.Open(ctx, store, small())
	if err != nil {
		if !errors.Is(err, federation.ErrCorrupt) && !errors.Is(err, federation.ErrVersion) {
			v.broken = fmt.Sprintf("open: %v", err)
		}
		v.loud = true
		return v
	}
	defer func() {
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}()
	v.loud = len(s.Corrupt()) > 0
	mark, _ := s.Mark(receipt("orders"))
	v.mark = string(mark)
	for from := federation.Offset(1); ; {
		b, err := s.Read(ctx, lane("orders"), born, from)
		var corrupt *spool.CorruptError
		switch {
		case errors.Is(err, spool.ErrNone):
			return v
		case errors.As(err, &corrupt), errors.Is(err, federation.ErrVersion):
			v.loud = true
			from++
			if from > federation.Offset(d.last) {
				return v
			}
			continue
		case err != nil:
			v.broken = fmt.Sprintf("read from %d: %v", from, err)
			return v
		}
		if !bytes.Equal(b.Bytes(), d.batches[b.Header.First]) {
			v.broken = fmt.Sprintf("served wrong bytes for %d", b.Header.First)
			return v
		}
		v.served++
		from = b.Header.Last() + 1
	}
}

// check says what is wrong with a verdict: something wrong was served, or something is missing and nobody was told though a later group or footer says that it was durable.
func (v verdict) check(want int, mustBeLoud bool) string {
	switch {
	case v.broken != "":
		return v.broken
	case v.loud:
		return ""
	case v.served < want && mustBeLoud:
		return fmt.Sprintf("%d of %d batches served, silently", v.served, want)
	case v.served < want-1:
		return fmt.Sprintf("%d of %d batches served, silently: more than the newest group", v.served, want)
	case v.mark != fmt.Sprint(v.served) && v.served > 0:
		return fmt.Sprintf("mark %q with %d batches", v.mark, v.served)
	}
	return ""
}

func TestEveryBitFlipOfASegmentIsFoundAndNothingWrongIsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		commits int
		clean   bool
		number  int // of the segment that is harmed, from the newest with groups back
	}{{"newest segment after a kill", 6, false, 0}, {"newest segment with a footer", 6, true, 0}, {"segment with a footer before the newest", 14, true, 1}, {"oldest of three", 22, false, 2}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := damageable(t, c.commits, c.clean)
			numbers := slices.Sorted(maps.Keys(groupEnds(d)))
			number := numbers[len(numbers)-1-c.number]
			data := d.disk.Segment(number)
			later := laterThings(d, number, c.clean)
			for bit := 0; bit < len(data)*8; bit++ {
				harmed := d.disk.Clone()
				flipped := bytes.Clone(data)
				flipped[bit/8] ^= 1 << (bit % 8)
				harmed.SetSegment(number, flipped)
				if wrong := d.examine(t, harmed).check(c.commits, later > int64(bit/8)); wrong != "" {
					t.Fatalf("segment %d, bit %d of byte %d of %d: %s", number, bit%8, bit/8, len(data), wrong)
				}
			}
			t.Logf("%d bit flips", len(data)*8)
		})
	}
}

func TestEveryTruncationOfASegmentIsFoundAndNothingWrongIsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		commits int
		clean   bool
	}{{"newest segment after a kill", 6, false}, {"segments with footers", 14, true}, {"older and newest segments", 22, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := damageable(t, c.commits, c.clean)
			numbers := slices.Sorted(maps.Keys(groupEnds(d)))
			cases := 0
			for i, number := range numbers {
				data := d.disk.Segment(number)
				for n := range data {
					harmed := d.disk.Clone()
					harmed.SetSegment(number, data[:n:n])
					cases++
					v := d.examine(t, harmed)
					want := v.served // the newest segment may end anywhere: no later group says more
					if i < len(numbers)-1 {
						want = c.commits
					}
					if wrong := v.check(want, true); wrong != "" {
						t.Fatalf("segment %d cut to %d of %d bytes: %s", number, n, len(data), wrong)
					}
				}
			}
			t.Logf("%d truncations", cases)
		})
	}
}

// laterThings gives the position in a segment before which a loss must be loud: where its last group begins, or its end when a later segment or its footer tells of all of it.
func laterThings(d *damaged, number uint64, footer bool) int64 {
	ends := groupEnds(d)
	size := int64(len(d.disk.Segment(number)))
	if footer || number < slices.Max(slices.Collect(maps.Keys(ends))) {
		return size
	}
	return ends[number][len(ends[number])-1]
}

// groupEnds gives, per segment that holds groups, where they begin.
func groupEnds(d *damaged) map[uint64][]int64 {
	ends := make(map[uint64][]int64)
	store, _ := d.disk.Open()
	for _, number := range d.disk.Numbers() {
		last := federation.LSN(0)
		_ = spool.Walk(context.Background(), store, number, func(e spool.WalkedRecord) error {
			if e.LSN != last {
				ends[number] = append(ends[number], e.Position-56)
				last = e.LSN
			}
			return nil
		}, func(*spool.CorruptError) {})
	}
	return ends
}

func TestAMissingSegmentIsLoud(t *testing.T) {
	t.Parallel()
	d := damageable(t, 40, false)
	numbers := slices.Sorted(maps.Keys(groupEnds(d)))
	for _, number := range numbers {
		if number == slices.Max(d.disk.Numbers()) {
			continue // nothing tells that there was a later one: it is for the peers to find a store that went back
		}
		harmed := d.disk.Clone()
		harmed.SetSegment(number, nil)
		if v := d.examine(t, harmed); !v.loud || v.broken != "" {
			t.Errorf("segment %d of %v is missing: %+v, want it loud", number, numbers, v)
		}
	}
}

func TestSegmentsThatAreNotTheirOwnAreRefused(t *testing.T) {
	t.Parallel()
	d := damageable(t, 40, false)
	numbers := slices.Sorted(maps.Keys(groupEnds(d)))
	first, second, newest := numbers[0], numbers[1], numbers[len(numbers)-1]
	other := damageable(t, 40, false)
	for _, c := range []struct {
		name string
		harm func(disk *memstore.Disk)
	}{
		{"two swapped", func(disk *memstore.Disk) {
			disk.SetSegment(first, d.disk.Segment(second))
			disk.SetSegment(second, d.disk.Segment(first))
		}},
		{"one copied over another", func(disk *memstore.Disk) { disk.SetSegment(second, d.disk.Segment(first)) }},
		{"one copied behind the newest", func(disk *memstore.Disk) { disk.SetSegment(newest+5, d.disk.Segment(first)) }},
		{"one of another store", func(disk *memstore.Disk) { disk.SetSegment(second, other.disk.Segment(second)) }},
		{"the newest of another store", func(disk *memstore.Disk) { disk.SetSegment(newest, other.disk.Segment(newest)) }},
		{"an empty one in the middle", func(disk *memstore.Disk) { disk.SetSegment(second, []byte{}) }},
	} {
		harmed := d.disk.Clone()
		c.harm(harmed)
		if v := d.examine(t, harmed); !v.loud || v.broken != "" {
			t.Errorf("%s: %+v, want it loud", c.name, v)
		}
	}
}

func TestAWordOfAnAdminGivesUpWhatIsCorrupt(t *testing.T) {
	t.Parallel()
	d := damageable(t, 40, false)
	groups := groupEnds(d)
	numbers := slices.DeleteFunc(slices.Sorted(maps.Keys(groups)), func(n uint64) bool { return len(groups[n]) < 5 })
	for _, number := range []uint64{numbers[0], numbers[len(numbers)-1]} {
		harmed := d.disk.Clone()
		data := harmed.Segment(number)
		data[groups[number][3]+100] ^= 1
		harmed.SetSegment(number, data)
		cfg := small()
		cfg.Accept = &spool.Word{Who: "admin", Why: "disk replaced"}
		s := start(t, harmed, cfg)
		if audits := s.Audits(); len(audits) != 1 || audits[0].Who != "admin" {
			t.Fatalf("audits %+v", audits)
		}
		s.commit(spool.MarkRecord{Key: receipt("after"), Value: []byte("x")})
		s.close()
		for range 2 { // it is decided once
			s = start(t, harmed, small())
			if c := s.Corrupt(); len(c) != 0 {
				t.Fatalf("still corrupt after the word: %v", c[0])
			}
			served := 0
			for from := federation.Offset(1); ; served++ {
				b, err := s.Read(t.Context(), lane("orders"), born, from)
				if errors.Is(err, spool.ErrNone) {
					break
				}
				if errors.Is(err, federation.ErrCorrupt) { // the footer names the batch: a VOID of its offsets gives it up
					from++
					b, err = s.Read(t.Context(), lane("orders"), born, from)
				}
				if err != nil || !bytes.Equal(b.Bytes(), d.batches[b.Header.First]) {
					t.Fatalf("read from %d: %v", from, err)
				}
				from = b.Header.Last() + 1
			}
			if served < 20 || served >= 40 {
				t.Fatalf("%d of 40 batches are left", served)
			}
			s.close()
		}
	}
}
