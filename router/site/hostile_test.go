package site_test

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"
)

// hostile is a process with a valid certificate of a site that says on its link what the story wants.
type hostile struct {
	t       *testing.T
	site    federation.SiteID
	qc      *quic.Conn
	control *quic.Stream
	data    *quic.Stream // the next copy on it is number
	number  uint64
	beating sync.Mutex // one frame at a time on the control stream
	frames  chan federation.Frame
	store   federation.StoreID
	born    time.Time
}

// intrude connects as a site to another one's router, with a certificate of the world's authority.
func (w *world) intrude(t *testing.T, as federation.SiteID, to *member) *hostile {
	t.Helper()
	certificate, key, err := w.ca.Issue(as, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	identity, err := pki.NewIdentity(certificate, key, w.ca.PEM())
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{t: t, site: as, frames: make(chan federation.Frame, 1000), store: federation.StoreID{66}, born: time.Now().Truncate(time.Millisecond)}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	h.qc, err = quic.DialAddr(ctx, fmt.Sprintf("127.0.0.1:%d", to.port), identity.TLS("cloudqueue/1", func([]*x509.Certificate) error { return nil }), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.qc.CloseWithError(0, "the test is over") })
	h.greet(ctx)
	go h.read()
	go h.beat()
	return h
}

func (h *hostile) hello() federation.Hello {
	now := time.Now().Truncate(time.Millisecond)
	return federation.Hello{MinVersion: 1, MaxVersion: 1, Federation: "acme", Site: h.site, Router: "hostile", Store: h.store, Born: h.born, Epoch: 1,
		Boot: federation.BootID{66}, Now: now, LinkID: 66}
}

func (h *hostile) greet(ctx context.Context) {
	h.t.Helper()
	var err error
	if h.control, err = h.qc.OpenStreamSync(ctx); err != nil {
		h.t.Fatal(err)
	}
	h.write(h.control, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}))
	h.say(h.hello())
	f, err := h.next()
	if ack, ok := f.(federation.HelloAck); err != nil || !ok || ack.Verdict != federation.OK {
		h.t.Fatalf("no link: %+v, %v", f, err)
	}
	h.say(federation.HelloAck{Hello: h.hello(), Verdict: federation.OK})
}

// next reads a frame of the control stream.
func (h *hostile) next() (federation.Frame, error) {
	head := make([]byte, federation.FrameHeaderSize)
	if _, err := io.ReadFull(h.control, head); err != nil {
		return nil, err
	}
	header, err := federation.ParseFrameHeader(head)
	if err != nil {
		return nil, err
	}
	payload := make([]byte, header.Length)
	if _, err := io.ReadFull(h.control, payload); err != nil {
		return nil, err
	}
	return federation.ParseFrame(header, payload)
}

// read keeps what comes, but for heartbeats, until the connection ends.
func (h *hostile) read() {
	defer close(h.frames)
	for {
		f, err := h.next()
		if err != nil {
			return
		}
		if f.Type() != federation.TypeHeartbeat {
			h.frames <- f
		}
	}
}

// beat sends heartbeats until the connection ends: a live peer.
func (h *hostile) beat() {
	for {
		select {
		case <-h.qc.Context().Done():
			return
		case <-time.After(500 * time.Millisecond):
			now := time.Now().Truncate(time.Millisecond)
			h.say(federation.Heartbeat{Sent: now, Echo: now})
		}
	}
}

func (h *hostile) say(f federation.Frame) {
	b, err := federation.AppendFrame(nil, f)
	if err != nil {
		h.t.Error(err)
	}
	h.beating.Lock()
	defer h.beating.Unlock()
	h.write(h.control, b)
}

// write sends bytes; that the other side has cut the connection is no failure.
func (h *hostile) write(s *quic.Stream, b []byte) {
	if _, err := s.Write(b); err != nil && h.qc.Context().Err() == nil {
		h.t.Error(err)
	}
}

