package spool_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

func TestASegmentOfParkedMessagesIsNotCleanedOverAndOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, memstore.New(memstore.Options{}), small())
		for i := federation.Offset(1); i <= 100; i++ {
			s.commit(parked("orders", i, 500))
		}
		time.Sleep(time.Minute)
		before := s.LastLSN()
		time.Sleep(5 * time.Minute)
		if got := s.LastLSN(); got != before {
			t.Errorf("%d groups in five idle minutes, want none", got-before)
		}
		s.close()
	})
}

func TestRestartsLeaveFewSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		cfg := spool.Config{SegmentSize: 64 << 10, Quota: 4 << 20}
		for i := federation.Offset(1); i <= 100; i++ {
			s := start(t, disk, cfg)
			s.commit(spool.BatchRecord{Batch: sealed(t, "orders", i, 1, 100)})
			time.Sleep(2 * time.Second)
			s.abandon()
			disk.Kill()
		}
		if n := len(disk.Numbers()); n > 25 {
			t.Errorf("%d segments after 100 restarts with one batch each", n)
		}
		s := start(t, disk, cfg)
		for i := federation.Offset(1); i <= 100; i++ {
			if _, err := s.Read(s.ctx, lane("orders"), born, i); err != nil {
				t.Errorf("read %d: %v", i, err)
			}
		}
		s.close()
	})
}

func TestCleaningWritesAtMostAByteForEachThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		cfg := spool.Config{SegmentSize: 64 << 10, Quota: 4 << 20}
		s := start(t, disk, cfg)
		written := 0
		disk.SetFault(func(op memstore.Op) memstore.Fault { written += op.Bytes; return memstore.Fault{} })
		for i := federation.Offset(1); i <= 400; i++ {
			s.commit(spool.BatchRecord{Batch: sealed(t, "busy", i, 1, 3000)})
			if i%5 == 0 {
				s.commit(spool.BatchRecord{Batch: sealed(t, "dead", i/5, 1, 3000)})
			}
		}
		written = 0
		before := s.Usage().Used
		s.Forget(lane("busy"), born, 400)
		time.Sleep(time.Minute)
		freed := int(before - s.Usage().Used)
		if freed < 1<<20 || written > freed {
			t.Errorf("%d bytes written for %d that came back", written, freed)
		}
		s.close()
	})
}

func TestACheckpointOfManyMarksIsWrittenInParts(t *testing.T) {
	t.Parallel()
	disk := memstore.New(memstore.Options{})
	s := start(t, disk, spool.Config{SegmentSize: 1 << 20, Quota: 1 << 30})
	value := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d,", i), 20_000) }
	for i := range 150 {
		s.commit(spool.MarkRecord{Key: receipt(fmt.Sprint("lane-", i)), Value: value(i)})
	}
	for range 2 {
		for i := range 150 {
			if got, _ := s.Mark(receipt(fmt.Sprint("lane-", i))); !bytes.Equal(got, value(i)) {
				t.Fatalf("mark %d has %d bytes, want %d", i, len(got), len(value(i)))
			}
		}
		s.abandon()
		disk.PowerOff(nil)
		s = start(t, disk, spool.Config{SegmentSize: 1 << 20, Quota: 1 << 30})
	}
	s.close()
}

func parked(name string, offset federation.Offset, size int) spool.ParkRecord {
	return spool.ParkRecord{
		Lane: lane(name), Generation: born, Offset: offset, Destination: nyc, Reason: "unroutable",
		Entry: federation.Entry{TTL: federation.NoTTL, Message: federation.Message{Body: make([]byte, size)}},
	}
}

func TestSegmentsAreUsedInTheOrderOfTheirNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		s := start(t, disk, small())
		slow := true
		disk.SetFault(func(op memstore.Op) memstore.Fault { // every second segment takes longer than the one before lives
			if op.Kind != memstore.OpCreate {
				return memstore.Fault{}
			}
			slow = !slow
			if slow {
				return memstore.Fault{}
			}
			return memstore.Fault{Delay: 50 * time.Millisecond}
		})
		for i := federation.Offset(1); i <= 200; i++ {
			s.commit(spool.BatchRecord{Batch: sealed(t, "orders", i, 1, 1000)})
			time.Sleep(5 * time.Millisecond)
		}
		last := federation.LSN(0)
		for _, g := range s.Segments() {
			if g.First <= last {
				t.Errorf("segment %d begins with group %d, an earlier one ends with %d", g.Number, g.First, last)
			}
			last = g.Last
		}
		s.close()
	})
}
