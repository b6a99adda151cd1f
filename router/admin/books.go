package admin

import (
	"fmt"
	"time"

	"cloudqueue/federation"
)

// Side tells whose books a line is of.
type Side string

// The sides of a lane.
const (
	Origin Side = "origin"
	Target Side = "destination"
)

// Books is the balance of a site (G14), from durable state alone.
type Books struct {
	At         time.Time      `json:"at"`
	Site       string         `json:"site"` // whose store it is, as the store says itself
	Federation string         `json:"federation"`
	Store      string         `json:"store"`
	LSN        federation.LSN `json:"lsn"`
	Offline    bool           `json:"offline"` // read from the store without a router
	Lines      []BookLine     `json:"lines"`
}

// Balanced tells whether every line balances.
func (b *Books) Balanced() bool {
	for _, line := range b.Lines {
		if !line.Balanced {
			return false
		}
	}
	return true
}

// BookLine is the balance of one lane, generation and destination, on one side of it.
type BookLine struct {
	Side        Side                  `json:"side"`
	Lane        string                `json:"lane"`
	Generation  federation.Generation `json:"generation"`
	Destination string                `json:"destination"`
	Join        federation.Offset     `json:"join"`
	Done        federation.Offset     `json:"done"` // at the origin: receipted
	Counters
	LastAssigned federation.Offset `json:"last_assigned,omitempty"` // origin only; for a destination that left: its leave
	Stored       uint64            `json:"stored"`                  // origin only: offsets above Done that the spool holds for this destination
	StoredVoided uint64            `json:"stored_voided,omitempty"` // origin only: offsets above Done that were voided and are not held
	ParkedHere   uint64            `json:"parked_here,omitempty"`   // destination only: messages in the parking at this moment (redriven and dropped ones are gone)
	Misplaced    bool              `json:"misplaced,omitempty"`     // this side of the lane is another site's: it has no place in this store
	Balanced     bool              `json:"balanced"`
	Problem      string            `json:"problem,omitempty"` // what does not add up, with the numbers
}

// Balance checks the line's numbers and fills Balanced and Problem:
//
//	done - join + 1           = delivered + parked + expired + excluded + voided
//	last assigned - receipted = stored (+ what was voided above it)          at the origin
//
// A line that nothing has reached yet (Done is below Join) balances when it counts nothing. One that has no place in the
// store never balances: nobody would deliver what it stores.
func (l *BookLine) Balance() {
	l.Problem = l.problem()
	l.Balanced = l.Problem == ""
}

func (l *BookLine) problem() string {
	if l.Misplaced {
		return "this " + string(l.Side) + " is another site: the line has no place in this store"
	}
	if l.Done+1 < l.Join {
		return fmt.Sprintf("done %d is below join %d - 1", l.Done, l.Join)
	}
	if ended := uint64(l.Done + 1 - l.Join); ended != l.sum() {
		return fmt.Sprintf("done %d - join %d + 1 = %d, but %d are counted", l.Done, l.Join, ended, l.sum())
	}
	if l.Side != Origin {
		return ""
	}
	if l.LastAssigned < l.Done {
		return fmt.Sprintf("receipted %d is over last assigned %d", l.Done, l.LastAssigned)
	}
	if outstanding := uint64(l.LastAssigned - l.Done); outstanding != l.Stored+l.StoredVoided {
		return fmt.Sprintf("last assigned %d - receipted %d = %d, but %d are stored and %d voided", l.LastAssigned, l.Done, outstanding, l.Stored, l.StoredVoided)
	}
	return ""
}
