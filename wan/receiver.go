package wan

import (
	"time"

	"cloudqueue/federation"

	"github.com/quic-go/quic-go"
)

// readBuffer is the read buffer of a data stream: frames above it are read straight into their own memory (chosen: some
// 45 packets).
const readBuffer = 64 << 10

// receiver reads the copies of one data stream of the peer.
type receiver struct {
	c       *conn
	frames  *frameReader
	answers *answers
}

func newReceiver(c *conn, s *quic.Stream) *receiver {
	most := federation.MaxCopyFrame - federation.MaxEncodedBatch - federation.MaxBatchHeader +
		c.link.peer.e.cfg.MaxBatch
	frames := newFrameReader(s, readBuffer, most)
	frames.partial = &c.link.partial
	return &receiver{c, frames, newAnswers(uint64(s.StreamID()))}
}

// run hands every copy to the handler. It always reads: what cannot be taken is the handler's to refuse.
func (r *receiver) run() error {
	preamble, err := r.frames.preamble()
	if err == nil && preamble.Kind != federation.StreamData {
		err = protocolError("stream of kind %d; there is one control stream", preamble.Kind)
	}
	for err == nil {
		err = r.next()
	}
	return r.c.streamEnded(err)
}

func (r *receiver) next() error {
	frame, size, err := r.frames.next()
	if err != nil {
		return err
	}
	copied, ok := frame.(federation.Copy)
	if !ok {
		return protocolError("frame of type %d on a data stream", frame.Type())
	}
	if err := r.answers.expect(copied.Number); err != nil {
		return err
	}
	r.c.owed.Add(1)
	t := &r.c.link.peer.traffic
	t.receivedFrames.Add(1)
	t.receivedBytes.Add(uint64(size))
	r.c.link.peer.e.cfg.Handler.Copy(r.c.link, copied, func(verdict federation.Verdict, retry time.Duration) {
		r.c.owed.Add(-1)
		r.c.due.answered(r.answers, copied.Number, verdict, retry)
	})
	return nil
}

// streamEnded gives the error that ends the connection; nil when the connection has ended by itself.
func (c *conn) streamEnded(err error) error {
	if c.qc.Context().Err() != nil || connectionEnded(err) {
		return nil
	}
	if _, ours := err.(*closeError); ours {
		return err
	}
	return protocolError("stream ended: %v", err)
}
