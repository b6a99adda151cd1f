package router

import (
	"sync"
	"time"

	"cloudqueue/federation"
)

// inKey names a lane that ends here, for one destination of this site.
type inKey struct {
	lane federation.Lane
	dest federation.Destination
}

// inLane is a lane that ends at this site: what was received and is not done, and the journal of what is.
//
// Links' goroutines put batches and questions in, run publishes and keeps the journal. What is above the line is guarded
// by mu; what is below belongs to run alone. A method whose name ends in Locked is called with mu held.
type inLane struct {
	r   *Router
	key inKey

	mu          sync.Mutex
	link        Link                // the link on which the origin opened the lane last
	opened      federation.LaneOpen // what it said
	originStore federation.StoreID
	boot        federation.BootID // of the origin's process that opened the lane last
	settling    bool              // what an earlier process of the origin sent is finished first, before the answer to LANE_OPEN
	wrong       contradicted      // held, while what the origin says contradicts this site's journal
	answer      *federation.Sync  // an answer of the origin that run has not adopted yet
	askedAt     time.Time         // when SYNC was asked
	gen         federation.Generation
	journal     *federation.JournalState // of gen; nil before it is read
	window      *federation.PositionWindow
	held        map[federation.Span]*arrival // what the window holds
	turn        *arrival                     // of held, the one that is being published
	toAnswer    []unanswered                 // done here, and answered when the journal that says so is durable
	decoded     int                          // raw bytes of the held batches that are decoded
	dropped     uint64                       // copies dropped by their offset
	state       federation.PartState
	parkTrouble trouble       // why messages wait to be parked; it holds the lane
	loss        storeLoss     // of an earlier store; written by run alone
	last        time.Time     // when an offset last ended
	lag         time.Duration // how long ago that one was sealed, by both sites' clocks
	speed       speed         // of done
	ended       bool          // run has returned: nothing is taken any more

	wake     chan struct{} // capacity 1
	stopping chan struct{} // closed by stopCleanly
	stopped  chan struct{} // closed when run has returned
	stopOnce sync.Once
	// ----
	deliverer
}

func newInLane(r *Router, key inKey) *inLane {
	l := &inLane{r: r, key: key, held: map[federation.Span]*arrival{}, window: federation.NewPositionWindow(1, r.cfg.WindowBytes),
		wake: make(chan struct{}, 1), stopping: make(chan struct{}), stopped: make(chan struct{}),
		deliverer: deliverer{outcomes: make(chan published, r.cfg.PublishWindow), items: map[federation.Offset]*item{}}}
	l.state = federation.PartState{State: federation.StateWaiting, Reason: "the owner locks of this site are not held yet", Since: time.Now()}
	return l
}

func (l *inLane) poke() { poke(l.wake) }

// hold says that nothing moves, and what helps.
func (l *inLane) hold(reason, fix string) { l.say(federation.StateHeld, reason, fix) }

// say changes what status shows; Since moves only when the state does.
func (l *inLane) say(state federation.State, reason, fix string) {
	l.mu.Lock()
	if state == federation.StateRunning && l.parkTrouble.reason != "" {
		state, reason, fix = federation.StateHeld, l.parkTrouble.reason, l.parkTrouble.fix
	}
	was := l.state
	changed := was.State != state || was.Reason != reason
	if changed {
		l.state = federation.PartState{State: state, Reason: reason, Fix: fix, Since: time.Now()}
	}
	l.mu.Unlock()
	switch {
	case !changed:
	case state == federation.StateHeld:
		l.r.log.Warn("lane held", "lane", l.key.lane.String(), "dest", l.key.dest.String(), "reason", reason, "fix", fix)
	case was.State == federation.StateHeld:
		l.r.log.Info("lane resumed", "lane", l.key.lane.String(), "dest", l.key.dest.String())
	}
}

// leave gives back what waits when run returns: the peer's drain would wait for the answers.
func (l *inLane) leave() {
	l.mu.Lock()
	l.ended = true
	shed := l.shedLocked()
	l.mu.Unlock()
	giveBack(shed)
	close(l.stopped)
}
