package router

import (
	"context"
	"time"

	"cloudqueue/federation"
)

// collect waits for a first delivery and takes more until the batch is full, the lane has lingered, or nothing waits.
func (in *ingest) collect(ctx context.Context) ([]takenDelivery, error) {
	c := newCollection(in)
	select {
	case d := <-in.taken:
		c.add(d)
	case q := <-in.redrives:
		return nil, in.again(ctx, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	linger := in.seals.linger(time.Now())
	if linger <= 0 {
		c.addWaiting()
		return c.list, nil
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for !c.full() {
		// Any ready order gives the same result: a delivery that loses against the timer starts the next batch.
		select {
		case d := <-in.taken:
			c.add(d)
		case <-timer.C:
			c.addWaiting()
			return c.list, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return c.list, nil
}

// taken is a delivery with the time at which it came.
type takenDelivery struct {
	federation.Delivery
	at time.Time
}

type collection struct {
	in    *ingest
	list  []takenDelivery
	bytes int
}

func newCollection(in *ingest) *collection { return &collection{in: in} }

func (c *collection) full() bool {
	cfg := &c.in.lane.r.cfg
	return len(c.list) >= cfg.BatchEntries || c.bytes >= cfg.BatchBytes
}

func (c *collection) addWaiting() {
	for !c.full() {
		select {
		case d := <-c.in.taken:
			c.add(d)
		default:
			return
		}
	}
}

// add keeps the order of one incarnation. When a new one begins, what was collected of the old one is dropped: it is
// not stored, and the broker hands it out again, flagged.
func (c *collection) add(d federation.Delivery) {
	in := c.in
	if d.Tag.Incarnation < in.minIncarnation {
		return
	}
	if d.Tag.Incarnation != in.lastSeen {
		c.list, c.bytes = c.list[:0], 0
		in.lastSeen = d.Tag.Incarnation
	}
	c.list = append(c.list, takenDelivery{d, time.Now()})
	c.bytes += d.Message.Size()
}
