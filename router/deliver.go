package router

import (
	"context"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

// deliverer is what run of an inLane owns: the publisher, what is on its way to the broker, and the commit in progress.
type deliverer struct {
	route       topology.Route // of the topology of now; zero when it is gone
	coder       *federation.Coder
	pub         Publisher
	incarnation uint64
	acquired    bool
	outcomes    chan published // capacity PublishWindow: never blocks the broker's goroutine
	items       map[federation.Offset]*item
	turn        *arrival // the batch that is being published; guarded by mu
	unconfirmed int      // items without an outcome
	overPublish bool     // a publish closed the channel whose outcomes are coming in
	probe       int      // how many may be unconfirmed while the publish that closed a channel is looked for; 0: no such search
	exchanges   map[string]bool
	retryAt     time.Time // nothing is published before
	retryPause  time.Duration
	commit      *journalCommit
	parks       []*item   // to be parked with the next commit
	parkAt      time.Time // not before: the parking was full
	dirtyAt     time.Time // since when the journal has something to commit; zero: nothing
	rate        arrivalRate
}

// item is one offset on its way into the broker.
type item struct {
	at        federation.Offset
	arrival   *arrival
	entry     *federation.Entry
	flagged   bool
	attempts  uint32
	firstTry  time.Time
	reason    string // why it is parked
	lastError string
}

type published struct {
	it      *item
	outcome federation.Outcome
}

// journalCommit is a commit on its way: PARKs, or the journal. PARK n goes before done >= n, in an earlier group (4.2).
type journalCommit struct {
	ticket *spool.Ticket
	parks  []*item
	mark   federation.Journal
}

// journalPause gathers what ended into one commit: 10 ms delay verdicts, receipts and window by no more than a round trip
// inside a city, and save most of the syncs at a few hundred messages a second.
const journalPause = 10 * time.Millisecond

// run publishes until the context ends, or a clean stop is asked for. Nothing of the journal is read before every owner
// lock of this site is held (6.2).
func (l *inLane) run(ctx context.Context) {
	defer l.leave()
	taking, cancel := l.untilStopping(ctx)
	defer cancel()
	if !l.begin(taking) {
		return
	}
	timer := time.NewTimer(journalPause)
	defer timer.Stop()
	for !l.finished() {
		l.advance(ctx, taking)
		timer.Reset(l.nextLook())
		// Any ready order gives the same result: advance looks at everything.
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case p := <-l.outcomes:
			l.take(p)
		case <-l.commitDone():
			l.committed(ctx)
		case <-timer.C:
		}
	}
}

// begin takes a publisher and reads the journal. It is false when the lane was stopped first.
func (l *inLane) begin(taking context.Context) bool {
	pub, err := l.r.owners.take(taking)
	if err != nil {
		return false
	}
	l.pub = pub
	if err := l.load(); err != nil {
		l.say("held", err.Error(), "the journal's mark cannot be read: keep the store, and update the router")
		<-taking.Done()
		return false
	}
	return true
}

// untilStopping is a context that ends with a clean stop too.
func (l *inLane) untilStopping(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(ctx)
	l.r.start(func() {
		select {
		case <-l.stopping:
		case <-out.Done():
		}
		cancel()
	})
	return out, cancel
}

// advance does all that can be done now. The broker is waited for while taking lasts, the store until ctx ends.
func (l *inLane) advance(ctx, taking context.Context) {
	l.takeWaiting()
	l.route = l.r.inboundRoute(l.key.lane)
	l.adoptIfAnswered()
	if l.isKnown() && !l.isStopping() {
		l.publishMore(taking)
	}
	l.startCommit(ctx)
}

func (l *inLane) takeWaiting() {
	for {
		select {
		case p := <-l.outcomes:
			l.take(p)
		default:
			return
		}
	}
}

func (l *inLane) isKnown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.journal.Known()
}

func (l *inLane) isStopping() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// finished: a clean stop is asked for and nothing more can be done for it. What failed and is not published again stays
// above done; the journal's reserved covers it.
func (l *inLane) finished() bool {
	if !l.isStopping() || l.unconfirmed > 0 || l.commit != nil || len(l.parks) > 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.Stop() // lowers reserved, unless something is unfinished; startCommit makes that durable
	return !l.journal.Known() || !l.journal.Changed()
}

// stopCleanly lets the lane confirm what is on its way and close its journal. When the time runs out, reserved stays as
// it is, and the exit counts as a crash.
func (l *inLane) stopCleanly(ctx context.Context) {
	l.stopOnce.Do(func() { close(l.stopping) })
	l.poke()
	select {
	case <-l.stopped:
	case <-ctx.Done():
		l.r.log.Warn("lane not stopped cleanly", "lane", l.key.lane.String(), "dest", l.key.dest.String())
	}
}

// nextLook is how long run may sleep without news.
func (l *inLane) nextLook() time.Duration {
	look := time.Second
	if !l.dirtyAt.IsZero() && l.commit == nil {
		look = min(look, time.Until(l.dirtyAt.Add(journalPause)))
	}
	if wait := time.Until(l.retryAt); wait > 0 {
		look = min(look, wait)
	}
	return max(look, 0)
}

