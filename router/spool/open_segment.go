package spool

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// openSegment is a segment with its writer.
type openSegment struct {
	*segment
	w       Writer
	content *content // what becomes durable; published with mu held
	head    int64    // bytes up to the end of the CHECKPOINT
}

// create makes a segment and writes its header, durably. What may have been left behind after an error becomes garbage.
// Safe for writer and keeper at once: each number is used once.
func (s *Spool) create(ctx context.Context) (*openSegment, error) {
	s.mu.Lock()
	s.numbers++
	number, previous := s.numbers, s.previous
	s.mu.Unlock()
	w, err := s.store.Create(ctx, number)
	if err != nil {
		s.discard(number)
		return nil, fmt.Errorf("create segment %d: %w", number, err)
	}
	h := segmentHeader{
		store: s.identity.Store, born: s.identity.Born, epoch: s.identity.Epoch, number: number, previous: previous,
		created: time.Now(), salt: newSalt(), alignment: s.store.Alignment(),
	}
	if err := writeHeader(ctx, w, &h); err != nil {
		s.discard(number)
		return nil, errors.Join(fmt.Errorf("begin segment %d: %w", number, err), w.Close())
	}
	g := &segment{header: h, valid: segmentHeaderSize, size: segmentHeaderSize, content: newContent()}
	return &openSegment{segment: g, w: w, content: g.content}, nil
}

func writeHeader(ctx context.Context, w Writer, h *segmentHeader) error {
	if _, err := w.Write(h.encode()); err != nil {
		return err
	}
	return w.Sync(ctx)
}

// append writes b and makes it durable.
func (o *openSegment) append(ctx context.Context, b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return fmt.Errorf("write segment %d: %w", o.number(), err)
	}
	if err := o.w.Sync(ctx); err != nil {
		return fmt.Errorf("sync segment %d: %w", o.number(), err)
	}
	return nil
}
