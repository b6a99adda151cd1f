package wan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cloudqueue/federation"

	"github.com/quic-go/quic-go"
)

// refuseOpening ends a connection that did not become part of a link, counts why and tells the peer.
func (e *Endpoint) refuseOpening(ctx context.Context, o *opening, site federation.SiteID, err error) {
	var r *refusal
	var wrong *closeError
	level := slog.LevelWarn
	switch {
	case errors.As(err, &r) && !r.remote:
		e.refuseHello(r, site, o.remote())
		o.refuse(ctx, e.hello(0, 0), r)
		return
	case r != nil:
		e.showRefusal(r, site)
	case errors.As(err, &wrong):
		e.countRefusal(wrong.reason, site, o.remote(), wrong.text)
	// it has another address of ours, or another attempt
	case endOf(err, site) != nil && endOf(err, site).code == codeDuplicate:
		level = slog.LevelDebug
	case o.qc.Context().Err() == nil && !connectionEnded(err) && ctx.Err() == nil:
		e.countRefusal("hello-timeout", site, o.remote(), "")
	}
	e.logger.Log(ctx, level, "connection not opened", "site", e.cfg.Site, "peer", site, "remote", o.remote(), "err",
		err)
	o.fail(err)
}

// refuseHello counts and shows a peer that we refused.
func (e *Endpoint) refuseHello(r *refusal, site federation.SiteID, remote string) {
	e.countRefusal(r.reason, site, remote, r.text)
	e.logger.Warn("peer refused", "site", e.cfg.Site, "peer", site, "verdict", r.verdict.String(), "reason", r.reason,
		"err", r)
	e.showRefusal(r, site)
}

func (e *Endpoint) showRefusal(r *refusal, site federation.SiteID) {
	if p := e.peer(site); p != nil {
		p.sawNoLink(explain(r, e.cfg.Site, site))
	}
}

// countRefusal counts for the endpoint and for the peer that the certificate named. Text is why, or empty.
func (e *Endpoint) countRefusal(reason string, site federation.SiteID, remote, text string) {
	detail := fmt.Sprintf("%s at %s", site, remote)
	if text != "" {
		detail += ": " + text
	}
	e.refused.addOf(reason, detail)
	if p := e.peer(site); p != nil {
		p.refused.addOf(reason, detail)
	}
}

func (o *opening) remote() string { return o.qc.RemoteAddr().String() }

// tagStopping is the extension of a HELLO_ACK that refuses because the site stops. It has no value.
const tagStopping = 2

// refuse tells the peer why and closes. The text goes as a HELLO_ACK; the connection waits a moment for the peer to
// close it, because closing it ourselves would throw the HELLO_ACK away (docs/decisions.md, M6).
func (o *opening) refuse(ctx context.Context, ours federation.Hello, r *refusal) {
	ack := federation.HelloAck{Hello: ours, Verdict: r.verdict, Text: clip(r.words())}
	if r.stopping {
		ack.Extensions = []federation.TLV{{Tag: tagStopping}}
	}
	o.control.SetDeadline(time.Now().Add(linger))
	if err := o.write(nil, ack); err == nil {
		o.control.Close()
		wait, cancel := context.WithTimeout(ctx, linger)
		defer cancel()
		select {
		case <-o.qc.Context().Done():
		case <-wait.Done():
		}
	}
	o.close(codeRefused, r.words())
}

func (o *opening) close(c code, text string) {
	o.qc.CloseWithError(quic.ApplicationErrorCode(c), clip(text))
}

// fail closes a connection whose opening went wrong, and tells the peer what it did wrong.
func (o *opening) fail(err error) {
	var wrong *closeError
	if errors.As(err, &wrong) {
		o.close(wrong.code, wrong.text)
		return
	}
	o.close(codeRefused, "the connection was not opened in time")
}
