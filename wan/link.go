package wan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
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

// Link is an authenticated, multiplexed link to one peer while it lasts; the next one is another Link. All methods may
// be called at once from several goroutines.
type Link struct {
	peer    *peer
	id      uint64
	dialled bool // by us
	hello   federation.Hello
	since   time.Time
	first   *conn // connection 0: the link lives as long as it
	drain   drain
	done    chan struct{} // closed after Handler.Down

	partial  atomic.Int64 // bytes of incomplete frames that came in; frameReader's
	progress atomic.Int64 // when a frame was last written or answered, as time since since

	trouble atomic.Pointer[trouble] // nil: none
	// when connection 0 was first seen to have a certificate of before; keepSecond's
	outdatedSince time.Time

	mu      sync.Mutex     // Copy looks for a connection while connection 1 comes and goes
	second  *conn          // connection 1, nil while there is none
	retired map[*conn]bool // connections 1 of before, which finish
	down    bool
	tasks   sync.WaitGroup // connection 1 and what redials it; grows only while !down, or from one of the tasks
}

func newLink(p *peer, o *opening, hello federation.Hello, dialled bool) *Link {
	l := &Link{peer: p, id: hello.LinkID, dialled: dialled, hello: hello, since: time.Now(), done: make(chan struct{}),
		retired: map[*conn]bool{}}
	l.first = newConn(l, 0, o)
	return l
}

// Peer is the site at the other end, as its certificate says.
func (l *Link) Peer() federation.SiteID { return l.peer.site }

// Hello is what the peer said of itself when the link came up.
func (l *Link) Hello() federation.Hello { return l.hello }

// Copy queues a batch on the lane's stream of its class and waits while that queue is full. Nil: answer will be called
// exactly once, later, from another goroutine, with the peer's verdict or with LinkLost; it must return quickly. An
// error (ErrLinkDown, ErrDraining, the context's, federation.ErrTooLarge and others of the encoder): it is never
// called. The batch's bytes are written as they are and not copied. Classes from maxClasses-1 on share their streams.
func (l *Link) Copy(ctx context.Context, class uint8, lane federation.Lane, side federation.Sidecar,
	batch *federation.Batch, answer func(verdict federation.Verdict, retry time.Duration)) error {
	if most := l.hello.MaxBatch; most > 0 && uint64(len(batch.Bytes())) > uint64(most) {
		return fmt.Errorf("batch of %d bytes, %s takes %d: %w", len(batch.Bytes()), l.peer.site, most,
			federation.ErrTooLarge)
	}
	if err := l.drain.begin(); err != nil {
		return err
	}
	err := l.queue(ctx, class, lane, side, batch, answer)
	if err != nil {
		l.finished(1)
	}
	return err
}

// queue tries again on the other connection when connection 1 ends under it.
func (l *Link) queue(ctx context.Context, class uint8, lane federation.Lane, side federation.Sidecar,
	batch *federation.Batch, answer answerFunc) error {
	hash := hashLane(lane)
	for {
		c := l.route(hash)
		s, err := c.sender(min(class, maxClasses-1), hash)
		if err == nil {
			err = s.copy(ctx, side, batch, answer)
		}
		if !errors.Is(err, ErrLinkDown) || c == l.first {
			return err
		}
		l.detach(c)
	}
}

// route gives the lane's connection: half of the lanes are at home on connection 1 and use connection 0 while there is
// none.
func (l *Link) route(hash uint64) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hash>>32&1 == 1 && l.second != nil {
		return l.second
	}
	return l.first
}

// hashLane is FNV-1a over the lane's name: the same in every process, so that a simulation can be replayed.
func hashLane(lane federation.Lane) uint64 {
	h := uint64(14695981039346656037)
	add := func(s string) {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	add(string(lane.Origin))
	add(string(lane.Route))
	add(string([]byte{byte(lane.Shard), byte(lane.Shard >> 8), byte(lane.Kind)}))
	// MurmurHash3's fmix64: FNV's single bits are too regular for two bits of it to choose by
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

// Send queues a LaneOpen, LaneState, Window, Receipt, SyncReq or Sync on the control stream of connection 0 and waits
// while its queue is full. Nil does not say that it arrived. Frames arrive in the order in which they were queued.
func (l *Link) Send(ctx context.Context, f federation.Frame) error {
	switch f.(type) {
	case federation.LaneOpen, federation.LaneState, federation.Window, federation.Receipt, federation.SyncReq,
		federation.Sync:
	default:
		return fmt.Errorf("a %T is the link's own to send", f)
	}
	b, err := federation.AppendFrame(nil, f)
	if err != nil {
		return err
	}
	return l.first.control.put(ctx, len(b), func() (outFrame, error) { return outFrame{head: b}, nil })
}

// Close ends the link at once. What is unanswered gets LinkLost. The reason is shown at both ends. It does not wait for
// Handler.Down.
func (l *Link) Close(reason string) { l.end(&closeError{codeDone, "", reason}) }

// Done is closed after Handler.Down returned.
func (l *Link) Done() <-chan struct{} { return l.done }

func (l *Link) end(err error) { l.first.end(err) }

// over tells whether Handler.Down has returned.
func (l *Link) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// wait waits until Handler.Down has returned, and gives the context's error when that ends first. No link is over.
func (l *Link) wait(ctx context.Context) error {
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the life of an installed link: it returns after Handler.Down. When ctx ends it closes the link.
func (l *Link) run(ctx context.Context) {
	e := l.peer.e
	stop := context.AfterFunc(ctx, func() { l.end(&closeError{codeDone, "", string(e.cfg.Site) + " ends the link"}) })
	defer stop()
	e.logger.Info("link up", "site", e.cfg.Site, "peer", l.peer.site, "remote", l.first.qc.RemoteAddr().String(),
		"dialled", l.dialled, "epoch", uint64(l.hello.Epoch))
	e.cfg.Handler.Up(l)
	if l.dialled {
		l.tasks.Go(l.keepSecond)
	}
	err := l.first.run()
	l.endSecond()
	l.tasks.Wait()
	err = l.ending(err)
	e.logger.Log(context.Background(), levelOf(err), "link down", "site", e.cfg.Site, "peer", l.peer.site, "err", err)
	e.cfg.Handler.Down(l, err)
	l.peer.ended(l, err)
	close(l.done)
}

// conns are the connections that there are now.
func (l *Link) conns() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.second == nil {
		return []*conn{l.first}
	}
	return []*conn{l.first, l.second}
}

// levelOf tells an end that somebody wanted from one that heals by itself.
func levelOf(err error) slog.Level {
	var wanted *closeError
	if errors.As(err, &wanted) && (wanted.code == codeDone || wanted.code == codeDrained) {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

func (l *Link) progressed() { l.progress.Store(int64(time.Since(l.since))) }

func (l *Link) heardWithin(d time.Duration) bool { return l.first.silence() < d }
