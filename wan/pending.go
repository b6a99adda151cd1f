package wan

import (
	"maps"
	"slices"
	"sync"
	"time"

	"cloudqueue/federation"
)

// answerFunc gets the answer to one frame, once.
type answerFunc = func(verdict federation.Verdict, retry time.Duration)

// settled is an answer that is due.
type settled struct {
	answer  answerFunc
	verdict federation.Verdict
	retry   time.Duration
}

// pending holds who waits for the answers to one outgoing stream's frames.
type pending struct {
	mu      sync.Mutex // frames are added by Copy's callers, settled by the control reader
	next    uint64     // the number of the next frame
	low     uint64     // all up to this are settled
	waiting map[uint64]answerFunc
}

func newPending() *pending {
	return &pending{next: 1, waiting: map[uint64]answerFunc{}}
}

// number is the number that the next frame gets.
func (p *pending) number() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// add gives the next number to a frame whose answer goes to answer.
func (p *pending) add(answer answerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[p.next] = answer
	p.next++
}

// settle takes out what an ACK answers, in the order of the numbers. A number that was never sent, or that was answered
// before, is a protocol error.
func (p *pending) settle(ack federation.Ack) ([]settled, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdicts, err := p.listed(ack)
	if err != nil {
		return nil, err
	}
	if ack.Cumulative >= p.next {
		return nil, protocolError("answer to frame %d of stream %d, which was not sent", ack.Cumulative, ack.Stream)
	}
	// Each number is passed once in the stream's life, so a hostile peer cannot make this long.
	for ; p.low < ack.Cumulative; p.low++ {
		if _, ok := verdicts[p.low+1]; !ok && p.waiting[p.low+1] != nil {
			verdicts[p.low+1] = federation.Exception{Verdict: federation.OK}
		}
	}
	var all []settled
	for _, n := range slices.Sorted(maps.Keys(verdicts)) {
		all = append(all, settled{p.waiting[n], verdicts[n].Verdict, verdicts[n].Retry})
		delete(p.waiting, n)
	}
	return all, nil
}

// listed gives the answers in exceptions and ranges. Every number in them must be waiting, which bounds the work.
func (p *pending) listed(ack federation.Ack) (map[uint64]federation.Exception, error) {
	verdicts := map[uint64]federation.Exception{}
	for _, e := range ack.Exceptions {
		if _, twice := verdicts[e.Number]; twice || p.waiting[e.Number] == nil {
			return nil, protocolError("exception for frame %d of stream %d, which does not wait", e.Number, ack.Stream)
		}
		verdicts[e.Number] = e
	}
	for _, r := range ack.Ranges {
		if r.Last >= p.next || r.First > r.Last {
			return nil, protocolError("answer to frames %d to %d of stream %d, which were not sent", r.First, r.Last,
				ack.Stream)
		}
		for n := r.First; n <= r.Last; n++ {
			if _, ok := verdicts[n]; ok {
				continue
			}
			if p.waiting[n] == nil {
				return nil, protocolError("second answer to frame %d of stream %d", n, ack.Stream)
			}
			verdicts[n] = federation.Exception{Verdict: federation.OK}
		}
	}
	return verdicts, nil
}

// lose takes out everything that waits, in the order of the numbers.
func (p *pending) lose() []settled {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []settled
	for _, n := range slices.Sorted(maps.Keys(p.waiting)) {
		all = append(all, settled{p.waiting[n], federation.LinkLost, 0})
	}
	clear(p.waiting)
	return all
}
