package crashdisk

import (
	"errors"
	"io"
	"io/fs"

	"cloudqueue/router/spool/localdir"
)

// handle is an open file that is written.
type handle struct {
	disk   *Disk
	name   string
	file   *inode
	closed bool
}

// Write appends. On a full disk it writes what fits.
func (h *handle) Write(p []byte) (int, error) {
	n := 0
	err := h.disk.do(Op{Kind: Write, Name: h.name, Size: len(p)}, func() error {
		if h.closed {
			return fs.ErrClosed
		}
		n = int(min(uint64(len(p)), h.disk.free()))
		h.file.append(p[:n])
		if n < len(p) {
			return errFull
		}
		return nil
	})
	return n, err
}

// Allocate takes space. A crash leaves nothing of it, or all: nobody reads it, so that where it is cut says nothing
// more.
func (h *handle) Allocate(n int64) error {
	return h.disk.do(Op{Kind: Write, Name: h.name, Size: int(n)}, func() error {
		if h.closed {
			return fs.ErrClosed
		}
		fits := min(uint64(n), h.disk.free())
		h.file.content, h.file.allocated = make([]byte, fits), true
		if fits < uint64(n) {
			return errFull
		}
		return nil
	})
}

func (f *inode) append(p []byte) {
	if len(p) == 0 {
		return
	}
	f.content = append(f.content, p...)
	f.writes = append(f.writes, len(f.content))
}

// Sync makes the bytes durable, unless one of its predecessors failed: then it only says so.
func (h *handle) Sync() error {
	before := true
	err := h.disk.do(Op{Kind: Sync, Name: h.name}, func() error {
		before = false
		if h.closed {
			return fs.ErrClosed
		}
		h.file.sync()
		return nil
	})
	if err != nil && before {
		h.disk.mu.Lock()
		h.file.failed = true
		h.disk.mu.Unlock()
	}
	return err
}

func (f *inode) sync() {
	if !f.failed {
		f.durable, f.writes = len(f.content), nil
	}
}

// Close ends the handle; it makes nothing durable.
func (h *handle) Close() error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.closed {
		return fs.ErrClosed
	}
	h.closed = true
	return nil
}

// Open opens a file for reading.
func (d *Disk) Open(name string) (localdir.Source, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	return &source{disk: d, file: file}, nil
}

// source reads a file as it is at the moment of each call.
type source struct {
	disk *Disk
	file *inode
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	if off >= int64(len(s.file.content)) {
		return 0, io.EOF
	}
	n := copy(p, s.file.content[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *source) Size() (int64, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return int64(len(s.file.content)), nil
}

func (s *source) Close() error { return nil }
