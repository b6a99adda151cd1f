package memstore

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"cloudqueue/router/spool"
)

// Store is the spool.Segments of one process.
type Store struct {
	disk    *Disk
	claimed bool // disk.mu guards it
}

var _ spool.Segments = (*Store)(nil)

// Identify reads the identity.
func (s *Store) Identify(ctx context.Context) (spool.Identity, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.identity, ctx.Err()
}

// Claim takes the Disk.
func (s *Store) Claim(_ context.Context, now time.Time) (spool.Identity, error) {
	d := s.disk
	var got spool.Identity
	err := d.do(s, Op{Kind: OpClaim}, 0, func(share float64) {
		d.identity.Epoch = spool.NextEpoch(d.identity.Epoch, now)
		if got = d.identity; share == 1 {
			d.holder, s.claimed = s, true
		}
	})
	return got, err
}

// List gives the segments by number.
func (s *Store) List(ctx context.Context) ([]spool.SegmentInfo, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	infos := make([]spool.SegmentInfo, 0, len(s.disk.files))
	for n, f := range s.disk.files {
		infos = append(infos, spool.SegmentInfo{Number: n, Size: int64(len(f.data))})
	}
	slices.SortFunc(infos, func(a, b spool.SegmentInfo) int { return cmp.Compare(a.Number, b.Number) })
	return infos, ctx.Err()
}

// Create makes a segment.
func (s *Store) Create(_ context.Context, number uint64) (spool.Writer, error) {
	d := s.disk
	var made *file
	err := d.do(s, Op{Kind: OpCreate, Segment: number}, 0, func(share float64) {
		if d.files[number] != nil {
			return
		}
		made = &file{}
		d.settle(share, change{number, made})
		d.files[number] = made
	})
	if err == nil && made == nil {
		err = fmt.Errorf("segment %d: %w", number, fs.ErrExist)
	}
	if err != nil {
		return nil, err
	}
	return &writer{s, number, made}, nil
}

// settle notes a change that may have happened, or forgets earlier doubts about a number of which something is certain
// again.
func (d *Disk) settle(share float64, c change) {
	d.unsure = slices.DeleteFunc(d.unsure, func(o change) bool { return o.number == c.number })
	if share == dying {
		d.unsure = append(d.unsure, c)
	}
}

// Open reads a segment.
func (s *Store) Open(ctx context.Context, number uint64) (spool.Reader, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	f := s.disk.files[number]
	if f == nil {
		return nil, fmt.Errorf("segment %d: %w", number, fs.ErrNotExist)
	}
	return &reader{s.disk, f}, ctx.Err()
}

// Remove deletes a segment.
func (s *Store) Remove(_ context.Context, number uint64) error {
	d := s.disk
	return d.do(s, Op{Kind: OpRemove, Segment: number}, 0, func(share float64) {
		if f := d.files[number]; f != nil {
			d.settle(share, change{number, f})
		}
		delete(d.files, number)
	})
}

// Space tells what is left of the capacity.
func (s *Store) Space(ctx context.Context) (free, total uint64, err error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.free(), s.disk.capacity, ctx.Err()
}

// SetAside takes space away until there is no other.
func (s *Store) SetAside(ctx context.Context, n uint64) error {
	d := s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aside = 0
	if d.free() < n {
		return fmt.Errorf("set %d bytes aside: %w", n, spool.ErrNoSpace)
	}
	d.aside = n
	return ctx.Err()
}

// Place names it.
func (s *Store) Place() string { return "memory" }

// Alignment is 8 unless Options say otherwise.
func (s *Store) Alignment() int { return s.disk.align }

// Close gives the claim back.
func (s *Store) Close() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.holder == s {
		s.disk.holder = nil
	}
	return nil
}

// writer appends to a segment.
type writer struct {
	store  *Store
	number uint64
	file   *file
}

func (w *writer) Write(p []byte) (int, error) {
	n := 0
	err := w.store.disk.do(w.store, Op{Kind: OpWrite, Segment: w.number, Bytes: len(p)}, len(p), func(share float64) {
		if n = int(share * float64(len(p))); share == dying {
			n = len(p) // the states of the disk cut it anywhere
		}
		w.file.data = append(w.file.data, p[:n]...)
	})
	return n, err
}

func (w *writer) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.store.disk.do(w.store, Op{Kind: OpSync, Segment: w.number}, 0, func(share float64) {
		if share > 0 {
			w.file.synced = len(w.file.data)
		}
	})
}

func (w *writer) Close() error { return nil }

// reader reads a segment, also after it was removed.
type reader struct {
	disk *Disk
	file *file
}

func (r *reader) ReadAt(p []byte, at int64) (int, error) {
	r.disk.mu.Lock()
	defer r.disk.mu.Unlock()
	if at < 0 || at >= int64(len(r.file.data)) {
		return 0, io.EOF
	}
	n := copy(p, r.file.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *reader) Size() (int64, error) {
	r.disk.mu.Lock()
	defer r.disk.mu.Unlock()
	return int64(len(r.file.data)), nil
}

func (r *reader) Close() error { return nil }
