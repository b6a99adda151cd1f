package durable_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"cloudqueue/durable"
)

func TestReplaceWritesAFileThatWasThereOrNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"one", "", "another one"} {
		if err := durable.Replace(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		alone(t, path, content, 0o640)
	}
}

func TestCreateNeverReplacesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := durable.Create(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}

	err := durable.Create(path, []byte("two"), 0o644)

	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	alone(t, path, "one", 0o600)
}

func TestWhatCannotBeReplacedLeavesNothingBesideIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(path, nil, 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if err := durable.Replace(filepath.Join(dir, "absent", "file"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("the folder holds %v, %v; want what it held", all, err)
	}
}

func TestAReaderFindsOneContentOrTheOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	all := [][]byte{bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 50_000)}
	if err := durable.Replace(path, all[0], 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for i := range 50 {
			err = errors.Join(err, durable.Replace(path, all[i%2], 0o600))
		}
		written <- err
	}()
	for {
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, all[0]) && !bytes.Equal(got, all[1]) {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
		select {
		case err := <-written:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

// alone fails unless the file has this content and mode, and nothing is beside it.
func alone(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		t.Errorf("the file holds %q, %v; want %q", got, err, content)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != mode {
		t.Errorf("it is %v, %v; want %v", info.Mode(), err, mode)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("its folder holds %v, %v; want it alone", all, err)
	}
}
