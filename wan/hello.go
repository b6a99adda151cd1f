package wan

import (
	"context"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"

	"github.com/quic-go/quic-go"
)

// Wire versions that this code speaks, both included.
const minWire, maxWire = 1, 1

// controlBuffer is the read buffer of a control stream (chosen: heartbeats and acks are below 200 bytes).
const controlBuffer = 4 << 10

// hello is what we say on connection index of link id, now.
func (e *Endpoint) hello(id uint64, index uint8) federation.Hello {
	h := e.cfg.Hello()
	h.MinVersion, h.MaxVersion = minWire, maxWire
	h.Federation, h.Site = e.cfg.Federation, e.cfg.Site
	h.Now = time.Now().Truncate(time.Millisecond)
	h.MaxBatch = uint32(e.cfg.MaxBatch)
	h.LinkID, h.Connection = id, index
	return h
}

// checkHello compares what a peer says with its certificate and with us.
func (e *Endpoint) checkHello(h federation.Hello, certified federation.SiteID) *refusal {
	switch {
	case h.Site != certified:
		return &refusal{reason: "hello-site", verdict: federation.NoGrant,
			text: fmt.Sprintf("it says it is %q, its certificate says %q", h.Site, certified),
			fix:  fmt.Sprintf("correct the site name in the router file of %s, or its certificate", certified)}
	case h.Federation != e.cfg.Federation:
		return &refusal{reason: "hello-federation", verdict: federation.NoGrant,
			text: fmt.Sprintf("it is of federation %q, %s is of %q", h.Federation, e.cfg.Site, e.cfg.Federation),
			fix:  "correct the federation name in one of the router files"}
	case h.MinVersion > maxWire || h.MaxVersion < minWire:
		return &refusal{reason: "hello-version", verdict: federation.UnknownCritical,
			text: fmt.Sprintf("it speaks wire versions %d to %d, %s speaks %d to %d", h.MinVersion, h.MaxVersion,
				e.cfg.Site, minWire, maxWire),
			fix: "run versions of cloudqueue that are at most one apart"}
	}
	return nil
}

// greet asks the handler about a peer. Nil: its identity is durable here.
func (e *Endpoint) greet(ctx context.Context, h federation.Hello) *refusal {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.GreetTimeout)
	defer cancel()
	verdict, why := e.cfg.Handler.Greet(ctx, h)
	if verdict == federation.OK {
		return nil
	}
	r := &refusal{reason: "greet-" + verdict.String(), verdict: verdict, text: why.Why, theirs: why.Mend}
	if r.theirs != "" {
		r.fix = fmt.Sprintf("the status of %s says what to type there", h.Site)
	}
	return r
}

// refusedBy is a refusal that the peer sent us.
func refusedBy(ack federation.HelloAck) *refusal {
	why := federation.ParseRefusal(said(ack.Text))
	return &refusal{verdict: ack.Verdict, remote: true, stopping: extended(ack.Extensions, tagStopping), text: why.Why,
		fix: why.Mend}
}

// opening is a connection before its link: the control stream with what is read and written on it.
type opening struct {
	qc      *quic.Conn
	ours    *pki.Identity // that we showed
	control *quic.Stream
	frames  *frameReader
}

func newOpening(qc *quic.Conn, ours *pki.Identity, control *quic.Stream) *opening {
	return &opening{qc, ours, control, newFrameReader(control, controlBuffer, maxHello)}
}

func (o *opening) write(b []byte, f federation.Frame) error {
	b, err := federation.AppendFrame(b, f)
	if err != nil {
		return err
	}
	_, err = o.control.Write(b)
	return err
}

// read gives the next frame, which must be of type T.
func read[T federation.Frame](o *opening) (T, error) {
	var want T
	f, _, err := o.frames.next()
	if err != nil {
		return want, o.cause(err)
	}
	got, ok := f.(T)
	if !ok {
		return want, protocolError("frame of type %d instead of %d", f.Type(), want.Type())
	}
	return got, nil
}

// cause prefers what ended the connection over what the stream says of it.
func (o *opening) cause(err error) error {
	if ended := o.qc.Context().Err(); ended != nil {
		return context.Cause(o.qc.Context())
	}
	return err
}
