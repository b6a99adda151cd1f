package wan

import (
	"context"
	"syscall"
	"testing"
	"time"

	"cloudqueue/federation"
)

// BenchmarkRoundTrip is one batch of 1 KiB from Copy to its answer, on loopback, without the delay for coalescing.
func BenchmarkRoundTrip(b *testing.B) {
	w := newWorld(b, 0)
	ams, nyc := w.site("ams", ""), w.site("nyc", "")
	ams.cfg.AckDelay, nyc.cfg.AckDelay = -1, -1
	nyc.cfg.Handler, ams.cfg.Handler = accepting{nyc.handler}, accepting{ams.handler}
	nyc.onLoopback(ams.passive())
	ams.onLoopback(nyc.loopbackPeer())
	await(b, "the link comes up", func() bool { return len(ams.status(nyc).Connections) == 2 })
	link, batch := ams.link(nyc), batches(b, testLane(1), 1, 1<<10)[0]
	answered := make(chan struct{}, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := link.Copy(context.Background(), 1, testLane(1), federation.Sidecar{Bitmap: 1}, batch, func(federation.Verdict, time.Duration) { answered <- struct{}{} }); err != nil {
			b.Fatal(err)
		}
		<-answered
	}
}

// BenchmarkThroughput64KiB is batches of 64 KiB, 64 unanswered at most, over 8 lanes, on loopback; both ends are in this process.
func BenchmarkThroughput64KiB(b *testing.B) { benchmarkThroughput(b, 64<<10, 8) }

// BenchmarkThroughput1KiB is the cost of a small frame.
func BenchmarkThroughput1KiB(b *testing.B) { benchmarkThroughput(b, 1<<10, 8) }

// BenchmarkThroughput64KiBOneLane has one lane, hence one connection and one stream.
func BenchmarkThroughput64KiBOneLane(b *testing.B) { benchmarkThroughput(b, 64<<10, 1) }

func benchmarkThroughput(b *testing.B, size, lanes int) {
	w := newWorld(b, 0)
	ams, nyc := w.site("ams", ""), w.site("nyc", "")
	nyc.cfg.Handler, ams.cfg.Handler = accepting{nyc.handler}, accepting{ams.handler}
	nyc.onLoopback(ams.passive())
	ams.onLoopback(nyc.loopbackPeer())
	await(b, "the link comes up", func() bool { return len(ams.status(nyc).Connections) == 2 })
	link := ams.link(nyc)
	var all []*federation.Batch
	for i := range lanes {
		all = append(all, batches(b, testLane(i), 1, size)...)
	}
	slots := make(chan struct{}, 64)
	b.SetBytes(int64(len(all[0].Bytes())))
	b.ReportAllocs()
	before, i := cpu(), 0
	for b.Loop() {
		slots <- struct{}{}
		batch := all[i%lanes]
		i++
		if err := link.Copy(context.Background(), 1, batch.Header.Lane, federation.Sidecar{Bitmap: 1}, batch, func(federation.Verdict, time.Duration) { <-slots }); err != nil {
			b.Fatal(err)
		}
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(i), "cpu-µs/frame")
}

// accepting answers every copy and keeps none.
type accepting struct{ *recorder }

func (accepting) Copy(_ *Link, _ federation.Copy, answer func(federation.Verdict, time.Duration)) {
	answer(federation.OK, 0)
}

// cpu is the time that this process has used on all cores.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
