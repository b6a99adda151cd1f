package site_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// write opens a store, commits records, and closes it in good order.
func write(t *testing.T, folder string, records ...spool.Record) {
	t.Helper()
	store, err := localdir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(t.Context(), store, spool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- sp.Run(context.WithoutCancel(t.Context())) }()
	if err := errors.Join(sp.Commit(t.Context(), records...), sp.Close(t.Context()), <-ran); err != nil {
		t.Fatal(err)
	}
}

// storeOf makes a store of ams with one lane to nyc: so many batches of one message of that many bytes.
func storeOf(t *testing.T, folder string, batches federation.Offset, size int) spool.Identity {
	t.Helper()
	made, err := localdir.Init(folder, spool.Home{Site: "ams", Federation: "acme"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	lane, nyc := federation.Lane{Origin: "ams", Route: "orders"}, federation.Destination{Site: "nyc"}
	mark := federation.LaneMark{Generation: 7, Shards: 1, Members: []federation.Membership{{Destination: nyc, Join: 1}}}
	records := []spool.Record{spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkLane, Lane: lane}, Value: mark.Encode()}}
	for first := federation.Offset(1); first <= batches; first++ {
		h := federation.Header{Lane: lane, Generation: 7, First: first, SealEpoch: 1, SealedAt: time.Now(), Destinations: []federation.Destination{nyc}}
		b, err := federation.Seal(h, []federation.Entry{{TTL: federation.NoTTL, Message: federation.Message{Properties: []byte{0, 0}, Body: make([]byte, size)}}}, federation.CodecNone, coder)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, spool.BatchRecord{Batch: b})
	}
	write(t, folder, records...)
	return made
}

func TestARefusedResealLeavesTheStoreItsID(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "spool")
	made := storeOf(t, folder, 1, 32<<10)
	segments, err := filepath.Glob(filepath.Join(folder, "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	write(t, folder, spool.AuditRecord{Who: "test", What: "a later segment has the marks", At: time.Now()})
	if err := os.Remove(segments[0]); err != nil {
		t.Fatal(err)
	}

	cfg := &site.Config{Site: "ams", Federation: "acme", Store: site.StoreConfig{Dir: folder}}
	q := router.ResealRequest{Who: "test", Why: "put back"}
	var refused *admin.Error
	if _, err := site.Reseal(t.Context(), cfg, q, slog.New(slog.DiscardHandler)); !errors.As(err, &refused) || refused.Code != admin.Refused {
		t.Errorf("%v, want a refusal", err)
	}
	if id := identified(t, folder); id.Store != made.Store {
		t.Errorf("the store has id %v after the refusal, want %v", id.Store, made.Store)
	}

	q.Void = true
	result, err := site.Reseal(t.Context(), cfg, q, slog.New(slog.DiscardHandler))
	if err != nil || !result.Durable || len(result.Lanes) != 1 || len(result.Lanes[0].Voided) != 1 {
		t.Errorf("with the word: %+v, %v", result, err)
	}
	if id := identified(t, folder); id.Store == made.Store {
		t.Error("the resealed store has its old id")
	}
}

func identified(t *testing.T, folder string) spool.Identity {
	t.Helper()
	store, err := localdir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	id, err := store.Identify(t.Context())
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return id
}
