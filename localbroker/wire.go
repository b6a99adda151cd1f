package localbroker

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/amqpwire"
)

// wire is the transport that the client library reads and writes. It keeps for itself what the library would change or
// do slowly, and passes the rest:
//
//	broker -> deliveries, returns, confirms --> the channel's sink, in the order of the wire
//	          everything else ---------------> the library (handshake, calls, heartbeats)
//	broker <- publishes, acks, nacks <-------- wire.append, from any goroutine
//	          everything else <--------------- the library
//
// So a content header never reaches the library's parser, a return is always seen before its confirm, and nothing is
// queued for a channel after its close was read. Writes are collected and flushed by one goroutine (flush).
type wire struct {
	conn     io.ReadWriteCloser
	frameMax int // of frames read; the negotiated one is not larger
	bodyMax  int64
	silence  atomic.Int64 // time.Duration that a read may wait

	left atomic.Int64 // when Read last returned to the library, in ns since 1970; 0 while it reads

	in       []byte // owned by the goroutine that calls Read
	from, to int    // unread bytes of in
	out      []byte // rest of a frame for the library, a view into in

	mu       sync.Mutex // guards what follows; held for appends, never for I/O
	partial  []byte     // written by the library and not yet a whole frame
	greeted  bool       // the protocol header was written
	pending  []byte
	spare    []byte
	channels map[uint16]*wireChannel
	next     sink // of the channel that the library opens next
	opened   *wireChannel
	blocked  string // why the broker takes nothing; empty when it does
	since    time.Time
	end      error         // why it is over; nil while it is not
	gone     chan struct{} // closed when end is set
	finish   bool          // flush what is pending, then close
	changed  signal
	wake     chan struct{} // to flush: something is pending, or it is over
}

// closing is why a channel is over.
type closing struct {
	code  uint16 // the broker's, 0 when it gave none
	text  string
	cause amqpwire.Method // the method that the broker blames, 0 for none
	hard  bool            // the whole connection is over
	apart bool            // it was one publisher's own
}

// sink takes what arrives on a channel, in the order of the wire, from the reading goroutine. No method may block. An
// error ends the connection.
type sink interface {
	deliver(c *content) (more bool) // false: drop what follows
	returned(c *content) error
	confirmed(tag uint64, multiple, ack bool) error
	cancelled()       // the broker cancelled the channel's consumer
	over(why closing) // once, the last call
}

const firstPending = 64 << 10 // bytes; chosen: some 40 messages of 1 KiB, one socket write

