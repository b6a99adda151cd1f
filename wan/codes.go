package wan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode"
	"unicode/utf8"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"

	"github.com/quic-go/quic-go"
)

// code tells why a connection ends. It travels, with a text, in QUIC's CONNECTION_CLOSE (RFC 9000 section 19.19), which
// unlike a CLOSE frame still goes out when the streams are full; a CLOSE frame that comes in is taken all the same.
type code uint16

// Codes of design section 13, CLOSE.
const (
	codeDone        code = 0
	codeDrained     code = 1
	codeProtocol    code = 2
	codeCertificate code = 3
	codeOverload    code = 4
	codeDuplicate   code = 5
	codeInternal    code = 6
	codeRefused     code = 7
	codeDead        code = 8
)

// maxText is the most bytes of a text that we send (HelloAck.Text has the same limit).
const maxText = 255

// closeError ends a connection: our own decision, with what the peer is told.
type closeError struct {
	code   code
	reason string // for the count of refusals; empty: not a refusal
	text   string
}

func (e *closeError) Error() string { return e.text }

// endOf gives the reason with which one of the sides closed a connection; nil when it ended otherwise.
func endOf(err error, peer federation.SiteID) *closeError {
	var ours *closeError
	if errors.As(err, &ours) {
		return ours
	}
	if theirs := (*quic.ApplicationError)(nil); errors.As(err, &theirs) && theirs.Remote {
		return &closeError{code: code(theirs.ErrorCode),
			text: fmt.Sprintf("%s closed the connection: %s", peer, said(theirs.ErrorMessage))}
	}
	return nil
}

func protocolError(format string, a ...any) *closeError {
	return &closeError{codeProtocol, "protocol", fmt.Sprintf(format, a...)}
}

// end closes the connection for a reason of ours; the first one stands. An error that is no closeError came from a
// connection that is dead already, or is a bug of ours.
func (c *conn) end(err error) {
	wrong := &closeError{codeInternal, "", "internal error"}
	if errors.As(err, &wrong) || c.qc.Context().Err() == nil {
		c.setCause(err)
	}
	c.qc.CloseWithError(quic.ApplicationErrorCode(wrong.code), clip(wrong.text))
}

func (c *conn) setCause(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil || c.qc.Context().Err() != nil {
		return
	}
	c.cause = err
	if wrong := (*closeError)(nil); errors.As(err, &wrong) && wrong.reason != "" {
		c.link.peer.e.countRefusal(wrong.reason, c.link.peer.site, c.qc.RemoteAddr().String(), wrong.text)
	}
}

func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause
	}
	return context.Cause(c.qc.Context())
}

// connectionEnded tells whether an error of a stream says that its connection has ended. Streams know it a moment
// before the connection's context does. All of quic-go's errors that end a connection are net.ErrClosed, and none of a
// single stream is.
func connectionEnded(err error) bool { return errors.Is(err, net.ErrClosed) }

// refusal is a connection that one side did not want, and what mends it.
type refusal struct {
	reason   string // one word, for counting
	verdict  federation.Verdict
	text     string
	fix      string
	remote   bool   // the peer refused us
	stopping bool   // because it stops
	theirs   string // what the peer is to do, for it alone
}

func (r *refusal) Error() string { return r.text }

// words are what the peer is told.
func (r *refusal) words() string { return federation.Refusal{Why: r.text, Mend: r.theirs}.Text() }

// explain turns the end of a connection or of an attempt into what an admin can act on.
func explain(err error, us, peer federation.SiteID) (reason, fix string) {
	var (
		r         *refusal
		cert      *pki.RefusedError
		transport *quic.TransportError
		app       *quic.ApplicationError
		reset     *quic.StatelessResetError
		timeout   net.Error
		name      *unresolved
	)
	switch {
	case errors.As(err, &r) && r.remote:
		return fmt.Sprintf("%s refused us with %s: %s", peer, r.verdict, r.text), r.fix
	case errors.As(err, &r):
		return fmt.Sprintf("we refused %s with %s: %s", peer, r.verdict, r.text), r.fix
	case errors.As(err, &cert):
		return "we refused the certificate of " + string(peer) + ": " + cert.Detail, cert.Fix
	case errors.As(err, &transport) && transport.Remote && transport.ErrorCode.IsCryptoError():
		return refusedByPeer(transport, us, peer)
	case errors.As(err, &transport) && transport.Remote && transport.ErrorCode == quic.ConnectionRefused:
		return string(peer) + " takes no connection now: it is starting, stopping or overloaded", ""
	case errors.As(err, &app) && app.Remote:
		return fmt.Sprintf("%s closed the connection: %s", peer, said(app.ErrorMessage)), ""
	case errors.As(err, &reset):
		return string(peer) + " was restarted", ""
	case errors.As(err, &name):
		return name.Error(), fmt.Sprintf("correct the address of %s in the topology, or the name service", peer)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "no answer from " + string(peer), fmt.Sprintf(
			"check that the router of %s runs, its address in the topology, and that UDP passes in both directions, at 4 kB/s or more",
			peer)
	default:
		return said(err.Error()), "" // QUIC's errors carry the peer's text
	}
}

// unanswered tells whether an attempt only found that nobody is there.
func unanswered(err error) bool {
	var transport *quic.TransportError
	var timeout net.Error
	return errors.As(err, &transport) && transport.Remote && transport.ErrorCode == quic.ConnectionRefused ||
		errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// nameless tells whether an attempt did not find the peer's address.
func nameless(err error) bool {
	var name *unresolved
	return errors.As(err, &name)
}

// stopping tells whether the peer refused an attempt because it stops.
func stopping(err error) bool {
	var r *refusal
	var app *quic.ApplicationError
	return errors.As(err, &r) && r.remote && r.stopping || errors.As(err, &app) && app.Remote &&
		code(app.ErrorCode) == codeDone
}

// refusedByPeer explains a TLS alert (RFC 8446 section 6; RFC 9001 section 4.8 adds 0x100).
func refusedByPeer(err *quic.TransportError, us, peer federation.SiteID) (reason, fix string) {
	const noApplicationProtocol = 0x100 + 120
	if err.ErrorCode == noApplicationProtocol {
		return fmt.Sprintf("%s speaks no wire protocol that we speak", peer),
			"run versions of cloudqueue that are at most one apart"
	}
	return fmt.Sprintf("%s refused our certificate (%s)", peer, err.ErrorCode),
		fmt.Sprintf("cloudqueue status at %s says why; "+
			"often: cloudqueue pki issue %s, or give both sites the same ca.crt", peer, us)
}

// said is a text of a peer as people are shown it: on a terminal and in logs, so nothing in it moves a cursor or begins
// a line.
func said(s string) string {
	return clip(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s))
}

// clip cuts a text to what fits a frame, at a character's end.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	for !utf8.ValidString(s) && len(s) > 0 {
		s = s[:len(s)-1]
	}
	return s
}
