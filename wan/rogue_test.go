package wan

import (
	"context"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"

	"github.com/quic-go/quic-go"
)

// rogue is a peer with a valid certificate that speaks as the story wants, frame by frame.
type rogue struct {
	w          *world
	name       federation.SiteID
	identity   *pki.Identity
	transport  *quic.Transport
	qc         *quic.Conn
	control    *quic.Stream
	frames     *frameReader
	connection uint8 // of the link
}

func (w *world) rogue(name federation.SiteID, host string) *rogue {
	w.t.Helper()
	s := w.net.listen(host)
	r := &rogue{w: w, name: name, identity: w.identity(w.authority, name, 0), transport: &quic.Transport{Conn: s}}
	w.t.Cleanup(func() {
		r.transport.Close()
		s.Close()
	})
	return r
}

// dial brings QUIC up, without any stream.
func (r *rogue) dial(to *site) *rogue {
	r.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	qc, err := r.transport.Dial(ctx, &net.UDPAddr{IP: net.ParseIP(to.host).To4(), Port: 1000}, r.identity.TLS(alpn, func([]*x509.Certificate) error { return nil }),
		&quic.Config{MaxIncomingUniStreams: -1, InitialStreamReceiveWindow: 64 << 10, MaxStreamReceiveWindow: 64 << 10})
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.qc = qc
	return r
}

// write sends bytes on a stream.
func (r *rogue) write(s *quic.Stream, b []byte) {
	r.w.t.Helper()
	if _, err := s.Write(b); err != nil {
		r.w.t.Fatal(err)
	}
}

func (r *rogue) openControl() *rogue {
	r.w.t.Helper()
	control, err := r.qc.OpenStream()
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.control, r.frames = control, newFrameReader(control, controlBuffer, 1<<20)
	return r
}

func (r *rogue) hello() federation.Hello {
	return federation.Hello{MinVersion: 1, MaxVersion: 1, Federation: "example", Site: r.name, Router: "rogue", Store: federation.StoreID{9}, Born: time.Now().Truncate(time.Millisecond),
		Epoch: 1, Boot: federation.BootID{9}, Now: time.Now().Truncate(time.Millisecond), LinkID: 7, Connection: r.connection}
}

// connect dials and goes through the hellos, so that the link is up at the other side.
func (r *rogue) connect(to *site) *rogue {
	r.w.t.Helper()
	r.dial(to).openControl()
	r.write(r.control, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}))
	r.send(r.hello())
	if ack := r.ack(); ack.Verdict != federation.OK {
		r.w.t.Fatalf("refused: %s %s", ack.Verdict, ack.Text)
	}
	r.send(federation.HelloAck{Hello: r.hello(), Verdict: federation.OK})
	sleep(200 * time.Millisecond)
	return r
}

func (r *rogue) send(f federation.Frame) {
	r.w.t.Helper()
	r.write(r.control, encode(r.w.t, f))
}

// ack reads the HELLO_ACK.
func (r *rogue) ack() federation.HelloAck {
	r.w.t.Helper()
	f, _, err := r.frames.next()
	if err != nil {
		r.w.t.Fatal(err)
	}
	return f.(federation.HelloAck)
}

// openData opens a data stream.
func (r *rogue) openData() *quic.Stream {
	r.w.t.Helper()
	s, err := r.qc.OpenStream()
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.write(s, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamData, Class: 1}))
	return s
}

// closed is the code and text that the other side closed with; it waits at most d.
func (r *rogue) closed(d time.Duration) *quic.ApplicationError {
	r.w.t.Helper()
	select {
	case <-r.qc.Context().Done():
	case <-time.After(d):
		r.w.t.Fatalf("the connection was still open after %s", d)
	}
	app, ok := context.Cause(r.qc.Context()).(*quic.ApplicationError)
	if !ok {
		r.w.t.Fatalf("closed with %v, want an application error", context.Cause(r.qc.Context()))
	}
	return app
}

// beat sends heartbeats with a moving echo until the connection ends, as a live peer does.
func (r *rogue) beat() {
	for {
		select {
		case <-r.qc.Context().Done():
			return
		case <-time.After(time.Second):
			now := time.Now().Truncate(time.Millisecond)
			b, _ := federation.AppendFrame(nil, federation.Heartbeat{Sent: now, Echo: now})
			if _, err := r.control.Write(b); err != nil {
				return
			}
		}
	}
}

func encode(t testing.TB, f federation.Frame) []byte {
	t.Helper()
	b, err := federation.AppendFrame(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
