package spool_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/memstore"
)

// stores are what the benchmarks run over: memory shows the spool's own cost, the folder what a disk adds.
var stores = []struct {
	name string
	make func(b *testing.B) spool.Segments
}{
	{"memstore", func(b *testing.B) spool.Segments {
		store, err := memstore.New(memstore.Options{}).Open()
		if err != nil {
			b.Fatal(err)
		}
		return store
	}},
	{"localdir", func(b *testing.B) spool.Segments { return folder(b, b.TempDir(), true) }},
}

func folder(b *testing.B, dir string, fresh bool) spool.Segments {
	b.Helper()
	if fresh {
		if _, err := localdir.Init(dir, spool.Home{Site: "ams", Federation: "acme"}, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
	store, err := localdir.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	return store
}

// BenchmarkCommit is the latency of one commit while the store is idle: what a message waits for when there is no load.
func BenchmarkCommit(b *testing.B) {
	for _, store := range stores {
		for _, size := range []int{1 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", store.name, size>>10), func(b *testing.B) {
				s := startOn(b, store.make(b), spool.Config{})
				batch := sealed(b, "orders", 1, 1, size)
				mark := spool.MarkRecord{Key: receipt("orders"), Value: make([]byte, 100)}
				b.SetBytes(int64(len(batch.Bytes())))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					s.commit(spool.BatchRecord{Batch: batch}, mark)
				}
			})
		}
	}
}

// BenchmarkSubmit is the throughput with many submissions under way: what a backlog at the broker drains with.
func BenchmarkSubmit(b *testing.B) {
	for _, store := range stores {
		for _, flying := range []int{16, 256} {
			b.Run(fmt.Sprintf("%s/16KiB×%d", store.name, flying), func(b *testing.B) {
				s := startOn(b, store.make(b), spool.Config{Quota: 1 << 40})
				batch := sealed(b, "orders", 1, 1, 16<<10)
				tickets := make([]*spool.Ticket, flying)
				b.SetBytes(int64(len(batch.Bytes())))
				b.ReportAllocs()
				first := s.LastLSN()
				n := 0
				for ; b.Loop(); n++ {
					if t := tickets[n%flying]; t != nil {
						s.wait(t)
					}
					if n%4096 == 0 {
						s.Forget(lane("orders"), born, federation.Offset(n)) // the store stays small
					}
					tickets[n%flying] = s.submit(spool.BatchRecord{Batch: batch})
				}
				b.ReportMetric(float64(n)/float64(s.LastLSN()-first+1), "commits/group")
			})
		}
	}
}

// BenchmarkRead is a backlog read in order: what forward does after an outage.
func BenchmarkRead(b *testing.B) {
	const batches = 4000
	for _, store := range stores {
		b.Run(store.name+"/64KiB", func(b *testing.B) {
			s := startOn(b, store.make(b), spool.Config{})
			var ticket *spool.Ticket
			size := 0
			for i := federation.Offset(1); i <= batches; i++ {
				batch := sealed(b, "orders", i, 1, 64<<10)
				size = len(batch.Bytes())
				ticket = s.submit(spool.BatchRecord{Batch: batch})
			}
			s.wait(ticket)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for from := federation.Offset(1); b.Loop(); from = from%batches + 1 {
				if _, err := s.Read(s.ctx, lane("orders"), born, from); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is a restart with a backlog: footers, and the newest segment.
func BenchmarkOpen(b *testing.B) {
	for _, size := range []int{256 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("localdir/%dMiB", size>>20), func(b *testing.B) {
			dir := b.TempDir()
			s := startOn(b, folder(b, dir, true), spool.Config{})
			var ticket *spool.Ticket
			for i := 1; i <= size>>16; i++ {
				ticket = s.submit(spool.BatchRecord{Batch: sealed(b, "orders", federation.Offset(i), 1, 64<<10-300)})
			}
			s.wait(ticket)
			s.close()
			b.ReportAllocs()
			for b.Loop() {
				sp, err := spool.Open(context.Background(), folder(b, dir, false), spool.Config{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := sp.Read(context.Background(), lane("orders"), born, 1); err != nil {
					b.Fatal(err)
				}
				if err := sp.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
