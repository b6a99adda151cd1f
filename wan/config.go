package wan

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"
)

// Config is what an Endpoint needs. Zero is the default of each number; New reports everything that is wrong at once.
type Config struct {
	// Federation is the name that all sites of one topology share. It must equal the one in every peer's certificate.
	Federation string
	// Site is our own name. It must equal the one in our certificate.
	Site federation.SiteID
	// Listen is the UDP address of the one socket that dials and accepts, for example ":7070". Ignored when Conn is
	// set.
	Listen string
	// Conn is used instead of a socket of our own; the endpoint closes it. A connection that is not a *net.UDPConn
	// works with 1280-byte packets and without segmentation offload (quic-go finds neither the DF bit nor GSO on it).
	Conn net.PacketConn
	// Identity gives our certificate and the authorities that we trust, as they are at this moment. It is called at
	// every handshake and every heartbeat, so it must not block. pki.Files.Identity reloads; a test returns a fixed
	// one.
	Identity func() *pki.Identity
	// Hello gives what we say of ourselves at this moment: Router, Store, Born, Epoch, LastLSN, Boot, topology and
	// codecs. The endpoint fills in the rest.
	Hello func() federation.Hello
	// Handler takes what comes in.
	Handler Handler
	// Logger gets one line per change of state. Nil discards.
	Logger *slog.Logger

	// Heartbeat is the time between two heartbeats of a connection, DeadAfter the silence after which it is cut.
	Heartbeat, DeadAfter time.Duration
	// HandshakeTimeout bounds the wait for the peer's first packets, HelloTimeout that for its HELLO or HELLO_ACK.
	HandshakeTimeout, HelloTimeout time.Duration
	// GreetTimeout bounds Handler.Greet, and the end of a link that makes place for its successor. It is to be below
	// the peer's HelloTimeout.
	GreetTimeout time.Duration
	// RedialMin and RedialMax bound the pause before a redial, which has full jitter.
	RedialMin, RedialMax time.Duration
	// TakeOver is how long the higher site id leaves the dialling to the lower one after the loss of a link.
	TakeOver time.Duration
	// HeadStart is the same for a peer that is new to us, as all are when a router starts.
	HeadStart time.Duration
	// AckDelay is how long an answer may wait for others to share its frame; 64 answers do not wait. Negative: not at
	// all.
	AckDelay time.Duration
	// StalledAfter is the time without progress after which a link with a backlog is shown as stalled.
	StalledAfter time.Duration
	// QueueBytes is how much waits in memory for one stream before Copy or Send blocks; one frame always fits.
	QueueBytes int
	// MaxBatch is the largest batch that we take, in bytes; the default is the limit.
	MaxBatch int
}

// check finds everything that is wrong.
func (c *Config) check() error {
	var wrong []error
	for _, m := range []struct {
		missing bool
		text    string
	}{
		{c.Federation == "", "Federation is empty"},
		{c.Site == "", "Site is empty"},
		{c.Identity == nil, "Identity is nil"},
		{c.Hello == nil, "Hello is nil"},
		{c.Handler == nil, "Handler is nil"},
		{c.Conn == nil && c.Listen == "", "neither Listen nor Conn is set"},
		{c.MaxBatch < 0 || c.MaxBatch > defaultMaxBatch,
			fmt.Sprintf("MaxBatch is %d: at most %d", c.MaxBatch, defaultMaxBatch)},
	} {
		if m.missing {
			wrong = append(wrong, errors.New(m.text))
		}
	}
	if c.Identity != nil {
		if id := c.Identity(); id.Site() != c.Site || id.Federation() != c.Federation {
			wrong = append(wrong, fmt.Errorf("the certificate is for site %q of federation %q, this router is %q of %q",
				id.Site(), id.Federation(), c.Site, c.Federation))
		}
	}
	return errors.Join(wrong...)
}

const defaultMaxBatch = federation.MaxEncodedBatch + federation.MaxBatchHeader

// fill sets the defaults.
func (c *Config) fill() {
	for _, d := range []struct {
		value *time.Duration
		std   time.Duration
	}{
		{&c.Heartbeat, time.Second},
		{&c.DeadAfter, 3500 * time.Millisecond}, // three lost heartbeats
		{&c.HandshakeTimeout, 3 * time.Second},
		{&c.HelloTimeout, 5 * time.Second},
		{&c.GreetTimeout, 4 * time.Second}, // below HelloTimeout, so that the peer hears why
		{&c.RedialMin, 500 * time.Millisecond},
		// what users wait at most after a peer that cannot dial us is back; an attempt on a peer that is away is some
		// 10 KB
		{&c.RedialMax, 5 * time.Second},
		{&c.TakeOver, 10 * time.Second}, // about three attempts of the lower one
		// The lower one, when it is there, needs a few round trips; when it has given up on us for a while it does not
		// know that we are back.
		{&c.HeadStart, time.Second},
		// Measured with BenchmarkThroughput1KiB: 2, 1 and 0.5 ms cost the same CPU a frame, and with 64 frames
		// unanswered 0.5 ms moves 1.5 times as many as 2 ms.
		{&c.AckDelay, 500 * time.Microsecond},
		{&c.StalledAfter, 10 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.std
		}
	}
	c.QueueBytes = cmp.Or(c.QueueBytes, 1<<20)
	c.MaxBatch = cmp.Or(c.MaxBatch, defaultMaxBatch)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}
