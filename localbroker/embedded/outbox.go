package embedded

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// outbox is what a connection has to write. Anyone may add to it, without waiting; one writer (run) empties it.
type outbox struct {
	conn         net.Conn
	limit        int // bytes; see full
	writeTimeout time.Duration
	wake         chan struct{} // capacity 1: there is something to write, or a setting changed
	drained      chan struct{} // capacity 1: it was full and is not any more

	mu        sync.Mutex // adding is done by many connections' readers and by timers
	buffer    []byte
	spare     []byte // the buffer written before, for its memory
	frameMax  uint32
	heartbeat time.Duration
	lastCall  time.Time // all writing ends here, zero: not yet
	closed    bool      // nothing more is taken; run ends when the buffer is empty
}

// writeChunk is how much is written under one deadline.
const writeChunk = 64 << 10

func newOutbox(conn net.Conn, limits Limits, writeTimeout time.Duration) *outbox {
	return &outbox{
		conn:         conn,
		limit:        limits.OutboxBytes,
		frameMax:     limits.FrameMax,
		writeTimeout: writeTimeout,
		wake:         make(chan struct{}, 1),
		drained:      make(chan struct{}, 1),
	}
}

// method adds a method frame.
func (o *outbox) method(channel uint16, id methodID, args []byte) {
	o.mu.Lock()
	if !o.closed {
		o.buffer = appendMethodFrame(o.buffer, channel, id, args)
	}
	o.mu.Unlock()
	signal(o.wake)
}

// content adds a method with its content, as one unit.
func (o *outbox) content(channel uint16, id methodID, args []byte, m *message) {
	o.mu.Lock()
	if !o.closed {
		o.buffer = appendMethodFrame(o.buffer, channel, id, args)
		o.buffer = appendContentFrames(o.buffer, channel, o.frameMax, m.properties.raw, m.body)
	}
	o.mu.Unlock()
	signal(o.wake)
}

// full reports whether consumers have to wait, because the client does not read as fast as messages come.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buffer) > o.limit
}

// waitForRoom returns when the outbox is not full, or leaving is closed. The reader alone calls it, before it takes
// more requests whose answers would go here.
func (o *outbox) waitForRoom(leaving <-chan struct{}) {
	for o.full() {
		select { // either way the loop looks again, or the connection is over
		case <-o.drained:
		case <-leaving:
			return
		}
	}
}

// tuned sets what was agreed with the client.
func (o *outbox) tuned(frameMax uint32, heartbeat time.Duration) {
	o.mu.Lock()
	o.frameMax, o.heartbeat = frameMax, heartbeat
	o.mu.Unlock()
	signal(o.wake)
}

// close lets run write what is there, until a last deadline, and end.
func (o *outbox) close(lastCall time.Time) {
	o.mu.Lock()
	o.closed, o.lastCall = true, lastCall
	o.conn.SetWriteDeadline(lastCall)
	o.mu.Unlock()
	signal(o.wake)
}

// run writes until close, or until the client does not take 64 KiB in the write timeout. afterFull is called each time
// a full outbox has been written: consumers may have been waiting.
func (o *outbox) run(afterFull func()) error {
	beat := time.NewTimer(time.Hour)
	defer beat.Stop()
	for {
		batch, interval, closed := o.take()
		switch {
		case len(batch) > 0:
			if err := o.write(batch); err != nil {
				return err
			}
			if len(batch) > o.limit {
				signal(o.drained)
				afterFull()
			}
		case closed:
			return nil
		default:
			o.sleep(beat, interval)
		}
	}
}

// sleep waits for something to write; when nothing comes for half the heartbeat interval it adds a heartbeat.
func (o *outbox) sleep(beat *time.Timer, interval time.Duration) {
	var due <-chan time.Time
	if interval > 0 {
		beat.Reset(interval / 2)
		due = beat.C
	}
	select { // a heartbeat too many does no harm
	case <-o.wake:
	case <-due:
		o.mu.Lock()
		if !o.closed { // nothing comes behind a close
			o.buffer = endFrame(beginFrame(o.buffer, frameHeartbeat, 0), len(o.buffer))
		}
		o.mu.Unlock()
	}
}

func (o *outbox) take() (batch []byte, heartbeat time.Duration, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch = o.buffer
	if len(batch) > 0 {
		o.buffer, o.spare = o.spare[:0], batch
		if cap(batch) > 2*o.limit {
			o.spare = nil // one large message must not cost its size for ever
		}
	}
	return batch, o.heartbeat, o.closed
}

func (o *outbox) write(batch []byte) error {
	for len(batch) > 0 {
		chunk := batch[:min(len(batch), writeChunk)]
		o.setDeadline()
		if _, err := o.conn.Write(chunk); err != nil {
			return fmt.Errorf("write %d bytes: %w", len(chunk), err)
		}
		batch = batch[len(chunk):]
	}
	return nil
}

func (o *outbox) setDeadline() {
	o.mu.Lock()
	defer o.mu.Unlock()
	deadline := time.Now().Add(o.writeTimeout)
	if !o.lastCall.IsZero() && deadline.After(o.lastCall) {
		deadline = o.lastCall
	}
	o.conn.SetWriteDeadline(deadline)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is set
	}
}

// raw adds bytes that are no frame.
func (o *outbox) raw(b []byte) {
	o.mu.Lock()
	o.buffer = append(o.buffer, b...)
	o.mu.Unlock()
	signal(o.wake)
}
