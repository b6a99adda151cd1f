package pki

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cloudqueue/federation"
)

// Paths are the files of a site's identity, PEM each. The authorities may be several, one after the other.
type Paths struct {
	Certificate, Key, Authorities string
}

// reloadEvery is how often the files are looked at (chosen: a renewal needs no hurry; they are read in full, so that a
// change within the resolution of a modification time, or under a replaced symbolic link, is seen).
const reloadEvery = 10 * time.Second

// settle is how long files that do not fit each other are left before that is said: whoever issues writes them one
// after the other (chosen: two syncs, many times).
const settle = time.Second

const stateHeld = federation.StateHeld

// Files is an identity that is read again when its files change.
type Files struct {
	paths   Paths
	logger  *slog.Logger
	current atomic.Pointer[Identity]

	mu    sync.Mutex // guards what follows: Reload may come from a signal while Run looks
	sum   [32]byte   // of the bytes in use
	state federation.PartState
}

// Load reads the files. A nil logger discards.
func Load(paths Paths, logger *slog.Logger) (*Files, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	f := &Files{paths: paths, logger: logger}
	if err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Identity is the identity to use at this moment.
func (f *Files) Identity() *Identity { return f.current.Load() }

// State says whether the files are in use; "held" when they changed into something that cannot be used and the earlier
// identity stays.
func (f *Files) State() federation.PartState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Run looks at the files until ctx ends. It returns nil.
func (f *Files) Run(ctx context.Context) error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.check(ctx)
		}
	}
}

// check looks at the files, and a second time before it says that they cannot be used.
func (f *Files) check(ctx context.Context) {
	if f.look(func(error) {}) == nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(settle):
		_ = f.Reload() // State and the log tell it
	}
}

// Reload looks at the files now. After an error the identity stays what it was. A site or federation that differs from
// the one in use is an error.
func (f *Files) Reload() error { return f.look(f.hold) }

// look is Reload that gives an error to hold.
func (f *Files) look(hold func(error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, sum, err := f.read()
	if old := f.current.Load(); err == nil && old != nil && old.name != id.name {
		err = fmt.Errorf("%s is for %s, this router is %s", f.paths.Certificate, id.name, old.name)
	}
	switch {
	case err != nil:
		hold(err)
	case sum != f.sum || f.state.State == stateHeld:
		f.sum = sum
		f.current.Store(id)
		f.state = federation.PartState{State: federation.StateRunning, Since: time.Now()}
		f.logger.Info("certificate in use", "name", id.name.String(), "until", id.NotAfter())
	}
	return err
}

// hold keeps the identity in use and says why, once for each reason. It needs f.mu.
func (f *Files) hold(err error) {
	if f.state.State == stateHeld && f.state.Reason == err.Error() {
		return
	}
	f.state = federation.PartState{State: stateHeld, Reason: err.Error(),
		Fix: "mend the files; the identity read before stays in use", Since: time.Now()}
	f.logger.Warn("certificate not reloaded", "err", err)
}

func (f *Files) read() (*Identity, [32]byte, error) {
	if err := checkPrivate(f.paths.Key); err != nil {
		return nil, [32]byte{}, err
	}
	var all [3][]byte
	h := sha256.New()
	for i, path := range []string{f.paths.Certificate, f.paths.Key, f.paths.Authorities} {
		b, err := readFile(path)
		if err != nil {
			return nil, [32]byte{}, err
		}
		all[i] = b
		fmt.Fprintf(h, "%d ", len(b))
		h.Write(b)
	}
	id, err := NewIdentity(all[0], all[1], all[2])
	if err != nil {
		return nil, [32]byte{}, fmt.Errorf("%s with %s and %s: %w", f.paths.Certificate, f.paths.Key,
			f.paths.Authorities, err)
	}
	return id, [32]byte(h.Sum(nil)), nil
}