// await gives the next frame of a type; others are passed over.
func await[T federation.Frame](h *hostile) T {
	h.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case f, open := <-h.frames:
			if want, ok := f.(T); ok {
				return want
			}
			if !open {
				h.t.Fatalf("the connection ended: %v", context.Cause(h.qc.Context()))
			}
		case <-timeout:
			h.t.Fatalf("no %T", *new(T))
		}
	}
}

// openLane announces a lane to nyc and answers its SYNC_REQ, as an honest origin does.
func (h *hostile) openLane(lane federation.Lane) {
	h.t.Helper()
	mark := federation.LaneMark{Generation: 1, Shards: 1, Members: []federation.Membership{{Destination: federation.Destination{Site: "nyc"}, Join: 1}}}
	h.say(federation.LaneOpen{Lane: lane, Mark: mark, FirstRetained: 1, LastAssigned: 1 << 20})
	req := await[federation.SyncReq](h)
	h.say(federation.Sync{Nonce: req.Nonce, Lane: lane, Generation: 1, Destination: req.Destination, Join: 1, FirstRetained: 1, LastAssigned: 1 << 20, FirstStore: true, OriginStore: h.store})
	await[federation.Window](h)
}

// copy sends the bytes of a batch in a frame, as copy number 1, 2, 3 … of the connection's data stream.
func (h *hostile) copy(batch []byte) {
	h.t.Helper()
	if h.data == nil {
		var err error
		if h.data, err = h.qc.OpenStream(); err != nil {
			h.t.Fatal(err)
		}
		h.write(h.data, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamData, Class: 1}))
	}
	h.number++
	b, err := federation.AppendFrame(nil, federation.Copy{Number: h.number, Sidecar: federation.Sidecar{Bitmap: 1}, Batch: batch})
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(h.data, b)
}

// sealAs makes a batch of one message with a body of so many zeros.
func sealAs(t *testing.T, lane federation.Lane, first federation.Offset, size int) []byte {
	t.Helper()
	return sealIn(t, 1, lane, first, size)
}

// sealIn is sealAs in an epoch of the origin's store.
func sealIn(t *testing.T, epoch federation.Epoch, lane federation.Lane, first federation.Offset, size int) []byte {
	t.Helper()
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	entry := federation.Entry{TTL: federation.NoTTL, Message: federation.Message{Exchange: "orders", RoutingKey: "orders.new", Properties: []byte{0, 0}, Body: make([]byte, size)}}
	header := federation.Header{Lane: lane, Generation: 1, First: first, SealEpoch: epoch, SealedAt: time.Now(), Destinations: []federation.Destination{{Site: "nyc"}}}
	b, err := federation.Seal(header, []federation.Entry{entry}, federation.CodecZstd, coder)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withBody gives a batch another body and a raw length that it claims, with CRCs that are right (federation/batch_format.go).
func withBody(batch []byte, rawLength uint32, body []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	header := append([]byte(nil), batch[:binary.LittleEndian.Uint16(batch[8:])]...)
	binary.LittleEndian.PutUint32(header[48:], rawLength)
	binary.LittleEndian.PutUint32(header[52:], uint32(len(body)))
	binary.LittleEndian.PutUint32(header[88:], crc32.Checksum(body, table))
	binary.LittleEndian.PutUint32(header[92:], crc32.Update(crc32.Checksum(header[:92], table), table, header[96:]))
	return append(header, body...)
}

// garbage sends packets of noise to a router's UDP port.
func garbage(t *testing.T, to *member, packets int) {
	t.Helper()
	conn, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", to.port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	noise := make([]byte, 1200)
	for i := range packets {
		for j := range noise {
			noise[j] = byte(i*31 + j*j*7)
		}
		noise[0] &= 0x3f // no QUIC packet: the fixed bit is 0 (RFC 9000 section 17)
		if _, err := conn.Write(noise[:1+i%len(noise)]); err != nil {
			t.Fatal(err)
		}
		if i%200 == 0 {
			time.Sleep(time.Millisecond) // loopback drops what the socket's buffer does not take
		}
	}
}
