package embedded

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"sort"
	"strings"
	"sync"
)

// peer is a client that says exactly what a script tells it to, and notes what comes back. It answers close with close-ok
// by itself, as every client does.
type peer struct {
	name string
	conn net.Conn
	in   frameReader

	mu        sync.Mutex
	out       chan []byte
	events    []event
	partial   map[uint16]*partialContent
	channels  map[uint16]bool   // that are open
	confirmed map[uint16]uint64 // number of the last confirm, by channel
	ended     bool              // we hung up
	closed    bool              // close and close-ok were said

	deaf       bool // does not answer close
	heartbeats int
}

// event is one thing that the broker said.
type event struct {
	channel uint16
	text    string
	ack     uint64 // of a confirm
	nack    bool
	multi   bool
}

type partialContent struct {
	text  string
	props []byte
	size  uint64
	body  []byte
}

func newPeer(name string, conn net.Conn) *peer {
	p := &peer{
		name: name, conn: conn, in: frameReader{in: bufio.NewReader(conn), max: 1 << 20},
		out: make(chan []byte, 100_000), partial: map[uint16]*partialContent{}, channels: map[uint16]bool{},
		confirmed: map[uint16]uint64{},
	}
	go p.write()
	go p.read()
	return p
}

func (p *peer) write() {
	for b := range p.out {
		if _, err := p.conn.Write(b); err != nil {
			break
		}
	}
	for range p.out { // what comes after the end goes nowhere
	}
}

func (p *peer) send(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.out <- b
	}
}

func (p *peer) method(channel uint16, id methodID, args []byte) {
	p.send(appendMethodFrame(nil, channel, id, args))
}

func (p *peer) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		close(p.out)
	}
	p.conn.Close()
}

func (p *peer) read() {
	for {
		start, err := p.in.head()
		if err != nil {
			p.noteEnd()
			p.hangUp()
			return
		}
		payload := make([]byte, start.size)
		if err := p.in.payload(start, payload); err != nil {
			p.note(event{text: "broken frame"})
			p.hangUp()
			return
		}
		p.take(start, payload)
	}
}

func (p *peer) note(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
}

// expectEnd makes the end of the connection nothing to note: close and close-ok said it, and when brokers hang up after that
// differs.
func (p *peer) expectEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// noteEnd notes that the broker hung up, unless we did or it was told.
func (p *peer) noteEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && !p.closed {
		p.events = append(p.events, event{text: "eof"})
	}
}

func (p *peer) take(start frameStart, payload []byte) {
	switch start.kind {
	case frameMethod:
		d := &decoder{rest: payload}
		p.takeMethod(start.channel, methodID(d.long()), d)
	case frameHeartbeat:
		p.heartbeats++
	case frameHeader:
		c := p.partial[start.channel]
		c.size, c.props = binary.BigEndian.Uint64(payload[4:]), payload[12:]
		p.finish(start.channel, c)
	case frameBody:
		c := p.partial[start.channel]
		c.body = append(c.body, payload...)
		p.finish(start.channel, c)
	}
}

func (p *peer) finish(channel uint16, c *partialContent) {
	if uint64(len(c.body)) == c.size {
		delete(p.partial, channel)
		p.note(event{channel: channel, text: c.text + shownProperties(c.props) + " " + shownBody(c.body)})
	}
}

func shownBody(b []byte) string {
	if len(b) > 200 {
		return fmt.Sprintf("%q… (%d bytes)", b[:20], len(b))
	}
	return fmt.Sprintf("%q", b)
}

func (p *peer) takeMethod(channel uint16, id methodID, d *decoder) {
	switch id {
	case connectionStart, connectionTune:
		p.note(event{text: shownMethod(id, d)})
	case basicDeliver, basicGetOK, basicReturn:
		p.partial[channel] = &partialContent{text: shownMethod(id, d)}
	case basicAck:
		p.note(event{channel: channel, ack: d.longlong(), multi: d.bits().has(0)})
	case basicNack:
		p.note(event{channel: channel, ack: d.longlong(), multi: d.bits().has(0), nack: true})
	default:
		p.note(event{channel: channel, text: shownMethod(id, d)})
	}
	switch id {
	case channelOpenOK:
		p.setOpen(channel, true)
	case channelCloseOK:
		p.setOpen(channel, false)
	case channelClose:
		p.setOpen(channel, false)
		p.method(channel, channelCloseOK, nil)
	case connectionClose:
		p.expectEnd()
		if !p.deaf {
			p.method(0, connectionCloseOK, nil)
		}
	case connectionCloseOK:
		p.hangUp()
	}
}

func (p *peer) setOpen(channel uint16, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.channels[channel] = open
	if open {
		p.confirmed[channel] = 0
	}
}

func (p *peer) open(channel uint16) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.channels[channel]
}

// over reports whether either side has hung up or is about to.
func (p *peer) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended || p.closed
}

// said reports whether an event begins with one of the texts.
func (p *peer) said(texts ...string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		for _, text := range texts {
			if strings.HasPrefix(e.text, text) {
				return true
			}
		}
	}
	return false
}

// spoke reports whether there is an answer on the channel, or the end of the connection.
func (p *peer) spoke(channel uint16) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if e.channel == channel || e.channel == 0 {
			return true
		}
	}
	return p.ended
}

// drain returns what has come since the last call.
func (p *peer) drain() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.lines(p.confirmed)
	p.events = nil
	return lines
}

// peek is drain without an effect.
func (p *peer) peek() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines(maps.Clone(p.confirmed))
}

// lines shows the events: per channel in order, confirms counted together, since how many acks a broker puts into one frame is
// its own affair. It moves confirmed, the last confirm of each channel, on.
func (p *peer) lines(confirmed map[uint16]uint64) []string {
	byChannel := map[uint16][]event{}
	for _, e := range p.events {
		byChannel[e.channel] = append(byChannel[e.channel], e)
	}
	numbers := make([]int, 0, len(byChannel))
	for n := range byChannel {
		numbers = append(numbers, int(n))
	}
	sort.Ints(numbers)
	var lines []string
	for _, n := range numbers {
		name := p.name
		if n > 0 {
			name = fmt.Sprintf("%s%d", p.name, n)
		}
		lines = append(lines, channelLines(name, uint16(n), byChannel[uint16(n)], confirmed)...)
	}
	return lines
}

func channelLines(name string, channel uint16, events []event, confirmed map[uint16]uint64) []string {
	var lines, deliveries []string
	outcome := map[uint64]string{}
	for _, e := range events {
		switch {
		case e.ack > 0:
			first := e.ack
			if e.multi {
				first = confirmed[channel] + 1
			}
			for n := first; n <= e.ack; n++ {
				if outcome[n] == "" {
					outcome[n] = map[bool]string{false: "ack", true: "nack"}[e.nack]
				}
			}
		case strings.HasPrefix(e.text, "deliver "):
			deliveries = append(deliveries, name+" "+e.text)
		default:
			lines = append(lines, name+" "+e.text)
		}
	}
	if len(outcome) > 0 {
		lines = append(lines, name+" confirmed"+shownOutcomes(outcome))
		for n := range outcome {
			confirmed[channel] = max(confirmed[channel], n)
		}
	}
	return append(lines, deliveries...)
}

func shownOutcomes(outcome map[uint64]string) string {
	numbers := make([]int, 0, len(outcome))
	for n := range outcome {
		numbers = append(numbers, int(n))
	}
	sort.Ints(numbers)
	var b strings.Builder
	for _, n := range numbers {
		fmt.Fprintf(&b, " %d:%s", n, outcome[uint64(n)])
	}
	return b.String()
}
