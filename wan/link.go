package wan

import (
	"context"
	"errors"
	"time"

	"cloudqueue/federation"
)

// Errors that callers act on.
var (
	// ErrLinkDown: the link has ended. The next one comes with Handler.Up.
	ErrLinkDown = errors.New("link is down")
	// ErrDraining: the link takes no more copies; one of its ends wants to close it.
	ErrDraining = errors.New("link is draining")
)

// Link is an authenticated, multiplexed link to one peer while it lasts; the next one is another Link. All methods may be called at once from several goroutines.
type Link struct{}

// Peer is the site at the other end, as its certificate says.
func (l *Link) Peer() federation.SiteID { panic("to be written") }

// Hello is what the peer said of itself when the link came up.
func (l *Link) Hello() federation.Hello { panic("to be written") }

// Copy queues a batch on the lane's stream of its class and waits while that queue is full. Nil: answer will be called exactly once, later, from another goroutine, with the
// peer's verdict or with LinkLost. An error (ErrLinkDown, ErrDraining, the context's, one of the encoder): it is never called. The batch's bytes are written as they are and not copied.
func (l *Link) Copy(ctx context.Context, class uint8, lane federation.Lane, side federation.Sidecar, batch *federation.Batch, answer func(verdict federation.Verdict, retry time.Duration)) error {
	panic("to be written")
}

// Send queues a frame on the control stream and waits while its queue is full. Nil does not say that it arrived.
func (l *Link) Send(ctx context.Context, f federation.Frame) error { panic("to be written") }

// Drain ends the link without losing anything: no more copies are taken on either side, both wait for the answers to what they sent, then the link closes.
// It returns nil when that is done; when ctx ends first it closes the link all the same (what is unanswered gets LinkLost) and returns the context's error.
func (l *Link) Drain(ctx context.Context) error { panic("to be written") }

// Close ends the link at once. What is unanswered gets LinkLost. The reason is shown at both ends.
func (l *Link) Close(reason string) { panic("to be written") }
