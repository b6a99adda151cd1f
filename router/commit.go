package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// startCommit makes durable what has to be: parked messages first, then the journal, when done moved or more must be
// reserved before anything can be published. Its error is the context's, or that the spool takes nothing more.
func (l *inLane) startCommit(ctx context.Context) error {
	if err := l.commitParks(ctx); err != nil || l.commits.current != nil {
		return err
	}
	mark, due := l.dueMark()
	if !due {
		return nil
	}
	key := federation.MarkKey{Kind: federation.MarkJournal, Lane: l.key.lane, Generation: l.gen, Dest: l.key.dest}
	records := []spool.Record{spool.MarkRecord{Key: key, Value: mark.Encode()}}
	if l.commits.lost {
		records = append(records, l.loss.audit(l.key))
	}
	ticket, err := l.r.cfg.Spool.Submit(ctx, records...)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	l.commits.begin(&journalCommit{ticket: ticket, mark: mark})
	return nil
}

// commitParks begins to park what waits for that. While it is refused, as by a full parking, the lane waits and the journal goes on.
func (l *inLane) commitParks(ctx context.Context) error {
	parks := l.commits.nextParks(time.Now())
	if len(parks) == 0 {
		return nil
	}
	var records []spool.Record
	for _, it := range parks {
		records = append(records, l.parkRecord(it))
	}
	ticket, err := l.r.cfg.Spool.Submit(ctx, records...)
	if err != nil && !isOver(ctx, err) {
		l.commits.parksRefused(time.Now())
		l.parksHeld(err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("parking: %w", err)
	}
	l.parksTaken()
	l.commits.begin(&journalCommit{ticket: ticket, parks: parks})
	return nil
}

// isOver tells whether the spool, or who asked, takes part in nothing any more; any other refusal is of just these records.
func isOver(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, spool.ErrClosed) || errors.Is(err, spool.ErrFenced)
}

// parkRecord keeps the message with what its redrive needs: where it was, since when it is on its way, and what was left of its lifetime.
func (l *inLane) parkRecord(it *item) spool.Record {
	now, e, h := time.Now(), *it.entry, &it.arrival.batch.Header
	e.TTL = remaining(it.arrival, it.entry)
	if path := it.arrival.side.Path; len(e.Path)+len(path) <= federation.MaxPath {
		e.Path = append(slices.Clone(e.Path), path...)
	}
	return spool.ParkRecord{Lane: l.key.lane, Generation: l.gen, Offset: it.at, Destination: l.key.dest, Reason: it.reason, Errors: it.lastError,
		Attempts: it.attempts, First: it.firstTry, Last: now, Taken: h.SealedAt.Add(-e.Age), Entry: e}
}

// dueMark is the journal to commit now, if there is one.
func (l *inLane) dueMark() (federation.Journal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.journal.Known() {
		return federation.Journal{}, false
	}
	l.journal.SetOriginStore(l.originStore)
	reserve := l.reserveLocked()
	if !l.journal.Changed() { // what ended is above one that waits to be parked: looking again at once would find the same
		l.commits.unchanged()
		return federation.Journal{}, false
	}
	now := time.Now()
	l.commits.changed(now)
	return l.journal.Mark(), reserve || l.isStopping() || l.commits.journalDue(now)
}

// reserveLocked looks for what is received only on a slow lane: nothing else depends on it.
func (l *inLane) reserveLocked() bool {
	rate := l.perSecond()
	if rate > federation.SlowLane {
		return l.journal.Reserve(0, rate)
	}
	return l.journal.Reserve(l.receivedLocked(), rate)
}

// receivedLocked is the last offset up to which everything is here, as far as a slow lane reserves.
func (l *inLane) receivedLocked() federation.Offset {
	next := l.journal.Next()
	return l.window.Contiguous(next, next+federation.SlowAhead)
}

func (l *inLane) perSecond() float64 {
	if time.Since(l.rate.last) > time.Second {
		return 0
	}
	return l.rate.perSecond
}

// committed takes the result of a commit: parked offsets end, or a journal is durable and everything up to its done is
// answered and receipted (4.2). Its error is the context's, or that the spool is over.
func (l *inLane) committed(ctx context.Context) error {
	c := l.commits.end()
	if err := c.ticket.Wait(ctx); err != nil {
		return fmt.Errorf("journal, or parking: %w", err)
	}
	for _, it := range c.parks {
		l.end(it, federation.EndParked)
	}
	if c.parks != nil {
		return nil
	}
	for _, c := range l.takeDurable(c.mark) {
		c.say(federation.OK, 0)
	}
	l.tell()
	return nil
}

// takeDurable notes a durable journal and gives the copies that it answers.
func (l *inLane) takeDurable(m federation.Journal) (answered []unanswered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.Committed(m)
	waiting := l.toAnswer[:0]
	for _, c := range l.toAnswer {
		if c.last <= m.Done {
			answered = append(answered, c)
		} else {
			waiting = append(waiting, c)
		}
	}
	clear(l.toAnswer[len(waiting):])
	l.toAnswer = waiting
	return answered
}
