package router

import (
	"slices"

	"cloudqueue/federation"
)

// Abandoned tells whether no destination waits for a batch that cannot be read any more: each is done with it, or it was
// voided for each, or it is of a generation that a reseal ended.
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

// MissingVoided tells whether the store lacks offsets that were voided as corrupt, and lacks none that a destination waits for. Without such
// a void nobody has said that the loss is known.
func (r *Router) MissingVoided() bool {
	r.mu.Lock()
	outs := values(r.out)
	r.mu.Unlock()
	voided := false
	for _, l := range outs {
		l.mu.Lock()
		lacks, has := l.lacksLocked(), l.missingVoidLocked()
		l.mu.Unlock()
		if lacks {
			return false
		}
		voided = voided || has
	}
	return voided
}

func (l *outLane) missingVoidLocked() bool {
	return slices.ContainsFunc(l.voids, func(v federation.Void) bool {
		_, missing := l.r.cfg.Spool.Missing(l.lane, l.mark.Generation, v.Span)
		return missing && v.Reason == federation.VoidCorrupt
	})
}

// lacksLocked tells whether a destination waits for an offset that the store does not have.
func (l *outLane) lacksLocked() bool {
	for _, s := range l.senders {
		for at := s.ledger.Done() + 1; at <= l.durable; {
			gap, missing := l.r.cfg.Spool.Missing(l.lane, l.mark.Generation, federation.Span{First: at, Last: l.durable})
			if !missing {
				break
			}
			last, voided := voidedFor(l.voids, s.dest, gap.First)
			if !voided {
				return true
			}
			at = last + 1
		}
	}
	return false
}
