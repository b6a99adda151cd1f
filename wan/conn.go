package wan

import (
	"sync"
	"sync/atomic"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"

	"github.com/quic-go/quic-go"
)

// conn is one QUIC connection of a link, from the end of the hellos on.
//
//	goroutine       owns
//	readControl     what comes in on the control stream: acks to our copies, heartbeats, and on connection 0 the frames of the link
//	writeControl    what goes out on it: frames of Send, acks, heartbeats; it watches for silence and for the end of the certificate
//	acceptStreams   the peer's data streams; one goroutine reads each (receiver)
//	sender.run      one per data stream of ours
type conn struct {
	link     *Link
	index    uint8
	qc       *quic.Conn
	stream   *quic.Stream // control
	frames   *frameReader // of the control stream
	control  *outbox      // of the control stream
	since    time.Time
	identity identityCheck
	ours     *pki.Identity // that we showed

	theirsRenewed atomic.Bool  // the peer said that its certificate is another one by now
	owed          atomic.Int64 // frames of the peer that are not answered

	heard  atomic.Int64 // when the last control frame came, as time since since
	echoed atomic.Int64 // when the peer last showed that it reads ours, likewise
	echo   atomic.Int64 // Sent of the peer's last heartbeat, in unix ms
	seen   atomic.Int64 // Echo of the peer's last heartbeat, likewise

	due        *dueAcks
	fin        chan struct{} // closed when nothing more is to be sent on the control stream
	finishOnce func()

	mu      sync.Mutex // guards what follows: Copy opens senders, acks look for them
	ended   bool
	cause   error // our own reason to end it, when we had one first
	senders [maxClasses][streamsPerClass]*sender
	byID    map[uint64]*sender
	tasks   sync.WaitGroup // grows only while !ended
}

func newConn(l *Link, index uint8, o *opening) *conn {
	c := &conn{link: l, index: index, qc: o.qc, stream: o.control, frames: o.frames, since: time.Now(),
		byID: map[uint64]*sender{}, fin: make(chan struct{})}
	c.finishOnce = sync.OnceFunc(func() { close(c.fin) })
	c.control = newOutbox(l.peer.e.cfg.QueueBytes, 0)
	c.frames.maxFrame = federation.MaxSyncFrame
	c.due = newDueAcks(l.peer.e.cfg.AckDelay)
	c.ours = o.ours
	c.identity = identityCheck{chain: o.qc.ConnectionState().TLS.PeerCertificates}
	return c
}

// run serves the connection until it ends, answers what is outstanding with LinkLost, and returns why it ended.
func (c *conn) run() error {
	c.start(c.readControl)
	c.start(c.writeControl)
	c.start(c.acceptStreams)
	<-c.qc.Context().Done()
	c.stop()
	c.tasks.Wait()
	c.lose()
	return c.why()
}

// start runs a task of the connection, unless it has ended; the task's error ends it.
func (c *conn) start(task func() error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.tasks.Go(func() {
		if err := task(); err != nil {
			c.end(err)
		}
	})
	return true
}

// stop lets nothing new begin.
func (c *conn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.control.close(ErrLinkDown)
	for _, s := range c.byOrder() {
		s.out.close(ErrLinkDown)
	}
}

// lose answers everything outstanding. No task of the connection runs any more, and no frame is added.
func (c *conn) lose() {
	for _, s := range c.byOrder() {
		c.deliver(s, s.pending.lose())
	}
}

// byOrder lists the senders by class.
func (c *conn) byOrder() []*sender {
	var all []*sender
	for _, class := range &c.senders {
		for _, s := range class {
			if s != nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// deliver calls answer functions and counts the verdicts.
func (c *conn) deliver(s *sender, all []settled) {
	if len(all) == 0 {
		return
	}
	s.out.settle(len(all))
	for _, a := range all {
		c.link.peer.verdicts.add(a.verdict.String())
		a.answer(a.verdict, a.retry)
	}
	c.link.finished(len(all))
}

// acceptStreams reads every data stream that the peer opens. How many there can be is QUIC's limit (maxStreams).
func (c *conn) acceptStreams() error {
	for {
		s, err := c.qc.AcceptStream(c.qc.Context())
		if err != nil {
			return nil // the connection has ended
		}
		s.Close() // data goes one way; answers come on the control stream
		c.start(func() error { return newReceiver(c, s).run() })
	}
}

// clock is the time since the connection began, for the atomics.
func (c *conn) clock() int64 { return int64(time.Since(c.since)) }

// silence is how long nothing came on the control stream.
func (c *conn) silence() time.Duration { return time.Duration(c.clock() - c.heard.Load()) }

// unread is how long the peer did not show that it reads our control stream.
func (c *conn) unread() time.Duration { return time.Duration(c.clock() - c.echoed.Load()) }
