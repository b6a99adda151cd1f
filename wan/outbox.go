package wan

import (
	"context"
	"sync"
)

// outFrame is an encoded frame. The body, if any, is written as it is and belongs to somebody else.
type outFrame struct{ head, body []byte }

func (f outFrame) size() int { return len(f.head) + len(f.body) }

// outbox holds the frames that wait to be written to one stream. When it is full, put waits.
type outbox struct {
	maxBytes int // a frame larger than that waits until it is alone
	maxOpen  int // frames put and not settled; 0: not counted

	mu      sync.Mutex // put comes from any goroutine, take from the stream's writer, settle from the control reader
	frames  []outFrame
	bytes   int
	open    int
	err     error         // set once, by close
	waiting int           // callers of put that wait for space
	space   chan struct{} // closed and replaced when there is space and somebody waits
	wake    chan struct{} // capacity 1: there is something to take
}

func newOutbox(maxBytes, maxOpen int) *outbox {
	return &outbox{maxBytes: maxBytes, maxOpen: maxOpen, space: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// put waits until a frame of about size bytes fits, then queues what build gives. build runs under the lock, so that
// what it numbers is queued in that order; its error is returned and nothing is queued.
func (o *outbox) put(ctx context.Context, size int, build func() (outFrame, error)) error {
	for {
		done, space, err := o.tryPut(size, build)
		if done {
			return err
		}
		select {
		case <-space:
			o.stopWaiting()
		case <-ctx.Done():
			o.stopWaiting()
			return ctx.Err()
		}
	}
}

func (o *outbox) tryPut(size int, build func() (outFrame, error)) (done bool, space <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return true, nil, o.err
	}
	if o.bytes > 0 && o.bytes+size > o.maxBytes || o.maxOpen > 0 && o.open >= o.maxOpen {
		o.waiting++
		return false, o.space, nil
	}
	f, err := build()
	if err != nil {
		return true, nil, err
	}
	o.push(f)
	return true, nil, nil
}

func (o *outbox) stopWaiting() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting--
}

// force queues one of the few frames of our own that must not wait.
func (o *outbox) force(f outFrame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.push(f)
	}
}

func (o *outbox) push(f outFrame) {
	o.frames = append(o.frames, f)
	o.bytes += f.size()
	o.open++
	poke(o.wake)
}

// take gives the oldest frame. Its bytes count until written is called.
func (o *outbox) take() (outFrame, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.frames) == 0 {
		return outFrame{}, false
	}
	f := o.frames[0]
	o.frames[0] = outFrame{}
	o.frames = o.frames[1:]
	return f, true
}

// written frees the bytes of a frame.
func (o *outbox) written(f outFrame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= f.size()
	o.makeSpace()
}

// settle frees the places of n frames.
func (o *outbox) settle(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open -= n
	o.makeSpace()
}

func (o *outbox) makeSpace() {
	if o.waiting > 0 {
		close(o.space)
		o.space = make(chan struct{})
	}
}

// close makes put fail with err. What waits is dropped.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.err = err
	o.frames, o.bytes = nil, 0
	o.makeSpace()
}

func (o *outbox) load() (bytes, open int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes, o.open
}
