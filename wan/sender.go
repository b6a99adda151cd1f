package wan

import (
	"bufio"
	"context"

	"cloudqueue/federation"

	"github.com/quic-go/quic-go"
)

// Streams of a connection. Frames of one stream wait for each other when a packet is lost, so a lost packet holds back
// the lanes of one stream only: with two, half of a class's lanes of that connection (chosen; eight would hold back
// fewer, and cut each ACK and each buffer into smaller parts).
const (
	streamsPerClass = 2
	maxClasses      = 16
)

// Urgencies of streams (RFC 9218; 0 goes first, equals take turns). Control goes before everything, the urgent class
// before all others, and these share: a strict order among them would let one starve the next.
const (
	urgencyControl = 0
	urgencyUrgent  = 1
	urgencyOthers  = 3
)

// writeBuffer joins small frames into one write; a batch that is larger passes by it uncopied.
const writeBuffer = 16 << 10

// sender writes the copies of one data stream.
type sender struct {
	c       *conn
	class   uint8
	out     *outbox
	pending *pending
}

// sender gives the stream for a lane's hash, and starts it when it is the first frame on it.
func (c *conn) sender(class uint8, hash uint64) (*sender, error) {
	c.mu.Lock()
	slot := &c.senders[class][hash%streamsPerClass]
	s := *slot
	if s == nil && !c.ended {
		s = &sender{c: c, class: class, out: newOutbox(c.link.peer.e.cfg.QueueBytes, maxUnanswered),
			pending: newPending()}
		*slot = s
		c.mu.Unlock()
		c.start(s.run)
		return s, nil
	}
	c.mu.Unlock()
	if s == nil {
		return nil, ErrLinkDown
	}
	return s, nil
}

// copy queues a batch.
func (s *sender) copy(ctx context.Context, side federation.Sidecar, batch *federation.Batch, answer answerFunc) error {
	body := batch.Bytes()
	return s.out.put(ctx, len(body), func() (outFrame, error) {
		head, err := federation.AppendCopyHead(nil,
			federation.Copy{Number: s.pending.number(), Sidecar: side, Batch: body})
		if err != nil {
			return outFrame{}, err
		}
		s.pending.add(answer)
		return outFrame{head, body}, nil
	})
}

// run opens the stream and writes what is queued until the connection ends.
func (s *sender) run() error {
	stream, err := s.open()
	if err != nil {
		return nil // the connection has ended
	}
	w := bufio.NewWriterSize(stream, writeBuffer)
	w.Write(federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamData, Class: s.class}))
	for {
		f, ok := s.out.take()
		if !ok {
			if err := w.Flush(); err != nil {
				return s.failed(err)
			}
			select {
			case <-s.out.wake:
			case <-s.c.qc.Context().Done():
				return nil
			}
			continue
		}
		w.Write(f.head) // an error stays in w
		if _, err := w.Write(f.body); err != nil {
			return s.failed(err)
		}
		s.out.written(f)
		s.count(f)
	}
}

// open opens the stream. Until the connection knows its number no ack can name it, so none of its frames goes out
// before.
func (s *sender) open() (*quic.Stream, error) {
	stream, err := s.c.qc.OpenStreamSync(s.c.qc.Context())
	if err != nil {
		return nil, err
	}
	urgency := int8(urgencyOthers)
	if s.class == 0 {
		urgency = urgencyUrgent
	}
	stream.SetPriority(urgency, true)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.byID[uint64(stream.StreamID())] = s
	return stream, nil
}

// failed tells a stream that the peer reset, which ends the connection, from a connection that has ended.
func (s *sender) failed(err error) error {
	if s.c.qc.Context().Err() != nil || connectionEnded(err) {
		return nil
	}
	return protocolError("write to data stream: %v", err)
}

func (s *sender) count(f outFrame) {
	t := &s.c.link.peer.traffic
	t.sentFrames.Add(1)
	t.sentBytes.Add(uint64(f.size()))
	s.c.link.progressed()
}
