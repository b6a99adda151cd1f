package spool_test

import (
	"context"
	"errors"
	"testing"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// sizeless is a store whose segments do not tell their size.
type sizeless struct{ spool.Segments }

type sizelessReader struct{ spool.Reader }

func (s sizeless) Open(ctx context.Context, number uint64) (spool.Reader, error) {
	r, err := s.Segments.Open(ctx, number)
	return sizelessReader{r}, err
}

func (sizelessReader) Size() (int64, error) { return 0, errDisk }

func TestASegmentWhoseSizeCannotBeReadIsNotEmptyAndStays(t *testing.T) {
	disk := memstore.New(memstore.Options{})
	s := start(t, disk, small())
	s.commit(spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 100)})
	s.close()
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := spool.Open(t.Context(), sizeless{store}, small()); !errors.Is(err, errDisk) {
		t.Fatalf("open: %v, want %v", err, errDisk)
	}

	s = start(t, disk, small())
	if _, err := s.Read(s.ctx, lane("orders"), born, 1); err != nil {
		t.Errorf("the batch: %v", err)
	}
	s.close()
}
