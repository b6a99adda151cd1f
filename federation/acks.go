package federation

import (
	"fmt"
	"time"
)

// Answers to the frames of one stream. Frame numbers are dense from 1, so both sides keep a run of them: what is below is
// answered for good.
//
//	sender    AckTracker     1 2 3 … │ base            next   │
//	                        answered │ some answered          │ not sent
//	receiver  AckCollector           │ cumulative + 1   last  │
//
// An ACK answers number n when n ≤ cumulative, or n is in a range, or n is an exception; the verdict is the exception's,
// else OK. The collector never tells a number without its exception: an ACK that would have to leave one out ends below it.
// The frames that carry ACKs keep their order (the control stream), so an exception is told once.

// Answer is a verdict on one frame, as the sender learns it.
type Answer struct {
	Number  uint64
	Verdict Verdict
	Retry   time.Duration
}

// AckTracker is the sender's side of one stream. One goroutine at a time may use it.
type AckTracker struct {
	limit    int
	base     uint64 // lowest number that may be unanswered
	answered []bool // of base, base+1, …: the numbers sent
	open     int    // of answered, those that are false
}

// NewAckTracker makes a tracker that lets at most limit numbers pass between the lowest unanswered frame and the next.
func NewAckTracker(limit int) *AckTracker { return &AckTracker{limit: max(limit, 1), base: 1} }

// Send gives the next frame's number. It returns false when the limit is reached: wait for an ACK.
func (t *AckTracker) Send() (number uint64, ok bool) {
	if len(t.answered) >= t.limit {
		return 0, false
	}
	t.answered = append(t.answered, false)
	t.open++
	return t.base + uint64(len(t.answered)) - 1, true
}

// Outstanding is the number of frames that are sent and not answered.
func (t *AckTracker) Outstanding() int { return t.open }

// Take gives the frames that the ACK answers and that nobody answered before: exceptions first, then the others, each
// ascending. An ACK for a number that was never sent wraps ErrCorrupt and changes nothing.
func (t *AckTracker) Take(a Ack) ([]Answer, error) {
	if high := a.highest(); high >= t.base+uint64(len(t.answered)) {
		return nil, fmt.Errorf("%w: ack of frame %d, %d is the last one sent", ErrCorrupt, high, t.base+uint64(len(t.answered))-1)
	}
	var out []Answer
	for _, e := range a.Exceptions {
		out = t.answer(out, e.Number, Answer(e))
	}
	for n := t.base; n <= a.Cumulative; n++ {
		out = t.answer(out, n, Answer{Number: n})
	}
	for _, r := range a.Ranges {
		for n := max(r.First, t.base); n <= r.Last; n++ {
			out = t.answer(out, n, Answer{Number: n})
		}
	}
	t.forget()
	return out, nil
}

func (t *AckTracker) answer(out []Answer, n uint64, a Answer) []Answer {
	if n < t.base || t.answered[n-t.base] {
		return out
	}
	t.answered[n-t.base] = true
	t.open--
	return append(out, a)
}

// forget moves base over what is answered.
func (t *AckTracker) forget() {
	n := 0
	for n < len(t.answered) && t.answered[n] {
		n++
	}
	t.answered = append(t.answered[:0], t.answered[n:]...)
	t.base += uint64(n)
}

// Lost gives the frames that nobody answered, ascending, as answers with LinkLost: the connection has ended.
func (t *AckTracker) Lost() []Answer {
	var lost []Answer
	for i, answered := range t.answered {
		if !answered {
			lost = append(lost, Answer{Number: t.base + uint64(i), Verdict: LinkLost})
		}
	}
	t.base += uint64(len(t.answered))
	t.answered, t.open = t.answered[:0], 0
	return lost
}

func (a *Ack) highest() uint64 {
	high := a.Cumulative
	if n := len(a.Ranges); n > 0 {
		high = max(high, a.Ranges[n-1].Last)
	}
	if n := len(a.Exceptions); n > 0 {
		high = max(high, a.Exceptions[n-1].Number)
	}
	return high
}

