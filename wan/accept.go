package wan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"

	"github.com/quic-go/quic-go"
)

// accept takes connections until ctx ends or the socket fails. The loop is tight: quic-go refuses what does not fit its
// queue of 32.
func (e *Endpoint) accept(ctx context.Context, listener *quic.Listener) error {
	for {
		qc, err := listener.Accept(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		e.tasks.Go(func() { e.admit(ctx, qc) })
	}
}

// admit takes a connection whose TLS handshake is done through the hellos, and stays with it as long as it lasts.
func (e *Endpoint) admit(ctx context.Context, qc *quic.Conn) {
	guestOf(qc.Context()).authenticated()
	peer, err := e.cfg.Identity().Verify(qc.ConnectionState().TLS.PeerCertificates, "", time.Now())
	if err != nil { // our identity is another one since the handshake
		e.refuseCertificate(err, hostOf(qc.RemoteAddr()).String())
		qc.CloseWithError(quic.ApplicationErrorCode(codeCertificate), clip(err.Error()))
		return
	}
	if !e.enterSite(peer.Site) {
		e.refused.addOf("connections-of-site", fmt.Sprintf("%s at %s", peer.Site, qc.RemoteAddr()))
		qc.CloseWithError(quic.ApplicationErrorCode(codeOverload),
			fmt.Sprintf("%s has %d connections already", peer.Site, maxConnections))
		return
	}
	defer e.leaveSite(peer.Site)
	if p := e.peer(peer.Site); p != nil {
		p.isBack()
	}
	stop := context.AfterFunc(ctx, func() {
		qc.CloseWithError(quic.ApplicationErrorCode(codeDone), string(e.cfg.Site)+" is stopping")
	})
	o, serve, err := e.receive(ctx, qc, peer.Site)
	if err != nil {
		e.refuseOpening(ctx, o, peer.Site, err)
	}
	stop()
	if err == nil {
		serve()
	}
}

// receive takes a connection through the hellos. serve stays with it as long as it lasts.
func (e *Endpoint) receive(ctx context.Context, qc *quic.Conn, certified federation.SiteID) (
	o *opening, serve func(), err error) {
	o, hello, err := e.hear(ctx, qc)
	if err == nil {
		serve, err = e.answerHello(ctx, o, hello, certified)
	}
	return o, serve, err
}

// hear waits for the control stream and the HELLO on it.
func (e *Endpoint) hear(ctx context.Context, qc *quic.Conn) (*opening, federation.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.HelloTimeout)
	defer cancel()
	control, err := qc.AcceptStream(ctx)
	if err != nil {
		return &opening{qc: qc}, federation.Hello{}, err
	}
	control.SetPriority(urgencyControl, false)
	deadline, _ := ctx.Deadline()
	control.SetDeadline(deadline)
	o := newOpening(qc, guestOf(qc.Context()).shown.Load(), control)
	preamble, err := o.frames.preamble()
	if err != nil {
		return o, federation.Hello{}, o.cause(err)
	}
	if preamble.Kind != federation.StreamControl {
		return o, federation.Hello{}, protocolError(
			"the first stream is of kind %d, not the control stream", preamble.Kind)
	}
	hello, err := read[federation.Hello](o)
	return o, hello, err
}

// answerHello checks a hello and makes the connection part of a link, which serve then runs.
func (e *Endpoint) answerHello(ctx context.Context, o *opening, hello federation.Hello, certified federation.SiteID) (
	serve func(), err error) {
	if r := e.checkHello(hello, certified); r != nil {
		return nil, r
	}
	p := e.peer(certified)
	if p == nil {
		return nil, &refusal{reason: "not-a-peer", verdict: federation.NoGrant,
			text: fmt.Sprintf("%s has no link with %s in its topology", e.cfg.Site, certified),
			fix: fmt.Sprintf("add a link between %s and %s to the topology, or wait until %s has the same version",
				e.cfg.Site, certified, e.cfg.Site)}
	}
	switch hello.Connection {
	case 0:
		link, err := p.welcome(ctx, o, hello)
		return func() { link.run(p.ctx) }, err
	case 1:
		return p.acceptSecond(ctx, o, hello)
	default:
		return nil, protocolError("connection %d of a link; there are 0 and 1", hello.Connection)
	}
}

// welcome lets one handshake of a peer at a time become its link.
func (p *peer) welcome(ctx context.Context, o *opening, hello federation.Hello) (*Link, error) {
	select {
	case p.handshake <- struct{}{}:
		defer func() { <-p.handshake }()
	case <-o.qc.Context().Done():
		return nil, context.Cause(o.qc.Context())
	}
	if r := p.contend(hello); r != nil {
		return nil, r
	}
	defer p.contended()
	if err := p.ready(ctx, hello); err != nil {
		return nil, err
	}
	if err := p.e.acknowledge(o, hello); err != nil {
		return nil, err
	}
	link := newLink(p, o, hello, false)
	if err := p.install(ctx, link); err != nil {
		return nil, err
	}
	return link, nil
}

// ready greets a peer, and lets the links that must end before it hears OK do so.
func (p *peer) ready(ctx context.Context, hello federation.Hello) error {
	ctx, cancel := context.WithTimeout(ctx, p.e.cfg.GreetTimeout)
	defer cancel()
	if err := p.endOf(ctx, p.before); err != nil {
		return err
	}
	if r := p.e.greet(ctx, hello); r != nil {
		return r
	}
	return p.retire(ctx, hello.Boot)
}

// acceptSecond is the accepting side of a link's second connection.
func (p *peer) acceptSecond(ctx context.Context, o *opening, hello federation.Hello) (serve func(), err error) {
	link := p.current()
	if link == nil || link.dialled || link.id != hello.LinkID {
		return nil, &refusal{reason: "no-such-link", verdict: federation.Full,
			text: fmt.Sprintf("%s has no link %016x", p.e.cfg.Site, hello.LinkID)}
	}
	if r := p.e.greet(ctx, hello); r != nil {
		return nil, r
	}
	if err := p.e.acknowledge(o, hello); err != nil {
		return nil, err
	}
	return func() {
		if err := link.serveSecond(newConn(link, 1, o)); errors.Is(err, ErrLinkDown) {
			o.close(codeDone, "the link has ended")
		}
	}, nil
}

// acknowledge tells a peer that dialled that it is greeted, and waits for its word that it greeted us.
func (e *Endpoint) acknowledge(o *opening, hello federation.Hello) error {
	o.control.SetDeadline(time.Now().Add(e.cfg.HelloTimeout))
	if err := o.write(nil, federation.HelloAck{Hello: e.hello(hello.LinkID, hello.Connection),
		Verdict: federation.OK}); err != nil {
		return o.cause(err)
	}
	ack, err := read[federation.HelloAck](o)
	if err != nil {
		return err
	}
	if ack.Verdict != federation.OK {
		return refusedBy(ack)
	}
	return o.control.SetDeadline(time.Time{})
}
