package router

import "cloudqueue/federation"

// Abandoned tells whether no destination waits for a batch that cannot be read any more: each is done with it, or it was
// voided for each, or it is of a generation that a reseal ended. False when it is not known what it was.
func (r *Router) Abandoned(batch federation.BatchName) bool {
	r.mu.Lock()
	l := r.out[batch.Lane]
	r.mu.Unlock()
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if batch.Generation != l.mark.Generation {
		return batch.Generation < l.mark.Generation
	}
	for _, s := range l.senders {
		if _, voided := voidedFor(l.voids, s.dest, batch.First); !voided && s.ledger.Done() < batch.First {
			return false
		}
	}
	return true
}
