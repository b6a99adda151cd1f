package router

import (
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// commitQueue orders what a lane that ends here makes durable: one commit at a time, the PARKs of what is to be parked before the journal
// whose done counts them (4.2), the journal no more often than every journalPause. When PARKs are refused the journal goes on. run alone
// uses it.
type commitQueue struct {
	current *journalCommit
	parks   []*item   // to be parked with the next commits
	parkAt  time.Time // not before: they were refused
	lost    bool      // the next journal is committed with the word that an earlier store is lost
	dirtyAt time.Time // since when the journal has something to commit; zero: nothing
}

// journalCommit is a commit on its way: PARKs, or the journal.
type journalCommit struct {
	ticket *spool.Ticket
	parks  []*item
	mark   federation.Journal
}

const (
	// journalPause gathers what ended into one commit: 10 ms delay verdicts, receipts and window by no more than a round trip
	// inside a city, and save most of the syncs at a few hundred messages a second.
	journalPause = 10 * time.Millisecond
	// parkBytes is how much one commit parks, unless one message is larger (chosen: well below what a group of the spool takes).
	parkBytes = 16 << 20
)

// idle tells whether nothing is on its way, and nothing waits to be parked.
func (q *commitQueue) idle() bool { return q.current == nil && len(q.parks) == 0 }

func (q *commitQueue) park(it *item) { q.parks = append(q.parks, it) }

// changed notes that the journal has something to commit.
func (q *commitQueue) changed(now time.Time) {
	if q.dirtyAt.IsZero() {
		q.dirtyAt = now
	}
}

// unchanged notes that the journal has nothing to commit.
func (q *commitQueue) unchanged() { q.dirtyAt = time.Time{} }

// nextParks is what to park in the next commit; none while one is on its way, or after a refusal.
func (q *commitQueue) nextParks(now time.Time) []*item {
	if q.current != nil || now.Before(q.parkAt) {
		return nil
	}
	n, bytes := 0, 0
	for n < len(q.parks) && (n == 0 || bytes+q.parks[n].entry.Message.Size() <= parkBytes) {
		bytes += q.parks[n].entry.Message.Size()
		n++
	}
	return q.parks[:n:n]
}

// parksRefused has the same ones tried again later.
func (q *commitQueue) parksRefused(now time.Time) { q.parkAt = now.Add(maxPause) }

// journalDue tells whether a journal with something to commit has waited long enough.
func (q *commitQueue) journalDue(now time.Time) bool {
	return !q.dirtyAt.IsZero() && now.Sub(q.dirtyAt) >= journalPause
}

// begin notes a commit that was submitted.
func (q *commitQueue) begin(c *journalCommit) {
	q.current = c
	if c.parks == nil {
		q.dirtyAt, q.lost = time.Time{}, false
	}
	q.parks = q.parks[len(c.parks):]
}

// end gives the commit that is over, well or not.
func (q *commitQueue) end() *journalCommit {
	c := q.current
	q.current = nil
	return c
}

// done is closed when the commit on its way is over; nil without one.
func (q *commitQueue) done() <-chan struct{} {
	if q.current == nil {
		return nil
	}
	return q.current.ticket.Done()
}

// wait is how long nothing will be due, at most a second.
func (q *commitQueue) wait(now time.Time) time.Duration {
	if q.dirtyAt.IsZero() || q.current != nil {
		return time.Second
	}
	return min(time.Second, q.dirtyAt.Add(journalPause).Sub(now))
}
