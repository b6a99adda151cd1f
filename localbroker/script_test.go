package localbroker_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/localbroker"
	"cloudqueue/localbroker/amqpwire"
)

// peer is a broker that does what a test says, for what no well-behaved broker does. It shakes hands and answers calls; a method in silent
// gets no answer.
type peer struct {
	conn   net.Conn
	in     *bufio.Reader
	silent map[amqpwire.Method]bool
	alive  bool // sends heartbeats

	mu        sync.Mutex // guards writes and published
	published uint64
	methods   []amqpwire.Method
}

// Methods that the peer answers, each with the answer's number and arguments.
var answers = map[amqpwire.Method]struct {
	method amqpwire.Method
	args   string
}{
	20<<16 | 10: {20<<16 | 11, "\x00\x00\x00\x00"},                                        // channel.open
	20<<16 | 40: {20<<16 | 41, ""},                                                        // channel.close
	85<<16 | 10: {85<<16 | 11, ""},                                                        // confirm.select
	60<<16 | 10: {60<<16 | 11, ""},                                                        // basic.qos
	60<<16 | 20: {60<<16 | 21, "\x10cloudqueue-owner"},                                    // basic.consume
	60<<16 | 30: {60<<16 | 31, "\x0ecloudqueue-1-0"},                                      // basic.cancel
	50<<16 | 10: {50<<16 | 11, "\x01q\x00\x00\x00\x00\x00\x00\x00\x00"},                   // queue.declare
	50<<16 | 20: {50<<16 | 21, ""},                                                        // queue.bind
	10<<16 | 50: {10<<16 | 51, ""},                                                        // connection.close
	10<<16 | 40: {10<<16 | 41, "\x00"},                                                    // connection.open
	10<<16 | 11: {10<<16 | 30, string([]byte{0x07, 0xff, 0x00, 0x02, 0x00, 0x00, 0, 10})}, // start-ok: tune, 2047 channels, frames of 128 KiB, heartbeat 10 s
}

func (p *peer) send(kind byte, channel uint16, payload string) {
	frame := []byte{kind}
	frame = binary.BigEndian.AppendUint16(frame, channel)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(payload)))
	frame = append(append(frame, payload...), amqpwire.FrameEnd)
	p.raw(string(frame))
}

func (p *peer) raw(b string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.conn.Write([]byte(b)) // a closed connection ends serve
}

func (p *peer) method(channel uint16, m amqpwire.Method, args string) {
	p.send(amqpwire.FrameMethod, channel, string(binary.BigEndian.AppendUint32(nil, uint32(m)))+args)
}

// confirm acks (or nacks) number on channel 1.
func (p *peer) confirm(m amqpwire.Method, number uint64, multiple bool) {
	bits := "\x00"
	if multiple {
		bits = "\x01"
	}
	p.method(1, m, string(binary.BigEndian.AppendUint64(nil, number))+bits)
}

// giveBack returns a message of message() on channel 1.
func (p *peer) giveBack(exchange, key, properties, body string) {
	p.method(1, amqpwire.BasicReturn, "\x01\x38\x08NO_ROUTE"+short(exchange)+short(key))
	p.send(amqpwire.FrameHeader, 1, "\x00\x3c\x00\x00"+string(binary.BigEndian.AppendUint64(nil, uint64(len(body))))+properties)
	p.send(amqpwire.FrameBody, 1, body)
}

func short(s string) string { return string(rune(len(s))) + s }

// serve reads until the connection ends.
func (p *peer) serve() {
	defer func() { _ = p.conn.Close() }()
	if p.alive {
		over := make(chan struct{})
		defer close(over)
		go p.beat(over)
	}
	hello := make([]byte, 8)
	if _, err := io.ReadFull(p.in, hello); err != nil {
		return
	}
	p.method(0, 10<<16|10, "\x00\x09\x00\x00\x00\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US")
	for {
		head := make([]byte, amqpwire.FrameHead)
		if _, err := io.ReadFull(p.in, head); err != nil {
			return
		}
		h := amqpwire.ParseHead(head)
		payload := make([]byte, h.Size+1)
		if _, err := io.ReadFull(p.in, payload); err != nil {
			return
		}
		p.answer(h, payload[:h.Size])
	}
}

func (p *peer) beat(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(5 * time.Second):
			p.send(8, 0, "")
		}
	}
}

func (p *peer) answer(h amqpwire.Head, payload []byte) {
	m, _, ok := amqpwire.ParseMethod(payload)
	if h.Type != amqpwire.FrameMethod || !ok {
		return
	}
	p.mu.Lock()
	p.methods = append(p.methods, m)
	p.mu.Unlock()
	if m == amqpwire.BasicPublish {
		p.mu.Lock()
		p.published++
		p.mu.Unlock()
	}
	if a, known := answers[m]; known && !p.silent[m] {
		p.method(h.Channel, a.method, a.args)
	}
}

func (p *peer) count() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.published
}

// scripted is our side against peers, in virtual time. peers are our connections, in the order in which they were dialled: consuming
// and publishing come in any order.
type scripted struct {
	t    *testing.T
	ctx  context.Context
	ours *localbroker.Broker

	mu    sync.Mutex // guards peers
	peers []*peer
}

func inScript(t *testing.T, prepare func(*peer), story func(*scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := &scripted{t: t, ctx: ctx}
		ours, err := localbroker.New(localbroker.Config{URL: "amqp://broker", Site: "ams", Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			p := &peer{conn: server, in: bufio.NewReader(server), silent: map[amqpwire.Method]bool{}}
			if prepare != nil {
				prepare(p)
			}
			s.mu.Lock()
			s.peers = append(s.peers, p)
			s.mu.Unlock()
			go p.serve()
			return client, nil
		}})
		must(t, err)
		s.ours = ours
		ran := make(chan error, 1)
		go func() { ran <- ours.Run(ctx) }()
		synctest.Wait()
		story(s)
		stop()
		<-ran
		for _, p := range s.peers {
			_ = p.conn.Close()
		}
	})
}

// publisher acquires, and gives the peer that it publishes to.
func (s *scripted) publisher() (*localbroker.Publisher, uint64, *peer) {
	s.t.Helper()
	p := s.ours.Publisher(0)
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	incarnation, err := p.Acquire(ctx, false)
	must(s.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, peer := range s.peers {
		for _, m := range peer.methods {
			if m == 85<<16|10 {
				return p, incarnation, peer
			}
		}
	}
	s.t.Fatal("no connection saw confirm.select")
	return nil, 0, nil
}

// dialled is how many connections there have been.
func (s *scripted) dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}
