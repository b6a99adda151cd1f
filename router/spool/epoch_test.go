package spool_test

import (
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

func TestAnEpochIsTheTimeOfItsOpening(t *testing.T) {
	now := time.UnixMilli(1_764_534_000_456)
	if got := spool.NextEpoch(1_764_534_000_455, now); got != 1_764_534_000_456 {
		t.Errorf("epoch %d", got)
	}
}

func TestTwoCopiesOfAStoreHardlyGetOneEpochWhenTheClockWasPutBack(t *testing.T) {
	const previous = 1_764_534_000_456
	now := time.UnixMilli(previous).Add(-time.Hour)
	seen := map[federation.Epoch]bool{}
	for range 100 {
		epoch := spool.NextEpoch(previous, now)
		if epoch <= previous || epoch > previous+5000 {
			t.Fatalf("epoch %d after %d", epoch, previous)
		}
		seen[epoch] = true
	}
	if len(seen) < 50 { // 99 on average
		t.Errorf("of 100 copies only %d have an epoch of their own", len(seen))
	}
}
