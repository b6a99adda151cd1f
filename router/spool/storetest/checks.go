package storetest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"

	"github.com/google/go-cmp/cmp"
)

// fill commits batches of one entry of size bytes, first to last.
func fill(t *testing.T, s *session, name string, first, last federation.Offset, size int) {
	t.Helper()
	for i := first; i <= last; i++ {
		s.commit(batchRecord(t, name, i, 1, size))
	}
}

// eventually waits for what the keeper does in the background.
func (s *session) eventually(what string, done func() bool) {
	s.t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			s.t.Fatalf("%s: not within %v; usage %+v, health %+v", what, patience, s.Usage(), s.Health())
		}
	}
}

func checkBatches(t *testing.T, s *session, name string, want []*federation.Batch) {
	t.Helper()
	from := federation.Offset(1)
	for _, w := range want {
		got, err := s.Read(s.ctx, lane(name), born, from)
		if err != nil {
			t.Fatalf("read %s from %d: %v", name, from, err)
		}
		if !bytes.Equal(got.Bytes(), w.Bytes()) {
			t.Fatalf("read %s from %d: batch %s, want %s", name, from, got.Header.Name(), w.Header.Name())
		}
		from = got.Header.Last() + 1
	}
	if b, err := s.Read(context.Background(), lane(name), born, from); !errors.Is(err, spool.ErrNone) {
		t.Fatalf("read %s from %d: %v %v, want ErrNone", name, from, b, err)
	}
}

func checkMark(t *testing.T, s *session, name, want string) {
	t.Helper()
	if got, _ := s.Mark(markKey(name)); string(got) != want {
		t.Fatalf("mark of %s is %q, want %q", name, got, want)
	}
}

func checkPark(t *testing.T, s *session, want spool.ParkRecord) {
	t.Helper()
	got, err := s.ReadPark(s.ctx, want.ID())
	if err != nil {
		t.Fatalf("read the parked message %d: %v", want.Offset, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("parked message %d (-want +got):\n%s", want.Offset, diff)
	}
}
