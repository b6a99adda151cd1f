package federation

import "strings"

// Refusal is what one site tells another, for people, when it refuses something of it: why, and what is to be done there.
//
//	HELLO_ACK and LANE_STATE text:  Why [ "; " Mend ]
type Refusal struct {
	Why  string // one sentence; a "; " in it is written as ", "
	Mend string // what to do at the site that is refused; empty: its own verdict says it, or nothing there helps
}

const beforeMend = "; "

// Text gives the field of a frame. It may be longer than a frame takes.
func (r Refusal) Text() string {
	why := strings.ReplaceAll(r.Why, beforeMend, ", ")
	if r.Mend == "" {
		return why
	}
	return why + beforeMend + r.Mend
}

// ParseRefusal reads what Text gives. Every text is one.
func ParseRefusal(text string) Refusal {
	why, mend, _ := strings.Cut(text, beforeMend)
	return Refusal{why, mend}
}
