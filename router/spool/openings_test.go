package spool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// openings opens a store so often, commits a group each time, and gives the epochs and last LSNs, and what the last opening remembers.
func openings(t *testing.T, disk *memstore.Disk, times int) (were, remembered []federation.Opening) {
	t.Helper()
	for range times {
		store, err := disk.Open()
		if err != nil {
			t.Fatal(err)
		}
		s, err := spool.Open(t.Context(), store, spool.Config{})
		if err != nil {
			t.Fatal(err)
		}
		remembered = s.Openings()
		were = append(were, federation.Opening{Epoch: s.Identity().Epoch, Last: s.LastLSN()})
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return were, remembered
}

func TestAStoreRemembersTheOpeningsBeforeThisOne(t *testing.T) {
	disk := memstore.New(memstore.Options{})
	were, remembered := openings(t, disk, 4)
	for i, o := range remembered {
		if o.Epoch != were[i].Epoch || !federation.WentOnFrom(remembered, were[i].Epoch, were[i].Last) {
			t.Errorf("opening %d is %+v, was %+v", i, o, were[i])
		}
	}
	if len(remembered) != 3 {
		t.Errorf("%d openings are remembered, want 3", len(remembered))
	}
}

func TestACopyOfAStoreNeverHearsOfTheOpeningsSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		openings(t, disk, 2)
		older := disk.Clone()
		were, _ := openings(t, disk, 1)
		time.Sleep(time.Hour) // epochs are times

		_, remembered := openings(t, older, 3)

		if federation.WentOnFrom(remembered, were[0].Epoch, were[0].Last) {
			t.Errorf("the copy claims the opening %+v: %s", were[0], cmp.Diff(were, remembered))
		}
	})
}