func (l *inLane) commitDone() <-chan struct{} {
	if l.commit == nil {
		return nil
	}
	return l.commit.ticket.Done()
}

// startCommit makes durable what has to be: parked messages first, then the journal, when done moved or more must be
// reserved before anything can be published.
func (l *inLane) startCommit(ctx context.Context) {
	if l.commit != nil || len(l.parks) > 0 && time.Now().After(l.parkAt) && l.commitParks(ctx) {
		return
	}
	mark, due := l.dueMark()
	if !due {
		return
	}
	key := federation.MarkKey{Kind: federation.MarkJournal, Lane: l.key.lane, Generation: l.gen, Dest: l.key.dest}
	ticket, err := l.r.cfg.Spool.Submit(ctx, spool.MarkRecord{Key: key, Value: mark.Encode()})
	if err != nil {
		return // the context ended, or the spool is closed: run ends
	}
	l.commit, l.dirtyAt = &journalCommit{ticket: ticket, mark: mark}, time.Time{}
}

// dueMark is the journal to commit now, if there is one.
func (l *inLane) dueMark() (federation.Journal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.journal.Known() {
		return federation.Journal{}, false
	}
	l.journal.SetOriginStore(l.originStore)
	reserve := l.reserve()
	if !l.journal.Changed() {
		return federation.Journal{}, false
	}
	if l.dirtyAt.IsZero() {
		l.dirtyAt = time.Now()
	}
	due := reserve || l.isStopping() || time.Since(l.dirtyAt) >= journalPause
	return l.journal.Mark(), due
}

// reserve looks for what is received only on a slow lane: nothing else depends on it. Callers hold mu.
func (l *inLane) reserve() bool {
	rate := l.perSecond()
	if rate > federation.SlowLane {
		return l.journal.Reserve(0, rate)
	}
	return l.journal.Reserve(l.received(), rate)
}

// received is the last offset up to which everything is here. Callers hold mu.
func (l *inLane) received() federation.Offset {
	last := l.journal.Next() - 1
	for {
		a := l.find(last + 1)
		if a == nil {
			return last
		}
		last = a.batch.Header.Last()
	}
}

func (l *inLane) find(n federation.Offset) *arrival {
	for span, a := range l.held {
		if span.First <= n && n <= span.Last {
			return a
		}
	}
	return nil
}

func (l *inLane) perSecond() float64 {
	if time.Since(l.rate.last) > time.Second {
		return 0
	}
	return l.rate.perSecond
}

// commitParks is false when the parking is full: the lane waits, the journal goes on.
func (l *inLane) commitParks(ctx context.Context) bool {
	var records []spool.Record
	for bytes := 0; len(records) < len(l.parks); {
		it := l.parks[len(records)]
		if bytes += it.entry.Message.Size(); bytes > parkBytes && len(records) > 0 {
			break // the next commit takes the rest
		}
		records = append(records, l.parkRecord(it))
	}
	ticket, err := l.r.cfg.Spool.Submit(ctx, records...)
	if err != nil {
		l.say("held", "the parking is full: "+err.Error(), "redrive or drop what is there: cloudqueue parking list; or give the store more room")
		l.parkAt = time.Now().Add(maxPause)
		return false
	}
	l.commit = &journalCommit{ticket: ticket, parks: l.parks[:len(records):len(records)]}
	l.parks = l.parks[len(records):]
	return true
}

// parkBytes is how much one commit parks, unless one message is larger (chosen: well below what a group of the spool takes).
const parkBytes = 16 << 20

// committed takes the result of a commit: parked offsets end, or a journal is durable and everything up to its done is
// answered and receipted (4.2).
func (l *inLane) committed(ctx context.Context) {
	c := l.commit
	l.commit = nil
	if err := c.ticket.Wait(ctx); err != nil {
		return // only the context or the spool's end; run ends
	}
	for _, it := range c.parks {
		l.end(it, federation.EndParked)
	}
	if c.parks != nil {
		return
	}
	answered := l.takePassed(c.mark)
	for _, c := range answered {
		c.say(federation.OK, 0)
	}
	l.tell()
}

// takePassed notes a durable journal and gives what it answers.
func (l *inLane) takePassed(m federation.Journal) (answered []passedCopy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.Committed(m)
	waiting := l.passed[:0]
	for _, c := range l.passed {
		if c.last <= m.Done {
			answered = append(answered, c)
		} else {
			waiting = append(waiting, c)
		}
	}
	clear(l.passed[len(waiting):])
	l.passed = waiting
	return answered
}

// end notes how an item ended; what done passes leaves the window.
func (l *inLane) end(it *item, how federation.End) {
	delete(l.items, it.at)
	now := time.Now()
	l.rate.add(1, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = now
	l.journal.End(it.at, how)
	if l.passesBatch() {
		l.release()
	}
	if l.dirtyAt.IsZero() {
		l.dirtyAt = now
	}
}
