package topology

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzReadLastGood: whatever lies where the copy should is refused or read, and what was read is written and read again as the same.
func FuzzReadLastGood(f *testing.F) {
	golden, err := os.ReadFile("testdata/last-good-1.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(lastGoodPrefix + "{}\n"))
	f.Add([]byte(lastGoodPrefix + `{"format":1,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}` + "\n"))
	f.Add([]byte("sites: {}\n"))
	path := filepath.Join(f.TempDir(), "copy") // a worker runs one input at a time
	f.Fuzz(func(t *testing.T, content []byte) {
		first, ok := rewritten(t, path, content)
		if !ok {
			return
		}
		if second, ok := rewritten(t, path, first); !ok || !bytes.Equal(first, second) {
			t.Errorf("what was written is read as something else:\n%q\n%q", first, second)
		}
	})
}

// rewritten reads a copy with this content and gives what is written of it; false if it is refused.
func rewritten(t *testing.T, path string, content []byte) ([]byte, bool) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	good, err := readLastGood(path)
	if err != nil {
		return nil, false
	}
	if err := writeLastGood(path, good, time.Unix(1_764_534_000, 0)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text, true
}
