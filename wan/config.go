package wan

import (
	"context"
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
	// Listen is the UDP address of the one socket that dials and accepts, for example ":7070". Ignored when Conn is set.
	Listen string
	// Conn is used instead of a socket of our own; the endpoint closes it. A connection that is not a *net.UDPConn works with
	// 1280-byte packets and without segmentation offload (quic-go finds neither the DF bit nor GSO on it).
	Conn net.PacketConn
	// Identity gives our certificate and the authorities that we trust, as they are at this moment. It is called at every handshake
	// and every heartbeat, so it must not block. pki.Files.Identity reloads; a test returns a fixed one.
	Identity func() *pki.Identity
	// Hello gives what we say of ourselves at this moment: Router, Store, Born, Epoch, LastLSN, Boot, topology and codecs. The endpoint fills in the rest.
	Hello func() federation.Hello
	// Handler takes what comes in.
	Handler Handler
	// Logger gets one line per change of state. Nil discards.
	Logger *slog.Logger

	// Heartbeat is the time between two heartbeats of a connection (1 s), DeadAfter the silence after which it is cut (3.5 s: three lost heartbeats).
	Heartbeat, DeadAfter time.Duration
	// HandshakeTimeout bounds the wait for the peer's first packets (3 s) and for its HELLO or HELLO_ACK (5 s is HelloTimeout).
	HandshakeTimeout, HelloTimeout time.Duration
	// GreetTimeout bounds Handler.Greet (4 s: below HelloTimeout, so that the peer hears why).
	GreetTimeout time.Duration
	// RedialMin and RedialMax bound the pause before a redial, which has full jitter (0.5 s and 30 s).
	RedialMin, RedialMax time.Duration
	// TakeOver is how long the higher site id leaves the dialling to the lower one (10 s: about three attempts of the lower one).
	TakeOver time.Duration
	// AckDelay is how long an answer may wait for others to share its frame (2 ms); 64 answers do not wait. Negative: not at all.
	AckDelay time.Duration
	// StalledAfter is the time without progress after which a link with a backlog is shown as stalled (10 s).
	StalledAfter time.Duration
	// QueueBytes is how much waits in memory for one stream before Copy or Send blocks (1 MiB); one frame always fits.
	QueueBytes int
	// MaxBatch is the largest batch that we take, in bytes (federation.MaxEncodedBatch + federation.MaxBatchHeader).
	MaxBatch int
}

// Handler takes what the peers send. The router implements it, through an adapter.
type Handler interface {
	// Greet decides about a peer that said hello, for every connection. OK means that the peer's store id, birth, epoch, last LSN and boot id are
	// durable here; any other verdict refuses the peer, which is shown the text. It may wait for a commit; ctx bounds it.
	Greet(ctx context.Context, hello federation.Hello) (federation.Verdict, string)
	// Up is called once per link, when HELLO_ACK with OK went both ways, and before any other call with this link. It must not block.
	Up(link *Link)
	// Down is called once per link that was up, after every outstanding answer was called with LinkLost and after the last Copy or Control of this
	// link returned. The next Up for this peer comes after it.
	Down(link *Link, reason error)
	// Copy takes a frame. The callee owns c and its bytes. It must return quickly: it runs on the stream's only reader. answer is to be called exactly once,
	// from any goroutine, before or after Copy returned; when the link is gone it does nothing. Frames of one lane come in the order in which the peer sent
	// them, unless the lane moved between connections; frames of different lanes come at once from several goroutines.
	Copy(link *Link, c federation.Copy, answer func(verdict federation.Verdict, retry time.Duration))
	// Control takes LaneOpen, LaneState, Window, Receipt, SyncReq and Sync, one at a time and in order per link. It must return quickly.
	Control(link *Link, f federation.Frame)
}

// Peer is a site that we have a link with.
type Peer struct {
	Site federation.SiteID
	// Addresses are "host:port", tried in order. Without any the peer can only dial us.
	Addresses []string
	// Dial allows us to dial. When both sides can dial, the lower site id does and the other one takes over when it fails.
	Dial bool
	// PeerDials says that the peer has an address of ours too, so that with a lower site id it dials first. When false we dial at once.
	PeerDials bool
}
