package localbroker

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"cloudqueue/localbroker/amqpwire"
)

// tape is a connection that plays bytes.
type tape struct{ io.Reader }

func (tape) Write(p []byte) (int, error) { return len(p), nil }
func (tape) Close() error                { return nil }

// sinkhole takes everything and counts bytes.
type sinkhole struct{ bytes int }

func (s *sinkhole) deliver(c *content) bool {
	s.bytes += len(c.properties) + len(c.body)
	return true
}
func (s *sinkhole) returned(*content) error            { return nil }
func (s *sinkhole) confirmed(uint64, bool, bool) error { return nil }
func (s *sinkhole) cancelled()                         {}
func (s *sinkhole) over(closing)                       {}
func (s *sinkhole) open(w *wire, id uint16) *wireChannel { // as if the library had opened it
	ch := &wireChannel{wire: w, id: id, sink: s, open: true}
	w.channels[id] = ch
	return ch
}

func method(channel byte, m amqpwire.Method, args string) string {
	payload := string([]byte{byte(m >> 24), byte(m >> 16), byte(m >> 8), byte(m)}) + args
	return string([]byte{1, 0, channel, 0, 0, 0, byte(len(payload))}) + payload + "\xce"
}

func delivery(body string) string {
	return method(1, amqpwire.BasicDeliver, "\x01c\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01e\x01k") +
		string([]byte{2, 0, 1, 0, 0, 0, 15, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(len(body)), 0x10, 0, 2, 0xce}) +
		string([]byte{3, 0, 1, 0, 0, 0, byte(len(body))}) + body + "\xce"
}

// FuzzWireRead: whatever a broker sends, reading ends with bytes for the library or an error, and nobody allocates on the word of a header.
func FuzzWireRead(f *testing.F) {
	f.Add([]byte(delivery("hello")))
	f.Add([]byte(delivery("hello") + method(1, amqpwire.BasicAck, "\x00\x00\x00\x00\x00\x00\x00\x01\x01") + method(1, amqpwire.ChannelClose, "\x01\x94\x00\x00\x3c\x00\x28")))
	f.Add([]byte(method(0, amqpwire.ConnectionBlocked, "\x03low") + method(0, amqpwire.ConnectionClose, "\x01\x40\x00\x00\x00\x00\x00")))
	f.Add([]byte("AMQP\x00\x00\x09\x01"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		w := newWire(tape{bytes.NewReader(stream)}, 4096, 1<<30)
		s := &sinkhole{}
		s.open(w, 1)
		passed := 0
		for buffer := make([]byte, 512); ; {
			n, err := w.Read(buffer)
			passed += n
			if err != nil {
				break
			}
		}
		if s.bytes+passed > len(stream) {
			t.Fatalf("%d bytes became %d and %d", len(stream), s.bytes, passed)
		}
		if w.reason() == nil || len(w.channels) != 0 {
			t.Fatal("the connection ended without a reason, or with channels")
		}
	})
}

func TestDeliveriesNeverReachTheLibrary(t *testing.T) {
	heartbeat := "\x08\x00\x00\x00\x00\x00\x00\xce"
	w := newWire(tape{bytes.NewReader([]byte(delivery("one") + heartbeat + delivery("two")))}, 4096, 1<<20)
	s := &sinkhole{}
	s.open(w, 1)
	got, err := io.ReadAll(w)
	if err != nil || string(got) != heartbeat {
		t.Fatalf("%q, %v", got, err)
	}
	if s.bytes != 2*(3+3) {
		t.Fatalf("%d bytes were delivered", s.bytes)
	}
}

func TestContentOfAChannelWithoutASinkIsDropped(t *testing.T) {
	w := newWire(tape{bytes.NewReader([]byte(delivery("one")))}, 4096, 1<<20)
	if got, err := io.ReadAll(w); err != nil || len(got) != 0 {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestNothingIsQueuedForAChannelAfterItsClose(t *testing.T) {
	w := newWire(tape{bytes.NewReader([]byte(method(1, amqpwire.ChannelClose, "\x01\x94\x00\x00\x3c\x00\x28")))}, 4096, 1<<20)
	s := &sinkhole{}
	ch := s.open(w, 1)
	if _, err := w.Read(make([]byte, 512)); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.publish(4096, &amqpwire.Content{Properties: []byte{0, 0}}); !errors.Is(err, errOver) {
		t.Fatal(err)
	}
	ch.ack(1)
	ch.nack()
	if len(w.pending) != 0 {
		t.Fatalf("%q", w.pending)
	}
}

// slowConn takes the given number of bytes per write and then times out.
type slowConn struct {
	net.Conn
	taken []int
	got   bytes.Buffer
}

func (c *slowConn) SetWriteDeadline(time.Time) error { return nil }
func (c *slowConn) Write(p []byte) (int, error) {
	if len(c.taken) == 0 {
		return c.got.Write(p)
	}
	n := c.taken[0]
	c.taken = c.taken[1:]
	c.got.Write(p[:n])
	return n, os.ErrDeadlineExceeded
}

func TestStalledWriteGoesOnWhileThereIsProgressOrAnAlarm(t *testing.T) {
	for _, c := range []struct {
		name    string
		taken   []int
		excused bool
		fails   bool
	}{
		{"progress", []int{1, 2, 1}, false, false},
		{"nothing", []int{1, 0}, false, true},
		{"nothing during an alarm", []int{1, 0, 0, 0}, true, false},
	} {
		slow := &slowConn{taken: c.taken}
		stall := &stallConn{Conn: slow, timeout: time.Second, excused: func() bool { return c.excused }}
		n, err := stall.Write([]byte("hello"))
		if c.fails != (err != nil) || !c.fails && (n != 5 || slow.got.String() != "hello") {
			t.Errorf("%s: %d, %v, %q", c.name, n, err, slow.got.String())
		}
	}
}
