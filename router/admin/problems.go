package admin

import "time"

// Problem is a part that needs attention.
type Problem struct {
	Part string `json:"part"` // "link nyc", "lane ams/orders → nyc"
	Condition
}

// settlesIn is how long a part may start, or wait for another one, before that needs attention. Chosen: a start with a thousand lanes takes
// seconds, on a busy machine tens of them; and a person who looks waits no longer.
const settlesIn = time.Minute

// NeedsAttention tells whether a person should look at the part. What starts or waits counts after settlesIn; what waits and says what to do
// counts at once, since time alone does not help.
func (c Condition) NeedsAttention(now time.Time) bool {
	long := now.Sub(c.Since) >= settlesIn
	switch c.State {
	case Starting:
		return long
	case Waiting:
		return long || c.Fix != ""
	}
	return !c.State.Healthy()
}

// Problems lists every part that needs attention, the ones that hold others first and the parking last.
func (s *Status) Problems() []Problem {
	var problems []Problem
	add := func(part string, c Condition) {
		if c.NeedsAttention(s.At) {
			problems = append(problems, Problem{part, c})
		}
	}
	add("router", s.Router.Condition)
	add("store", s.Store.Condition)
	add("broker", s.Broker.Condition)
	for _, c := range s.Broker.Connections {
		add("broker connection "+c.Name, c.Condition)
	}
	for _, p := range s.Broker.Publishers {
		add("publisher "+p.LockQueue, p.Condition)
	}
	add("topology", s.Topology.Condition)
	add("listener", s.Listener.Condition)
	for _, l := range s.Links {
		add("link "+l.Peer, l.Condition)
	}
	s.addLaneProblems(add)
	add("parking", s.Parking.Condition)
	return problems
}

func (s *Status) addLaneProblems(add func(string, Condition)) {
	for _, l := range s.Out {
		add("lane "+l.Lane, l.Condition)
		for _, d := range l.Destinations {
			add("lane "+l.Lane+" → "+d.Destination, d.Condition)
		}
	}
	for _, l := range s.In {
		add("lane "+l.Lane+" → "+l.Destination, l.Condition)
	}
}