// AckCollector is the receiver's side of one stream: it gathers verdicts, which come in any order, into few ACK frames.
// One goroutine at a time may use it.
type AckCollector struct {
	stream uint64
	limit  int
	base   uint64     // cumulative + 1: the lowest number that is not told as cumulative
	frames []received // of base, base+1, …
	dirty  bool       // something is answered and not told
}

type received struct {
	answered, told bool
	verdict        Verdict
	retry          time.Duration
}

// NewAckCollector makes a collector for a stream on which at most limit numbers pass between the lowest unanswered frame and the last.
func NewAckCollector(stream uint64, limit int) *AckCollector {
	return &AckCollector{stream: stream, limit: max(limit, 1), base: 1}
}

// Receive records the next frame of the stream. A number out of turn, and a frame over the limit, wrap ErrCorrupt: the
// sender breaks the protocol.
func (c *AckCollector) Receive(number uint64) error {
	if want := c.base + uint64(len(c.frames)); number != want {
		return fmt.Errorf("%w: frame number %d, want %d", ErrCorrupt, number, want)
	}
	if len(c.frames) >= c.limit {
		return fmt.Errorf("%w: frame %d, but %d is not answered and the limit is %d", ErrCorrupt, number, c.base, c.limit)
	}
	c.frames = append(c.frames, received{})
	return nil
}

// Answer records the verdict on a frame, once, in any order. It returns false, and changes nothing, for a frame that is not
// waiting for one.
func (c *AckCollector) Answer(number uint64, v Verdict, retry time.Duration) bool {
	if number < c.base || number >= c.base+uint64(len(c.frames)) || c.frames[number-c.base].answered {
		return false
	}
	c.frames[number-c.base] = received{answered: true, verdict: v, retry: retry}
	c.dirty = true
	return true
}

// Frame gives an ACK of what is answered and not told yet; false when there is nothing. Call it until it says so: what is
// over MaxAckItems comes in the next one.
func (c *AckCollector) Frame() (Ack, bool) {
	if !c.dirty {
		return Ack{}, false
	}
	a := Ack{Stream: c.stream}
	n := c.advance(&a)
	i := n
	for i < len(c.frames) && c.tell(&a, i) {
		i++
	}
	c.dirty = i < len(c.frames)
	c.frames = append(c.frames[:0], c.frames[n:]...)
	c.base += uint64(n)
	return a, true
}

// advance puts the answered frames from base on into the cumulative number, as far as their exceptions fit.
func (c *AckCollector) advance(a *Ack) int {
	n := 0
	for n < len(c.frames) && c.frames[n].answered && c.except(a, n) {
		n++
	}
	a.Cumulative = c.base + uint64(n) - 1
	return n
}

// tell puts frame i, above the cumulative number, into the ACK if it is answered and was not told. It returns false when
// the ACK is full.
func (c *AckCollector) tell(a *Ack, i int) bool {
	if f := c.frames[i]; !f.answered || f.told {
		return true
	}
	number := c.base + uint64(i)
	last := len(a.Ranges) - 1
	grows := last >= 0 && a.Ranges[last].Last+1 == number
	if !grows && len(a.Ranges) >= MaxAckItems || !c.except(a, i) {
		return false
	}
	if grows {
		a.Ranges[last].Last = number
	} else {
		a.Ranges = append(a.Ranges, NumberRange{number, number})
	}
	return true
}

// except marks frame i as told, with its exception if it has one; false when there is no room for that.
func (c *AckCollector) except(a *Ack, i int) bool {
	f := &c.frames[i]
	if !f.told && f.verdict != OK {
		if len(a.Exceptions) >= MaxAckItems {
			return false
		}
		a.Exceptions = append(a.Exceptions, Exception{Number: c.base + uint64(i), Verdict: f.verdict, Retry: f.retry})
	}
	f.told = true
	return true
}
