package spool

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxOpenReaders bounds the segments that are open for reading and idle. Chosen: one per lane that reads a backlog, and
// few file handles.
const maxOpenReaders = 64

// readers keeps segments open between reads. The least recently used idle one is closed first.
type readers struct {
	store Segments

	mu    sync.Mutex // guards all below; never held while the store works
	open  map[uint64]*openReader
	order *list.List // of *openReader, the most recently used first
}

// openReader is one segment. It is closed when nobody uses it and it was dropped.
type openReader struct {
	Reader
	number  uint64
	users   int
	dropped bool
	item    *list.Element
}

func newReaders(store Segments) *readers {
	return &readers{store: store, open: make(map[uint64]*openReader), order: list.New()}
}

// acquire opens a segment, or shares it. release must follow.
func (r *readers) acquire(ctx context.Context, number uint64) (*openReader, error) {
	if o := r.share(number); o != nil {
		return o, nil
	}
	reader, err := r.store.Open(ctx, number)
	if err != nil {
		return nil, fmt.Errorf("open segment %d: %w", number, err)
	}
	r.mu.Lock()
	if other := r.use(number); other != nil {
		r.mu.Unlock()
		_ = reader.Close() // nothing was written
		return other, nil
	}
	o := &openReader{Reader: reader, number: number, users: 1}
	o.item = r.order.PushFront(o)
	r.open[number] = o
	idle := r.surplus()
	r.mu.Unlock()
	for _, i := range idle {
		_ = i.Close() // nothing was written
	}
	return o, nil
}

func (r *readers) share(number uint64) *openReader {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.use(number)
}

func (r *readers) use(number uint64) *openReader {
	o := r.open[number]
	if o != nil {
		o.users++
		r.order.MoveToFront(o.item)
	}
	return o
}

// surplus takes out what is idle and too much.
func (r *readers) surplus() (idle []*openReader) {
	for item := r.order.Back(); item != nil && r.order.Len() > maxOpenReaders; {
		o := item.Value.(*openReader)
		item = item.Prev()
		if o.users == 0 {
			r.takeOut(o)
			idle = append(idle, o)
		}
	}
	return idle
}

func (r *readers) takeOut(o *openReader) {
	o.dropped = true
	r.order.Remove(o.item)
	delete(r.open, o.number)
}

// release ends one use.
func (r *readers) release(o *openReader) error {
	r.mu.Lock()
	o.users--
	last := o.users == 0 && o.dropped
	r.mu.Unlock()
	if last {
		return o.Close()
	}
	return nil
}

// drop closes a segment as soon as nobody uses it.
func (r *readers) drop(number uint64) error {
	r.mu.Lock()
	o := r.open[number]
	if o != nil {
		r.takeOut(o)
	}
	idle := o != nil && o.users == 0
	r.mu.Unlock()
	if idle {
		return o.Close()
	}
	return nil
}

func (r *readers) close() error {
	var errs []error
	r.mu.Lock()
	numbers := make([]uint64, 0, len(r.open))
	for n := range r.open {
		numbers = append(numbers, n)
	}
	r.mu.Unlock()
	for _, n := range numbers {
		errs = append(errs, r.drop(n))
	}
	return errors.Join(errs...)
}
