package wan

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"cloudqueue/federation"
)

// maxUnanswered is the most frames of one stream that may wait for their answer. The sender waits at it, the receiver
// closes beyond it (chosen: at 200 bytes a frame it is more than the QUIC window of the stream holds; 64 Ki closures
// are some 8 MiB).
const maxUnanswered = 1 << 16

// ackAtOnce is how many answers do not wait for others (chosen: one ACK per 64 frames costs nothing measurable).
const ackAtOnce = 64

// dueAcks are the streams of a connection that have answers to send, and when.
type dueAcks struct {
	atOnce int           // as many answers do not wait
	soon   chan struct{} // capacity 1: there is something
	now    chan struct{} // capacity 1: and it should not wait

	mu    sync.Mutex // answers come from any goroutine, the control writer takes them
	list  []*answers // that have something to send
	count int
}

func newDueAcks(delay time.Duration) *dueAcks {
	d := &dueAcks{atOnce: ackAtOnce, soon: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	if delay <= 0 {
		d.atOnce = 1
	}
	return d
}

// answered gives a verdict on a frame of one stream.
func (d *dueAcks) answered(a *answers, number uint64, verdict federation.Verdict, retry time.Duration) {
	waiting := a.give(number, verdict, retry)
	d.mu.Lock()
	if waiting == 1 {
		d.list = append(d.list, a)
	}
	d.count++
	count := d.count
	d.mu.Unlock()
	switch {
	case count >= d.atOnce:
		poke(d.now)
	case count == 1:
		poke(d.soon)
	}
}

// take gives the ACKs of everything answered.
func (d *dueAcks) take() []federation.Ack {
	d.mu.Lock()
	list := d.list
	d.list, d.count = nil, 0
	d.mu.Unlock()
	var all []federation.Ack
	for _, a := range list {
		all = append(all, a.take()...)
	}
	return all
}

// answers collects the verdicts on the frames of one incoming stream until they go out in an ACK.
type answers struct {
	stream uint64

	mu         sync.Mutex // verdicts come from any goroutine
	received   uint64     // number of the last frame that came in
	cumulative uint64     // all up to this are answered
	sent       uint64     // cumulative of the last ACK taken
	// came in and not answered: at most maxUnanswered, however long one of them waits while others are answered
	open       map[uint64]struct{}
	fresh      []uint64               // answered OK since the last take
	exceptions []federation.Exception // answered otherwise since the last take
	count      int                    // answers since the last take
}

func newAnswers(stream uint64) *answers {
	return &answers{stream: stream, open: map[uint64]struct{}{}}
}

// expect notes a frame that came in: numbers are dense, and only so many wait for an answer.
func (a *answers) expect(number uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number != a.received+1 {
		return protocolError("frame %d follows frame %d of stream %d", number, a.received, a.stream)
	}
	if len(a.open) >= maxUnanswered {
		return protocolError("more than %d frames of stream %d wait for an answer", maxUnanswered, a.stream)
	}
	a.received = number
	a.open[number] = struct{}{}
	return nil
}

// give notes a verdict and tells how many wait to be sent. A second verdict on one frame is a bug of the caller.
func (a *answers) give(number uint64, verdict federation.Verdict, retry time.Duration) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, waits := a.open[number]; !waits {
		panic(fmt.Sprintf("frame %d of stream %d is answered a second time, with %s", number, a.stream, verdict))
	}
	delete(a.open, number)
	a.advance()
	if verdict == federation.OK {
		a.fresh = append(a.fresh, number)
	} else {
		a.exceptions = append(a.exceptions, federation.Exception{Number: number, Verdict: verdict, Retry: retry})
	}
	a.count++
	return a.count
}

// advance passes each number once in the stream's life.
func (a *answers) advance() {
	for a.cumulative < a.received {
		if _, waits := a.open[a.cumulative+1]; waits {
			return
		}
		a.cumulative++
	}
}

// take gives the ACKs that tell everything new; none when there is nothing new. Exceptions that do not fit the last one
// go before it, where the cumulative number does not reach them yet.
func (a *answers) take() []federation.Ack {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == 0 {
		return nil
	}
	ranges, exceptions := runs(a.fresh, a.cumulative), a.exceptions
	slices.SortFunc(exceptions, func(x, y federation.Exception) int { return cmp.Compare(x.Number, y.Number) })
	var acks []federation.Ack
	for len(ranges) > federation.MaxAckItems || len(exceptions) > federation.MaxAckItems {
		ack := federation.Ack{Stream: a.stream, Cumulative: a.sent}
		if n := min(len(exceptions), federation.MaxAckItems); n > 0 {
			ack.Exceptions, exceptions = exceptions[:n], exceptions[n:]
		} else {
			ack.Ranges, ranges = ranges[:federation.MaxAckItems], ranges[federation.MaxAckItems:]
		}
		acks = append(acks, ack)
	}
	a.sent, a.count, a.fresh, a.exceptions = a.cumulative, 0, a.fresh[:0], nil
	return append(acks, federation.Ack{Stream: a.stream, Cumulative: a.cumulative, Ranges: ranges,
		Exceptions: exceptions})
}

// runs gives the runs of the numbers above low. It sorts its argument.
func runs(numbers []uint64, low uint64) []federation.NumberRange {
	slices.Sort(numbers)
	var all []federation.NumberRange
	for _, n := range numbers {
		switch {
		case n <= low:
		case len(all) > 0 && all[len(all)-1].Last+1 == n:
			all[len(all)-1].Last = n
		default:
			all = append(all, federation.NumberRange{First: n, Last: n})
		}
	}
	return all
}
