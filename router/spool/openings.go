package spool

import (
	"fmt"
	"slices"

	"cloudqueue/federation"
)

// Openings are the earlier openings of the store, oldest first, as its log remembers them (federation.OpeningsMark).
func (s *Spool) Openings() []federation.Opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark, _ := s.state.openings() // read when the store was opened
	return mark.Openings
}

func (s *state) openings() (federation.OpeningsMark, error) {
	m, ok := s.marks.values[federation.MarkKey{Kind: federation.MarkOpenings}]
	if !ok {
		return federation.OpeningsMark{}, nil
	}
	mark, err := federation.ParseOpeningsMark(m.value)
	if err != nil {
		return mark, fmt.Errorf("the mark of the store's openings: %w", err)
	}
	return mark, nil
}

// remember adds to the log's memory of openings those that its segments tell of: they ended where this one begins. It
// gives the mark to write with RECOVERED, or nothing when there was no opening yet. An epoch whose segments are all
// cleaned away is in the mark already: the opening that cleaned them wrote it.
func (s *Spool) remember(r *recovery, lsn federation.LSN) ([]encoded, error) {
	mark, err := s.state.openings()
	if err != nil {
		return nil, err
	}
	for _, epoch := range r.epochs() {
		mark.Add(federation.Opening{Epoch: epoch, Last: lsn - 1})
	}
	if len(mark.Openings) == 0 {
		return nil, nil
	}
	record, err := encodeRecord(MarkRecord{Key: federation.MarkKey{Kind: federation.MarkOpenings},
		Value: mark.Encode()})
	if err != nil {
		return nil, fmt.Errorf("the mark of the store's openings: %w", err)
	}
	return []encoded{record}, nil
}

// epochs are those of the segments found, ascending.
func (r *recovery) epochs() []federation.Epoch {
	var out []federation.Epoch
	for _, f := range r.found {
		if f.bad == "" {
			out = append(out, f.header.epoch)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
