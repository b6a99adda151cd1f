package site_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

func TestAResealThatHasTooLittleRoomSaysSoBeforeItBeginsAndWhatToType(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "spool")
	made, err := localdir.Init(folder, time.Now())
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
	for first := federation.Offset(1); first <= 14; first++ { // 7 MiB: twice that does not fit into 16 MiB less a reserve of 4
		h := federation.Header{Lane: lane, Generation: 7, First: first, SealEpoch: 1, SealedAt: time.Now(), Destinations: []federation.Destination{nyc}}
		b, err := federation.Seal(h, []federation.Entry{{TTL: federation.NoTTL, Message: federation.Message{Properties: []byte{0, 0}, Body: make([]byte, 512<<10)}}}, federation.CodecNone, coder)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, spool.BatchRecord{Batch: b})
	}
	write(t, folder, records...)
	cfg := &site.Config{Site: "ams", Store: site.StoreConfig{Dir: folder, Quota: 16 << 20, SegmentSize: 1 << 20}}
	q := router.ResealRequest{Who: "test", Why: "put back"}

	var refused *admin.Error
	_, err = site.Reseal(t.Context(), cfg, q, slog.New(slog.DiscardHandler))
	if !errors.As(err, &refused) || refused.Code != admin.Refused || !strings.Contains(refused.Fix, "raise store.quota to 19MiB") {
		t.Errorf("%v, want a refusal that says what to type", err)
	}
	if id := identified(t, folder); id.Store != made.Store {
		t.Errorf("the store has id %v after the refusal, want %v", id.Store, made.Store)
	}

	cfg.Store.Quota = 19 << 20
	if result, err := site.Reseal(t.Context(), cfg, q, slog.New(slog.DiscardHandler)); err != nil || !result.Durable || result.Lanes[0].Messages != 14 {
		t.Errorf("with what was told: %+v, %v", result, err)
	}
}
