package router

import (
	"context"
	"errors"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// startCommit makes durable what has to be: parked messages first, then the journal, when done moved or more must be
// reserved before anything can be published. Its error is the context's, or that the spool takes nothing more.
func (l *inLane) startCommit(ctx context.Context) error {
	if l.commit != nil {
		return nil
	}
	if len(l.parks) > 0 && time.Now().After(l.parkAt) {
		if began, err := l.commitParks(ctx); began || err != nil {
			return err
		}
	}
	mark, due := l.dueMark()
	if !due {
		return nil
	}
	key := federation.MarkKey{Kind: federation.MarkJournal, Lane: l.key.lane, Generation: l.gen, Dest: l.key.dest}
	ticket, err := l.r.cfg.Spool.Submit(ctx, spool.MarkRecord{Key: key, Value: mark.Encode()})
	if err != nil {
		return err
	}
	l.commit, l.dirtyAt = &journalCommit{ticket: ticket, mark: mark}, time.Time{}
	return nil
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

// received is the last offset up to which everything is here, as far as a slow lane reserves. Callers hold mu.
func (l *inLane) received() federation.Offset {
	next := l.journal.Next()
	return l.window.Contiguous(next, next+federation.SlowAhead)
}

func (l *inLane) perSecond() float64 {
	if time.Since(l.rate.last) > time.Second {
		return 0
	}
	return l.rate.perSecond
}

// isOver tells whether the spool, or who asked, takes part in nothing any more; any other refusal is of just these records.
func isOver(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, spool.ErrClosed) || errors.Is(err, spool.ErrFenced)
}

// commitParks is false when they are refused, as by a full parking: the lane waits, the journal goes on.
func (l *inLane) commitParks(ctx context.Context) (began bool, err error) {
	var records []spool.Record
	for bytes := 0; len(records) < len(l.parks); {
		it := l.parks[len(records)]
		if bytes += it.entry.Message.Size(); bytes > parkBytes && len(records) > 0 {
			break // the next commit takes the rest
		}
		records = append(records, l.parkRecord(it))
	}
	ticket, err := l.r.cfg.Spool.Submit(ctx, records...)
	if err != nil && !isOver(ctx, err) {
		l.say("held", "messages cannot be parked: "+err.Error(), "redrive or drop what is there: cloudqueue parking list; or give the store more room")
		l.parkAt = time.Now().Add(maxPause)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.commit = &journalCommit{ticket: ticket, parks: l.parks[:len(records):len(records)]}
	l.parks = l.parks[len(records):]
	return true, nil
}

// parkBytes is how much one commit parks, unless one message is larger (chosen: well below what a group of the spool takes).
const parkBytes = 16 << 20

// committed takes the result of a commit: parked offsets end, or a journal is durable and everything up to its done is
// answered and receipted (4.2). Its error is the context's, or that the spool is over.
func (l *inLane) committed(ctx context.Context) error {
	c := l.commit
	l.commit = nil
	if err := c.ticket.Wait(ctx); err != nil {
		return err
	}
	for _, it := range c.parks {
		l.end(it, federation.EndParked)
	}
	if c.parks != nil {
		return nil
	}
	answered := l.takePassed(c.mark)
	for _, c := range answered {
		c.say(federation.OK, 0)
	}
	l.tell()
	return nil
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
