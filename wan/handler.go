package wan

import (
	"context"
	"time"

	"cloudqueue/federation"
)

// Handler takes what the peers send. The router implements it, through an adapter.
type Handler interface {
	// Greet decides about a peer that said hello, for every connection, at both ends. OK means that the peer's store
	// id, birth, epoch, last LSN and boot id are durable here; any other verdict refuses the peer, which is shown why
	// and what to do there. It may wait for a commit; ctx bounds it.
	Greet(ctx context.Context, hello federation.Hello) (federation.Verdict, federation.Refusal)
	// Up is called once per link, when HELLO_ACK with OK went both ways, and before any other call with this link. It
	// must return quickly.
	Up(link *Link)
	// Down is called once per link that was up, after every outstanding answer was called with LinkLost and after the
	// last Copy or Control of this link returned. The next Up for this peer comes after it.
	Down(link *Link, reason error)
	// Copy takes a frame. The callee owns c and its bytes. It must return quickly: it runs on the stream's only reader.
	// answer is to be called exactly once, from any goroutine, before or after Copy returned, a second call panics;
	// when the link is gone it does nothing. Frames of one lane come in the order in which the peer sent them, unless
	// the lane moved between connections; frames of different lanes come at once from several goroutines.
	Copy(link *Link, c federation.Copy, answer func(verdict federation.Verdict, retry time.Duration))
	// Control takes LaneOpen, LaneState, Window, Receipt, SyncReq and Sync, one at a time and in order per link. It
	// must return quickly.
	Control(link *Link, f federation.Frame)
}

// Peer is a site that we have a link with.
type Peer struct {
	Site federation.SiteID
	// Addresses are "host:port". Each has a head start of 250 ms before the next one; the first that takes us is the
	// link's. Without any the peer can only dial us.
	Addresses []string
	// Dial allows us to dial. When both sides can dial, the lower site id does and the other one takes over when it
	// fails.
	Dial bool
	// PeerDials says that the peer has an address of ours too, so that with a lower site id it dials first. When false
	// we dial at once; two links that come up at the same time are told apart, so this only saves work.
	PeerDials bool
}
