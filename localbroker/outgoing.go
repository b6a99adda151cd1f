package localbroker

import (
	"encoding/binary"
	"errors"
	"runtime"

	"cloudqueue/localbroker/amqpwire"
)

// maxPending is where publishers wait for the socket. Chosen: as much as a socket's own buffer, so that the flusher
// always has something to write, and little enough that an ack behind it leaves in milliseconds.
const maxPending = 256 << 10

var errOver = errors.New("the channel is over")

// signal wakes everyone who waits. The owner's mutex guards it.
type signal struct{ ch chan struct{} }

func (s *signal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// Write takes what the library writes, frame by frame, so that nothing of ours comes between the bytes of one.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finish {
		return 0, errOver
	}
	w.partial = append(w.partial, p...)
	for {
		n := w.wholeFrame()
		if n == 0 {
			w.poke()
			return len(p), nil
		}
		w.watchOpen(w.partial[:n])
		w.pending = append(w.pending, w.partial[:n]...)
		w.partial = w.partial[:copy(w.partial, w.partial[n:])]
	}
}

// wholeFrame gives the bytes of the first whole frame of partial, 0 without one.
func (w *wire) wholeFrame() int {
	n := 8 // the protocol header
	if w.greeted {
		if len(w.partial) < amqpwire.FrameHead {
			return 0
		}
		n = amqpwire.FrameOverhead + int(binary.BigEndian.Uint32(w.partial[3:]))
	}
	if len(w.partial) < n {
		return 0
	}
	w.greeted = true
	return n
}

// watchOpen learns which channel the library opens for next: it does not tell its number.
func (w *wire) watchOpen(frame []byte) {
	if w.next == nil || frame[0] != amqpwire.FrameMethod || w.channels == nil {
		return
	}
	if method, _, ok := amqpwire.ParseMethod(frame[amqpwire.FrameHead : len(frame)-1]); ok &&
		method == amqpwire.ChannelOpen {
		w.opened = &wireChannel{wire: w, id: amqpwire.ParseHead(frame).Channel, sink: w.next, open: true}
		w.channels[w.opened.id] = w.opened
		w.next = nil
	}
}

// expect registers the sink of the channel that the library opens next.
func (w *wire) expect(s sink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.opened = s, nil
}

// expected gives the channel that was opened since, nil if none was.
func (w *wire) expected() *wireChannel {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = nil
	return w.opened
}

// publish queues m, and only while the channel is open. When it gives a channel instead of nil, nothing was queued: the
// caller may try again when that is closed.
func (ch *wireChannel) publish(frameMax int, m *amqpwire.Content) (<-chan struct{}, error) {
	w := ch.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if !ch.open {
		return nil, errOver
	}
	if w.blocked != "" || len(w.pending) > maxPending {
		return w.changed.wait(), nil
	}
	w.pending = amqpwire.AppendPublish(w.pending, ch.id, frameMax, m)
	w.poke()
	return nil, nil
}

// ack queues an ack of every delivery up to tag; nack requeues all of them.
func (ch *wireChannel) ack(tag uint64) {
	w := ch.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch.open {
		w.pending = amqpwire.AppendAck(w.pending, ch.id, tag)
		w.poke()
	}
}

func (ch *wireChannel) nack() {
	w := ch.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch.open {
		w.pending = amqpwire.AppendNack(w.pending, ch.id, 0)
		w.poke()
	}
}

// poke wakes flush. The caller holds mu.
func (w *wire) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close lets flush write what is pending, then closes. The library calls it when the connection is over for it.
func (w *wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finish = true
	w.poke()
	return nil
}

// kill ends the connection at once; nothing more is written.
func (w *wire) kill(err error) {
	w.dropAll(closing{text: err.Error(), hard: true}, err)
	w.mu.Lock()
	w.pending, w.finish = nil, true
	w.mu.Unlock()
	_ = w.conn.Close() // the reason of the end is err
	w.poke()
}

// flush writes until the connection is over, and closes it.
func (w *wire) flush() {
	defer func() { _ = w.conn.Close() }() // the reason of the end is known already
	for {
		<-w.wake
		runtime.Gosched() // who is about to append does so first: one write for a batch
		batch, last := w.takePending()
		if len(batch) > 0 {
			if _, err := w.conn.Write(batch); err != nil {
				w.kill(err)
				return
			}
		}
		if last {
			return
		}
	}
}

func (w *wire) takePending() (batch []byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch = w.pending
	w.pending, w.spare = w.spare[:0], nil
	if cap(batch) <= 2*maxPending { // a large message's buffer is not kept
		w.spare = batch[:0:cap(batch)]
	}
	w.changed.fire()
	return batch, w.finish
}
