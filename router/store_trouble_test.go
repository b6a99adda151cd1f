package router

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

func (s *story) wantLaneIn(what string, state federation.State, done federation.Offset, reason, fix string) {
	s.t.Helper()
	synctest.Wait()
	got := s.router.InLanes()[0]
	if got.State != state || got.Done != done || !strings.Contains(got.Reason, reason) || !strings.Contains(got.Fix, fix) {
		s.t.Errorf("%s: done %d, %+v", what, got.Done, got.Condition)
	}
}

func TestALaneIsHeldAtItsDestinationWhileTheStoreIsUnwell(t *testing.T) {
	causes := map[string]struct {
		err         error
		reason, fix string
	}{
		"disk full":   {fmt.Errorf("%w: %w", spool.ErrNoSpace, syscall.ENOSPC), "the disk of memory has no space left", "free space on the disk of memory"},
		"disk broken": {syscall.EIO, "input/output error", "repair the store in memory"},
	}
	for name, cause := range causes {
		t.Run(name, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				l := s.begun(7)
				s.wantLaneIn("before", "running", 0, "", "")
				s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Err: cause.err} })
				s.router.Copy(l, s.copyOf(7, 1, "a"), func(federation.Verdict, time.Duration) {})
				time.Sleep(time.Minute)
				s.wantLaneIn("while the store is unwell", "held", 0, cause.reason, cause.fix)

				s.disk.SetFault(nil)
				time.Sleep(time.Minute)
				s.wantLaneIn("afterwards", "running", 1, "", "")
			})
		})
	}
}

func TestParksThatAFullDiskRefusesAreSaidUntilTheyAreTaken(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.limit = 1 << 10
		before := uint64(1 << 40) // of a memstore
		s.disk.SetCapacity(s.spool.Usage().Reserve)
		time.Sleep(2 * time.Second) // the spool asks the disk
		s.router.Copy(l, s.copyOf(7, 1, "a", strings.Repeat("b", 2<<10), "c"), func(federation.Verdict, time.Duration) {})
		time.Sleep(2 * maxPause)
		s.router.Copy(l, s.copyOf(7, 4, "d"), func(federation.Verdict, time.Duration) {})
		time.Sleep(maxPause / 5) // before the next try to park
		s.wantLaneIn("on the full disk, with a neighbour delivered", "held", 1, "messages cannot be parked: the disk of memory is full", "free space on the disk of memory")
		if got := s.broker.appeared; len(got) != 3 {
			t.Errorf("published: %q, want a, c and d", got)
		}

		s.disk.SetCapacity(before)
		time.Sleep(2 * maxPause)
		s.wantLaneIn("with space", "running", 4, "", "")
		if n := len(s.spool.Parked()); n != 1 {
			t.Errorf("%d parked, want 1", n)
		}
	})
}