func newWire(conn io.ReadWriteCloser, frameMax int, bodyMax int64) *wire {
	return &wire{conn: conn, frameMax: frameMax, bodyMax: bodyMax, in: make([]byte, max(frameMax, firstPending)),
		channels: map[uint16]*wireChannel{}, wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

// Read gives the library the next bytes that are for it, and serves the sinks meanwhile.
func (w *wire) Read(p []byte) (int, error) {
	w.left.Store(0)
	defer func() { w.left.Store(time.Now().UnixNano()) }()
	for len(w.out) == 0 {
		frame, err := w.nextFrame()
		if err == nil {
			w.out, err = w.sort(frame)
		}
		if err != nil {
			return 0, w.fail(err)
		}
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

// nextFrame reads a whole frame. It is valid until the next call.
func (w *wire) nextFrame() ([]byte, error) {
	if err := w.fill(amqpwire.FrameHead); err != nil {
		return nil, err
	}
	head := amqpwire.ParseHead(w.in[w.from:])
	if head.Type == 'A' {
		return nil, errors.New("the broker does not speak AMQP 0-9-1")
	}
	if int64(head.Size) > int64(w.frameMax-amqpwire.FrameOverhead) {
		return nil, fmt.Errorf("the broker sent a frame of %d bytes, over the limit of %d", head.Size, w.frameMax)
	}
	size := int(head.Size) + amqpwire.FrameOverhead
	if err := w.fill(size); err != nil {
		return nil, err
	}
	frame := w.in[w.from : w.from+size]
	w.from += size
	if frame[size-1] != amqpwire.FrameEnd {
		return nil, errors.New("the broker sent a frame without its end")
	}
	return frame, nil
}

// fill reads until at least n bytes are unread.
func (w *wire) fill(n int) error {
	if w.from == w.to {
		w.from, w.to = 0, 0
	}
	if w.from+n > len(w.in) {
		w.to = copy(w.in, w.in[w.from:w.to])
		w.from = 0
	}
	for w.to-w.from < n {
		read, err := w.conn.Read(w.in[w.to:])
		w.to += read
		if err != nil && w.to-w.from < n {
			return err
		}
	}
	return nil
}

// sort gives back the frame if it is for the library, nil if it was for a sink.
func (w *wire) sort(frame []byte) ([]byte, error) {
	head := amqpwire.ParseHead(frame)
	payload := frame[amqpwire.FrameHead : len(frame)-1]
	if head.Type != amqpwire.FrameMethod && head.Type != amqpwire.FrameHeader && head.Type != amqpwire.FrameBody {
		return frame, nil
	}
	if head.Channel == 0 {
		return frame, w.observe(head, payload)
	}
	ch := w.channel(head.Channel)
	if head.Type == amqpwire.FrameMethod {
		return w.sortMethod(ch, frame, payload)
	}
	if ch == nil {
		return nil, nil
	}
	return nil, ch.take(head.Type, payload)
}

func (w *wire) channel(id uint16) *wireChannel {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.channels[id]
}

// sortMethod serves ch, which is nil for a channel without a sink.
func (w *wire) sortMethod(ch *wireChannel, frame, payload []byte) ([]byte, error) {
	method, args, ok := amqpwire.ParseMethod(payload)
	if !ok {
		return nil, errors.New("the broker sent a method without its number")
	}
	ours := method == amqpwire.BasicDeliver || method == amqpwire.BasicReturn || method == amqpwire.BasicGetOK ||
		method == amqpwire.BasicAck || method == amqpwire.BasicNack
	if ch == nil {
		if ours {
			return nil, nil
		}
		return frame, nil
	}
	switch method {
	case amqpwire.BasicDeliver, amqpwire.BasicReturn, amqpwire.BasicGetOK:
		return nil, ch.begin(method, args)
	case amqpwire.BasicAck, amqpwire.BasicNack:
		tag, multiple, ok := amqpwire.ParseConfirm(args)
		if !ok {
			return nil, errors.New("the broker sent a confirm that is cut off")
		}
		return nil, ch.sink.confirmed(tag, multiple, method == amqpwire.BasicAck)
	case amqpwire.BasicCancel:
		ch.sink.cancelled()
	case amqpwire.ChannelClose:
		code, text, cause, _ := amqpwire.ParseClose(args)
		w.drop(ch, closing{code: code, text: text, cause: cause})
	case amqpwire.ChannelCloseOK:
		w.drop(ch, closing{text: "closed"})
	}
	return frame, nil
}

// observe looks at what concerns the connection; the library gets it too.
func (w *wire) observe(head amqpwire.Head, payload []byte) error {
	method, args, ok := amqpwire.ParseMethod(payload)
	if head.Type != amqpwire.FrameMethod || !ok {
		return nil
	}
	switch method {
	case amqpwire.ConnectionBlocked:
		reason, _ := amqpwire.ParseShort(args)
		w.setBlocked("the broker has an alarm: " + reason)
	case amqpwire.ConnectionUnblocked:
		w.setBlocked("")
	case amqpwire.ConnectionClose:
		code, text, cause, _ := amqpwire.ParseClose(args)
		said := closedError{&amqp.Error{Code: int(code), Reason: text, Server: true}}
		w.dropAll(closing{code: code, text: text, cause: cause, hard: true}, said)
	}
	return nil
}

func (w *wire) setBlocked(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if (w.blocked == "") != (reason == "") {
		w.since = time.Now()
	}
	w.blocked = reason
	w.changed.fire()
}

// reason is why the connection is over.
func (w *wire) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

// alarm tells why and since when the broker takes nothing.
func (w *wire) alarm() (reason string, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blocked, w.since
}

// fail ends the connection for the reading side and gives the first reason of all.
func (w *wire) fail(err error) error {
	w.dropAll(closing{text: err.Error(), hard: true}, err)
	return w.reason()
}

// dropAll ends all channels. What the library still writes (its close-ok) is flushed.
func (w *wire) dropAll(why closing, err error) {
	w.mu.Lock()
	if w.end == nil {
		w.end = err
		close(w.gone)
	}
	channels := w.channels
	w.channels = nil
	for _, ch := range channels {
		ch.open, ch.over = false, true
	}
	w.changed.fire()
	w.mu.Unlock()
	for _, ch := range channels {
		ch.sink.over(why)
	}
}

// drop ends one channel.
func (w *wire) drop(ch *wireChannel, why closing) {
	w.mu.Lock()
	again := ch.over
	ch.open, ch.over = false, true
	if !again {
		delete(w.channels, ch.id)
	}
	w.changed.fire()
	w.mu.Unlock()
	if !again {
		ch.sink.over(why)
	}
}

// watchAlarm gives the alarm, and what is closed when it may have changed.
func (w *wire) watchAlarm() (reason string, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blocked, w.changed.wait()
}

// excused tells whether the broker has said that it does not read.
func (w *wire) excused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blocked != "" && w.end == nil
}
