package localdir

import (
	"errors"
	"os"
	"testing"
)

func TestASizeThatTheSystemDoesNotTellIsAnErrorAndNotZero(t *testing.T) {
	path, _ := newStore(t)
	source, err := osFiles{path}.Open(storeName)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	if size, err := source.Size(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("size of a closed file: %d, %v", size, err)
	}
}
