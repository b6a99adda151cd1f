package topology

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"cloudqueue/topology/yamlfile"
)

// FilePoll is how often a File looks at its file (chosen: an admin sees the effect of a save after two looks, 4 s at
// most; no notification service of an operating system works on every file system).
const FilePoll = 2 * time.Second

// File is a plain topology file as a Source.
type File struct {
	path string
	last []byte // what Read gave
}

// NewFile makes a Source of the file at path. It reads nothing yet.
func NewFile(path string) *File { return &File{path: path} }

// Name is the path.
func (f *File) Name() string { return f.path }

// Origin is OriginFile.
func (f *File) Origin() Origin { return OriginFile }

// Read reads the file. ErrMissing: there is none.
func (f *File) Read(context.Context) (Stored, error) {
	text, err := readLimited(f.path, yamlfile.MaxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return Stored{}, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if err != nil {
		return Stored{}, err
	}
	f.last = text
	return Stored{Source: text}, nil
}

// readLimited reads a file and refuses one over a limit without reading all of it.
func readLimited(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, nil
}

// Wait polls until the file has another content twice in a row: an editor or a copy that is half way through writing is
// not taken for a shorter document.
func (f *File) Wait(ctx context.Context) error {
	ticker := time.NewTicker(FilePoll)
	defer ticker.Stop()
	var before []byte
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		text, err := readLimited(f.path, yamlfile.MaxSource)
		if err != nil {
			return err
		}
		if !bytes.Equal(text, f.last) && before != nil && bytes.Equal(text, before) {
			return nil
		}
		before = text
	}
}
