package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/router/spool"

	"github.com/google/go-cmp/cmp"
)

// oracle is the simplest thing that behaves as a spool should: a list of commits. The k'th commit sets the mark "seq"
// to k, so that whatever is found after a crash says by itself how many commits it holds.
type oracle struct {
	commits   [][]spool.Record
	acked     int                          // commits that returned nil
	forgotten map[string]federation.Offset // by lane
}

func newOracle() *oracle { return &oracle{forgotten: make(map[string]federation.Offset)} }

// next notes a commit that is about to be submitted and gives its records.
func (o *oracle) next(records ...spool.Record) []spool.Record {
	records = append(slices.Clone(records), markRecord("seq", fmt.Sprint(len(o.commits)+1)))
	o.commits = append(o.commits, records)
	return records
}

// contents is what a spool holds after some commits.
type contents struct {
	batches map[string][]*federation.Batch // by lane, in order
	marks   map[federation.MarkKey]string
	parks   map[spool.ParkID]spool.ParkRecord
	audits  []spool.AuditRecord
}

// after is what the spool holds after the first k commits.
func (o *oracle) after(k int) contents {
	c := contents{make(map[string][]*federation.Batch), make(map[federation.MarkKey]string),
		make(map[spool.ParkID]spool.ParkRecord), nil}
	for _, records := range o.commits[:k] {
		for _, r := range records {
			switch r := r.(type) {
			case spool.BatchRecord:
				name := string(r.Batch.Header.Lane.Route)
				c.batches[name] = append(c.batches[name], r.Batch)
			case spool.MarkRecord:
				c.marks[r.Key] = string(r.Value)
			case spool.ParkRecord:
				c.parks[r.ID()] = r
			case spool.UnparkRecord:
				delete(c.parks, r.Park)
			case spool.AuditRecord:
				c.audits = append(c.audits, r)
			}
		}
	}
	return c
}

// check compares everything that s shows with the commits. It returns how many of them s holds: all that were
// acknowledged, and a prefix.
func (o *oracle) check(t testing.TB, s *session) int {
	t.Helper()
	k := 0
	if v, ok := s.Mark(markKey("seq")); ok {
		if _, err := fmt.Sscan(string(v), &k); err != nil {
			t.Fatalf("mark seq is %q", v)
		}
	}
	if k < o.acked || k > len(o.commits) {
		t.Fatalf("%d commits are there; %d were acknowledged, %d submitted", k, o.acked, len(o.commits))
	}
	if c := s.Corrupt(); len(c) != 0 {
		t.Fatalf("corrupt: %v", c[0])
	}
	want := o.after(k)
	o.checkLanes(t, s, want)
	got := make(map[federation.MarkKey]string)
	for key, v := range s.Marks(federation.MarkReceipt) {
		got[key] = string(v)
	}
	if diff := cmp.Diff(want.marks, got); diff != "" {
		t.Fatalf("marks after %d commits (-want +got):\n%s", k, diff)
	}
	o.checkParks(t, s, want)
	if diff := cmp.Diff(want.audits, s.Audits()); len(want.audits)+len(s.Audits()) > 0 && diff != "" {
		t.Fatalf("audits after %d commits (-want +got):\n%s", k, diff)
	}
	return k
}

func (o *oracle) checkParks(t testing.TB, s *session, want contents) {
	t.Helper()
	if got := s.Parked(); len(got) != len(want.parks) {
		t.Fatalf("%d messages parked, want %d", len(got), len(want.parks))
	}
	for id, p := range want.parks {
		got, err := s.ReadPark(s.ctx, id)
		if err != nil {
			t.Fatalf("read parked %v: %v", id, err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatalf("parked %v (-want +got):\n%s", id, diff)
		}
	}
}

func (o *oracle) checkLanes(t testing.TB, s *session, want contents) {
	t.Helper()
	for name, batches := range want.batches {
		from := o.forgotten[name] + 1
		for _, b := range batches {
			if b.Header.Last() < from {
				continue
			}
			got, err := s.Read(s.ctx, lane(name), born, from)
			if err != nil {
				t.Fatalf("read %s from %d: %v", name, from, err)
			}
			if !bytes.Equal(got.Bytes(), b.Bytes()) {
				t.Fatalf("read %s from %d: batch %s, want %s", name, from, got.Header.Name(), b.Header.Name())
			}
			from = got.Header.Last() + 1
		}
		if got, err := s.Read(s.ctx, lane(name), born, from); !errors.Is(err, spool.ErrNone) {
			t.Fatalf("read %s from %d: %v, %v; want ErrNone", name, from, got, err)
		}
		if last := batches[len(batches)-1].Header.Last(); s.Highest(lane(name), born) != last {
			t.Fatalf("highest of %s is %d, want %d", name, s.Highest(lane(name), born), last)
		}
	}
	for _, e := range s.Extents() {
		if want.batches[string(e.Lane.Route)] == nil {
			t.Fatalf("lane %s was never committed: %+v", e.Lane, e)
		}
	}
}
