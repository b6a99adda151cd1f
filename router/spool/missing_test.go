package spool_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// lostSegment gives a store of 40 batches of which an old segment is gone, its number, and the offsets that were in it.
func lostSegment(t *testing.T) (d *damaged, number uint64, held federation.Span) {
	t.Helper()
	d = damageable(t, 40, true)
	number = slices.Sorted(maps.Keys(groupEnds(d)))[1]
	store, _ := d.disk.Open()
	_ = spool.Walk(t.Context(), store, number, func(e spool.WalkedRecord) error {
		if b, is := e.Record.(spool.BatchRecord); is {
			if held.First == 0 {
				held.First = b.Batch.Header.First
			}
			held.Last = b.Batch.Header.Last()
		}
		return nil
	}, func(*spool.CorruptError) {})
	return d, number, held
}

func TestWhatAMissingSegmentHeldIsNamedWithTheVoidToType(t *testing.T) {
	t.Parallel()
	d, number, held := lostSegment(t)
	d.disk.SetSegment(number, nil)
	s := start(t, d.disk, small())

	_, err := s.Read(t.Context(), lane("orders"), born, held.First)

	var corrupt *spool.CorruptError
	if want := fmt.Sprintf("orders %d-%d --reason corrupt --yes", held.First, held.Last); !errors.As(err, &corrupt) || !strings.Contains(corrupt.Fix(), want) {
		t.Errorf("read %d: %v, want a fix with %q", held.First, err, want)
	}
	for _, c := range []struct {
		ask, want federation.Span
	}{
		{federation.Span{First: 1, Last: 40}, held},
		{federation.Span{First: held.First + 1, Last: held.Last - 1}, federation.Span{First: held.First + 1, Last: held.Last - 1}},
		{federation.Span{First: held.Last + 1, Last: 40}, federation.Span{}},
		{federation.Span{First: held.Last + 1, Last: 50}, federation.Span{First: 41, Last: 50}},
	} {
		if got, _ := s.Missing(lane("orders"), born, c.ask); got != c.want {
			t.Errorf("missing of %v: %v, want %v", c.ask, got, c.want)
		}
	}
}

func TestASegmentThatGoesBeneathARunningSpoolIsNamedUntilItIsBack(t *testing.T) {
	t.Parallel()
	d, number, held := lostSegment(t)
	whole := d.disk.Segment(number)
	s := start(t, d.disk, small())
	d.disk.SetSegment(number, nil)

	for _, from := range []federation.Offset{held.First, held.First + 2} {
		_, err := s.Read(t.Context(), lane("orders"), born, from)
		var corrupt *spool.CorruptError
		if want := fmt.Sprintf("orders %d-%d --reason corrupt --yes", from, held.Last); !errors.As(err, &corrupt) || !strings.Contains(corrupt.Fix(), want) {
			t.Errorf("read %d: %v, want a fix with %q", from, err, want)
		}
	}
	if b, err := s.Read(t.Context(), lane("orders"), born, held.Last+1); err != nil || b.Header.First != held.Last+1 {
		t.Errorf("behind it: %v, %v", b, err)
	}

	d.disk.SetSegment(number, whole)
	if b, err := s.Read(t.Context(), lane("orders"), born, held.First); err != nil || b.Header.First != held.First {
		t.Errorf("put back: %v, %v", b, err)
	}
}

func TestAMissingSegmentStaysKnownUntilItIsThereAgainOrAbandoned(t *testing.T) {
	t.Parallel()
	d, number, _ := lostSegment(t)
	whole := d.disk.Segment(number)
	d.disk.SetSegment(number, nil)
	openings := func(cfg spool.Config, want int) {
		t.Helper()
		for range 3 {
			s := start(t, d.disk, cfg)
			if c := s.Corrupt(); len(c) != want {
				t.Fatalf("corrupt %v, want %d", c, want)
			}
			s.close()
		}
	}

	openings(small(), 1)
	d.disk.SetSegment(number, whole)
	openings(small(), 0)
	d.disk.SetSegment(number, nil)
	openings(small(), 1)
	accept := small()
	accept.Accept = &spool.Word{Who: "admin", Why: "no backup"}
	openings(accept, 0)
	openings(small(), 0)
}
