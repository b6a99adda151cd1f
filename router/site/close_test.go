package site_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"cloudqueue/router/site"
)

func TestASiteThatIsOpenedAndNotRunGivesEverythingBack(t *testing.T) {
	w := newWorld(t, "ams")
	cfg, err := site.ReadConfig(filepath.Join(w.sites["ams"].dir(), "router.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		s, err := site.Open(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err) // in use: the one before holds it
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
