package storetest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"cloudqueue/router/spool"
)

// testSegmentsContract checks what Segments promises without a spool above it.
func testSegmentsContract(t *testing.T, place Place) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	store := must(place.Open())(t)
	if _, err := store.Create(ctx, 1); err == nil {
		t.Error("create without a claim: nil, want an error")
	}
	before := must(store.Identify(ctx))(t)
	claimed := must(store.Claim(ctx, time.Now()))(t)
	if !before.Home.Valid() || claimed.Home != before.Home || claimed.Store != before.Store ||
		claimed.Epoch <= before.Epoch {
		t.Errorf("claimed %+v, identified before as %+v", claimed, before)
	}
	other := must(place.Open())(t)
	if _, err := other.Claim(ctx, time.Now()); !errors.Is(err, spool.ErrHeld) {
		t.Errorf("second claim: %v, want ErrHeld", err)
	}
	if err := other.Close(); err != nil {
		t.Errorf("close without a claim: %v", err)
	}
	w := must(store.Create(ctx, 3))(t)
	if _, err := store.Create(ctx, 3); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create twice: %v, want fs.ErrExist", err)
	}
	for _, p := range []string{"one", "two"} {
		if n, err := w.Write([]byte(p)); n != 3 || err != nil {
			t.Fatalf("write: %d %v", n, err)
		}
		if err := w.Sync(ctx); err != nil {
			t.Fatalf("sync: %v", err)
		}
	}
	r := must(store.Open(ctx, 3))(t)
	checkBytes(t, r, "onetwo")
	if _, err := store.Open(ctx, 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of no segment: %v, want fs.ErrNotExist", err)
	}
	w2 := must(store.Create(ctx, 2))(t)
	infos := must(store.List(ctx))(t)
	if len(infos) != 2 || infos[0].Number != 2 || infos[1].Number != 3 || infos[1].Size < 6 {
		t.Errorf("list %+v, want segments 2 and 3", infos)
	}
	for range 2 { // of one that does not exist it returns nil
		if err := store.Remove(ctx, 3); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	checkBytes(t, r, "onetwo") // readers that are open go on
	if free, total, err := store.Space(ctx); err != nil || free == 0 || free > total {
		t.Errorf("space %d of %d, %v", free, total, err)
	}
	if a := store.Alignment(); a < 8 || a > 4096 || a&(a-1) != 0 {
		t.Errorf("alignment %d", a)
	}
	for _, c := range []io.Closer{w, w2, r, store} {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	again := must(place.Open())(t)
	if got := must(again.Claim(ctx, time.Now()))(t); got.Epoch <= claimed.Epoch {
		t.Errorf("epoch %d after %d", got.Epoch, claimed.Epoch)
	}
	if err := again.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func checkBytes(t *testing.T, r spool.Reader, want string) {
	t.Helper()
	got := make([]byte, 10)
	n, err := r.ReadAt(got, 0)
	size := must(r.Size())(t)
	if string(got[:n]) != want || !errors.Is(err, io.EOF) || size < int64(len(want)) {
		t.Errorf("read %q of %d bytes, %v; want %q and io.EOF", got[:n], size, err, want)
	}
	if n, err := r.ReadAt(got[:2], 1); n != 2 || err != nil || string(got[:2]) != want[1:3] {
		t.Errorf("read %q at 1, %v", got[:n], err)
	}
}

// must gives v, or ends the test.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
