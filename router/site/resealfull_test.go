package site_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/site"
)

func TestAResealThatHasTooLittleRoomSaysSoBeforeItBeginsAndWhatToType(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "spool")
	made := storeOf(t, folder, 14, 512<<10) // 7 MiB: twice that does not fit into 16 MiB less a reserve of 4
	cfg := &site.Config{Site: "ams", Federation: "acme", Store: site.StoreConfig{Dir: folder, Quota: 16 << 20, SegmentSize: 1 << 20}}
	q := router.ResealRequest{Who: "test", Why: "put back"}

	var refused *admin.Error
	_, err := site.Reseal(t.Context(), cfg, q, slog.New(slog.DiscardHandler))
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
