package pki

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCreateFinishesWhatACrashCutShort(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, "example", noon); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, AuthorityKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, AuthorityCertificate)); err != nil {
		t.Fatal(err)
	}

	if _, err := Create(dir, "example", noon); err != nil {
		t.Fatal(err)
	}

	if _, err := Open(dir); err != nil {
		t.Error(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, AuthorityKey))
	if diff := cmp.Diff(string(key), string(after)); diff != "" || err != nil {
		t.Errorf("the key is another one: %v %s", err, diff)
	}
	if _, err := Create(dir, "example", noon); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a third time: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if diff := cmp.Diff([]string{filepath.Join(dir, AuthorityCertificate), filepath.Join(dir, AuthorityKey)}, left); diff != "" || err != nil {
		t.Errorf("files, %v (-want +got):\n%s", err, diff)
	}
}
