package topology_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/topology"
)

func hexOf(digest [32]byte) string { return fmt.Sprintf("%x", digest) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFileIsFollowedWithinTwoPollsAndNotWhileItIsBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "topology.yaml")
		write(t, path, one)
		f := start(t, topology.NewFile(path), t.TempDir(), nil)
		if s := f.next(); s.Origin != topology.OriginFile || s.Version != 0 {
			t.Errorf("snapshot %+v, want version 0 from the file", s)
		}

		time.Sleep(topology.FilePoll / 2) // what follows falls between two looks, not on one
		write(t, path, two[:len(two)-20])
		time.Sleep(topology.FilePoll)
		write(t, path, two)
		time.Sleep(topology.FilePoll)
		f.none()
		if refused := f.Status().Refused; refused != nil {
			t.Errorf("refused %+v: half a file was read", refused)
		}
		time.Sleep(topology.FilePoll)

		if s := f.next(); len(s.Document.Routes()) != 2 {
			t.Errorf("snapshot with %d routes, want 2", len(s.Document.Routes()))
		}
	})
}

func TestFileThatVanishesLeavesTheLastGoodInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "topology.yaml")
		write(t, path, one)
		f := start(t, topology.NewFile(path), t.TempDir(), nil)
		f.next()

		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.none()
		if s := f.Status(); s.From != topology.OriginFile || s.Trouble == "" {
			t.Errorf("status %+v, want the file's document in force and the trouble told", s)
		}
		write(t, path, two)
		time.Sleep(30 * time.Second)
		f.next()
	})
}

func TestFileSourceTellsWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := topology.NewFile(filepath.Join(dir, "none")).Read(t.Context()); !errors.Is(err, topology.ErrMissing) {
		t.Errorf("a missing file gave %v, want %v", err, topology.ErrMissing)
	}
	large := filepath.Join(dir, "large")
	write(t, large, string(make([]byte, 1<<20+1)))
	if _, err := topology.NewFile(large).Read(t.Context()); err == nil {
		t.Error("a file over 1 MiB was read")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := topology.NewFile(large).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait gave %v, want %v", err, context.Canceled)
	}
}
