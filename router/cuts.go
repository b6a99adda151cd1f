package router

import (
	"fmt"
	"time"

	"cloudqueue/federation"
)

// cuts counts connections that ended without a word of the broker, one after the other, with nothing answered between them and the same
// message the first unanswered. A broker, or a proxy before it, that dies over this message does that, and so does an outage: nothing is
// decided over it but to look closer (decisions.md, D54). run alone uses it.
type cuts struct {
	first federation.Offset // unanswered at the last one
	times int
}

// cutsBeforeSearch is how many in a row make a lane search (chosen: a restart cuts once, and what comes after it is answered).
const cutsBeforeSearch = 3

// another counts a connection that was cut, and tells whether that makes enough of them.
func (c *cuts) another(first federation.Offset) (enough bool) {
	if c.first != first {
		*c = cuts{first: first}
	}
	c.times++
	return c.times >= cutsBeforeSearch
}

// isCut tells whether the connection ended without a word of the broker.
func isCut(o federation.Outcome) bool { return o.Kind == federation.Unknown && o.Code == 0 }

// cutOff is called when every outcome of a channel is in whose connection was cut. After some cuts the lane searches as for a publish that
// closes the connection, and names the one that is cut off alone. It stays first: only what the broker says of it, or a person, ends it.
func (l *inLane) cutOff(failed []*item, text string) {
	alone := l.channel.aside && (len(failed) == 1 || l.search.most == 1)
	enough := l.cuts.another(failed[0].at)
	if !enough && !l.search.seeks() {
		return
	}
	l.search.cut()
	if enough && alone {
		l.search.stay(time.Now())
		l.retryLater(l.nameCut(failed[0], text))
	}
}

// nameCut says which message it is, and what helps.
func (l *inLane) nameCut(it *item, text string) (reason, fix string) {
	h := &it.arrival.batch.Header
	id := federation.BatchName{Lane: h.Lane, Generation: h.Generation, First: it.at}
	return fmt.Sprintf("the broker's connection is cut each time that message %s, of %d bytes, is published alone (%s)", id, it.entry.Message.Size(), text),
		"look into the log of this site's broker, and of a proxy before it, for why it ends connections, and mend that: the lane goes on by itself"
}
