package router

import "time"

// holder is who keeps a lane from taking messages of its broker.
type holder uint8

// Holders; where several hold, the first is shown.
const (
	byTopology holder = iota // what the topology says of the lane cannot be done
	bySettle                 // the store does not answer
	bySeal                   // what was taken is refused
	holders
)

// hold is why nothing is taken; its zero value holds nothing.
type hold struct {
	reason, fix string
	since       time.Time
}

type holds [holders]hold

// first is the one that is shown.
func (h *holds) first() hold {
	for _, one := range h {
		if one.reason != "" {
			return one
		}
	}
	return hold{}
}

// hold notes why the holder keeps the lane from taking; an empty reason ends that, for this holder alone.
func (l *outLane) hold(by holder, reason, fix string) {
	l.mu.Lock()
	changed := l.holds[by].reason != reason
	if changed {
		l.holds[by] = hold{reason, fix, time.Now()}
	}
	left := l.holds.first()
	l.mu.Unlock()
	switch {
	case !changed:
	case reason != "":
		l.r.log.Warn("lane held", "lane", l.lane.String(), "reason", reason, "fix", fix)
	case left.reason == "":
		l.r.log.Info("lane resumed", "lane", l.lane.String())
	}
}

// holdNothing begins again: whoever held the lane is gone.
func (l *outLane) holdNothing() {
	for by := range holders {
		l.hold(by, "", "")
	}
}
