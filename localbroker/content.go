package localbroker

import (
	"errors"
	"fmt"

	"cloudqueue/localbroker/amqpwire"
)

// content is a delivery or a returned message. Properties and body are its own.
type content struct {
	kind        amqpwire.Method
	tag         uint64
	redelivered bool
	code        uint16
	text        string
	exchange    string
	key         string
	properties  []byte
	body        []byte
	size        int64 // of the body; larger than len(body) when that was dropped for its size
}

// wireChannel is one open channel of a wire. Its content state belongs to the reading goroutine.
type wireChannel struct {
	wire *wire
	id   uint16
	sink sink
	open bool // guarded by wire.mu: something may be queued for it
	over bool // guarded by wire.mu: its sink has been told

	current content
	state   contentState
	discard bool  // the sink wants no more deliveries
	rest    int64 // bytes of the body to come
	names   map[string]string
}

type contentState uint8

const (
	idle contentState = iota
	wantHeader
	wantBody
)

const (
	trustedSize = 1 << 20 // bytes allocated on the word of a header; more only as they arrive
	maxNames    = 1024    // names kept per channel, so that a key is not a new string for every message
)

// begin starts a content.
func (ch *wireChannel) begin(method amqpwire.Method, args []byte) error {
	c := content{kind: method}
	ok := true
	switch method {
	case amqpwire.BasicDeliver:
		var d amqpwire.Deliver
		d, ok = amqpwire.ParseDeliver(args)
		c.tag, c.redelivered = d.Tag, d.Redelivered
		c.exchange, c.key = ch.intern(d.Exchange), ch.intern(d.Key)
	case amqpwire.BasicReturn:
		var r amqpwire.Return
		r, ok = amqpwire.ParseReturn(args)
		c.code, c.text = r.Code, string(r.Text)
		c.exchange, c.key = ch.intern(r.Exchange), ch.intern(r.Key)
	}
	if !ok {
		return errors.New("the broker sent a delivery or a return that is cut off")
	}
	ch.current, ch.state = c, wantHeader
	return nil
}

func (ch *wireChannel) intern(b []byte) string {
	if s, ok := ch.names[string(b)]; ok {
		return s
	}
	if ch.names == nil || len(ch.names) >= maxNames {
		ch.names = map[string]string{}
	}
	s := string(b)
	ch.names[s] = s
	return s
}

// take reads a content-header or a body frame.
func (ch *wireChannel) take(kind byte, payload []byte) error {
	if kind == amqpwire.FrameHeader && ch.state == wantHeader {
		return ch.header(payload)
	}
	if kind == amqpwire.FrameBody && ch.state == wantBody && int64(len(payload)) <= ch.rest {
		ch.rest -= int64(len(payload))
		if !ch.drops() {
			ch.current.body = append(ch.current.body, payload...)
		}
		return ch.complete()
	}
	return fmt.Errorf("the broker sent a frame of type %d that does not continue a message", kind)
}

func (ch *wireChannel) header(payload []byte) error {
	size, properties, ok := amqpwire.ParseContentHeader(payload)
	if !ok || size > 1<<62 {
		return errors.New("the broker sent a content header that is cut off")
	}
	ch.current.size, ch.rest, ch.state = int64(size), int64(size), wantBody
	if !ch.drops() {
		buffer := make([]byte, len(properties), len(properties)+min(int(size), trustedSize))
		n := copy(buffer, properties)
		ch.current.properties = buffer[:n:n]
		ch.current.body = buffer[n:]
	}
	return ch.complete()
}

// drops tells whether the current body is not kept.
func (ch *wireChannel) drops() bool {
	return ch.discard && ch.current.kind == amqpwire.BasicDeliver || ch.current.kind == amqpwire.BasicGetOK ||
		ch.current.size > ch.wire.bodyMax
}

// complete hands the content over when nothing of it is missing.
func (ch *wireChannel) complete() error {
	if ch.rest > 0 {
		return nil
	}
	ch.state = idle
	defer func() { ch.current.properties, ch.current.body = nil, nil }() // the sink's
	switch {
	case ch.current.kind == amqpwire.BasicDeliver && !ch.discard:
		ch.discard = !ch.sink.deliver(&ch.current)
	case ch.current.kind == amqpwire.BasicReturn:
		return ch.sink.returned(&ch.current)
	}
	return nil
}
