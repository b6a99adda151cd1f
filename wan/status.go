package wan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
)

// State is what a link is doing.
type State = federation.State

// States of a link.
const (
	// no link yet since the router started or the peer was added, and nothing went wrong
	StateStarting = federation.StateStarting
	StateRunning  = federation.StateRunning
	StateStalled  = federation.StateStalled // up, backlog, no progress
	StateDraining = federation.StateDraining
	StateDown     = federation.StateDown
)

// LinkStatus is one link for `status`.
type LinkStatus struct {
	Peer        federation.SiteID
	State       State
	Reason      string    // why, for people; when running: what is wrong with connection 1, or empty
	Fix         string    // what to type or to change; empty when nothing helps but time
	Since       time.Time // since when it is in State, for this Reason; when running, since the link came up
	Addresses   []string  // that we dial, as the topology has them; empty: we wait to be dialled
	NextRetry   time.Time // zero when we do not dial
	RTT         time.Duration
	Connections []ConnectionStatus
	Sent        Traffic
	Received    Traffic
	Queued      uint64            // bytes that wait in memory to be written
	Unanswered  uint64            // frames queued or written and not answered
	Verdicts    map[string]uint64 // the peer's answers, by verdict, since the start
	LastAnswers map[string]Occurrence
	// what we refused of this peer, by reason, since the start; as refused-our-certificate what it, or a router that
	// may be its, refused of us
	Refused     map[string]uint64
	LastRefused map[string]Occurrence
	Hello       federation.Hello // the peer's latest
}

// ConnectionStatus is one QUIC connection of a link.
type ConnectionStatus struct {
	Index            uint8
	Local, Remote    string // addresses; Local is the endpoint's socket, which may listen on all interfaces
	Since            time.Time
	RTT              time.Duration
	CongestionWindow uint64 // bytes
	PacketsSent      uint64
	PacketsLost      uint64
	BytesSent        uint64 // of UDP payload
	BytesReceived    uint64
}

// Traffic counts the copies that went one way since the start.
type Traffic struct {
	Frames uint64
	Bytes  uint64 // with their heads
}

// Status tells how every link is, sorted by peer.
func (e *Endpoint) Status() []LinkStatus {
	var all []LinkStatus
	for _, p := range e.all() {
		all = append(all, p.status())
	}
	slices.SortFunc(all, func(a, b LinkStatus) int { return cmp.Compare(a.Peer, b.Peer) })
	return all
}

// Refused counts everything that was refused since the start, by reason, whoever it came from.
func (e *Endpoint) Refused() map[string]uint64 { return e.refused.snapshot() }

// LastRefused tells the last one of each reason of Refused.
func (e *Endpoint) LastRefused() map[string]Occurrence { return e.refused.lasts() }

// HalfOpen is how many connections that came in have not finished their handshake.
func (e *Endpoint) HalfOpen() int { return e.doorman.halfOpen() }

func (p *peer) status() LinkStatus {
	t := &p.traffic
	s := LinkStatus{
		Peer:     p.site,
		Sent:     Traffic{t.sentFrames.Load(), t.sentBytes.Load()},
		Received: Traffic{t.receivedFrames.Load(), t.receivedBytes.Load()},
		Verdicts: p.verdicts.snapshot(), LastAnswers: p.verdicts.lasts(),
		Refused: p.refused.snapshot(), LastRefused: p.refused.lasts(),
	}
	p.mu.Lock()
	l := p.link
	s.Hello, s.Reason, s.Fix, s.Since = p.hello, p.reason, p.fix, p.since
	s.State = StateDown
	if !p.wasUp && p.reason == "" {
		s.State = StateStarting
		if !p.entry.Dial {
			s.Reason, s.Fix = string(p.site)+" has not dialled this site yet",
				"when this lasts: cloudqueue status at "+string(p.site)
		}
	}
	if p.entry.Dial {
		s.Addresses = slices.Clone(p.entry.Addresses)
	}
	if l == nil && len(s.Addresses) > 0 {
		s.NextRetry = p.next
	}
	p.mu.Unlock()
	if l != nil {
		l.fill(&s)
	}
	return s
}

// fill says what a link that is up does.
func (l *Link) fill(s *LinkStatus) {
	for _, c := range l.conns() {
		s.Connections = append(s.Connections, c.status())
		queued, unanswered := c.load()
		s.Queued += queued
		s.Unanswered += unanswered
	}
	s.RTT = s.Connections[0].RTT
	idle := time.Since(l.since) - time.Duration(l.progress.Load())
	draining, reason, _ := l.drain.state()
	switch {
	case draining:
		s.State, s.Reason = StateDraining, reason
	case s.Unanswered > 0 && idle >= l.peer.e.cfg.StalledAfter:
		s.State, s.Since = StateStalled, time.Now().Add(-idle)
		s.Reason = fmt.Sprintf("%d frames wait for %s; no frame was written whole or answered for %s", s.Unanswered, s.Peer,
			idle.Truncate(time.Second))
		s.Fix = fmt.Sprintf("see the lanes that the link carries; cloudqueue status at %s says what holds them there",
			s.Peer)
	default:
		s.State = StateRunning
		if t := l.trouble.Load(); t != nil {
			s.Reason, s.Fix = "connection 1 cannot be dialled: "+t.reason, t.fix
		}
	}
}

func (c *conn) status() ConnectionStatus {
	q := c.qc.ConnectionStats()
	return ConnectionStatus{c.index, c.qc.LocalAddr().String(), c.qc.RemoteAddr().String(), c.since, q.SmoothedRTT,
		q.CongestionWindow, q.PacketsSent, q.PacketsLost, q.BytesSent, q.BytesReceived}
}

// load is how many bytes wait to be written, and how many frames for an answer.
func (c *conn) load() (queued, unanswered uint64) {
	c.mu.Lock()
	senders := c.byOrder()
	c.mu.Unlock()
	for _, s := range senders {
		bytes, open := s.out.load()
		queued += uint64(bytes)
		unanswered += uint64(open)
	}
	return queued, unanswered
}

// backlog is the bytes that wait for this link.
func (l *Link) backlog() uint64 {
	var all uint64
	for _, c := range l.conns() {
		queued, _ := c.load()
		all += queued
	}
	return all
}
