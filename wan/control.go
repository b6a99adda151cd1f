package wan

import (
	"context"
	"errors"
	"time"

	"cloudqueue/federation"
)

// linger is how long a side that refused the other one waits for it to close (chosen: three round trips of the longest
// path on earth, and a loss).
const linger = time.Second

// controlWrite is the most bytes that go into one write of the control stream.
const controlWrite = 64 << 10

// writeControl is the only writer of the control stream.
func (c *conn) writeControl() error {
	w := controlWriter{c: c}
	cfg := &c.link.peer.e.cfg
	beat := time.NewTicker(cfg.Heartbeat / 2) // every second one sends; both look
	defer beat.Stop()
	delay := time.NewTimer(0)
	delay.Stop()
	defer delay.Stop()
	for tick := 0; ; {
		// Any order of what is ready gives the same frames: each case adds its own, and acks carry everything answered
		// so far.
		select {
		case <-c.qc.Context().Done():
			return nil
		case <-c.fin:
			return w.finish()
		case <-c.control.wake:
		case <-c.due.soon:
			delay.Reset(cfg.AckDelay)
			continue
		case <-delay.C:
			w.acks()
		case <-c.due.now:
			w.acks()
		case <-beat.C:
			if err := c.look(); err != nil {
				return err
			}
			if tick++; tick%2 == 0 {
				w.add(c.heartbeat())
			}
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
}

// controlWriter gathers frames and writes them together.
type controlWriter struct {
	c   *conn
	buf []byte
	err error
}

func (w *controlWriter) add(f federation.Frame) {
	b, err := federation.AppendFrame(w.buf, f)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.buf = b
}

func (w *controlWriter) acks() {
	for _, a := range w.c.due.take() {
		w.add(a)
	}
}

// flush writes what was added and everything queued.
func (w *controlWriter) flush() error {
	for more := true; more; {
		more = w.gather()
		if w.err != nil {
			return w.err // a frame of our own that cannot be encoded
		}
		if err := w.write(); err != nil {
			return err
		}
	}
	return nil
}

// gather adds queued frames up to controlWrite and tells whether there may be more.
func (w *controlWriter) gather() bool {
	for len(w.buf) < controlWrite {
		f, ok := w.c.control.take()
		if !ok {
			return false
		}
		w.buf = append(w.buf, f.head...)
		w.c.control.written(f)
	}
	return true
}

// write bounds each write: a peer that does not read its control stream for so long is dead.
func (w *controlWriter) write() error {
	if len(w.buf) == 0 {
		return nil
	}
	w.c.stream.SetWriteDeadline(time.Now().Add(2 * w.c.link.peer.e.cfg.DeadAfter))
	_, err := w.c.stream.Write(w.buf)
	w.buf = w.buf[:0]
	if err != nil {
		return w.c.streamEnded(err)
	}
	return nil
}

// finish says everything that is left, ends our side of the stream, and waits for the peer to end its own side or the
// connection: only that shows that it has everything. The bound is that of a write, so a peer that is there gets what
// was lost on the way several times.
func (w *controlWriter) finish() error {
	w.acks()
	if err := w.flush(); err != nil {
		return err
	}
	w.c.stream.Close()
	wait, cancel := context.WithTimeout(w.c.qc.Context(), 2*w.c.link.peer.e.cfg.DeadAfter)
	defer cancel()
	<-wait.Done()
	return errDrained
}

func poke(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
