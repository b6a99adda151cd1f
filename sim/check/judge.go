package check

import "fmt"

// Verdict is what Judge found for one lane at one queue.
type Verdict struct {
	Lane, Queue string

	Published int // publishes, of any outcome
	Confirmed int
	Returned  int // by the broker, as unroutable
	Delivered int // appearances of the lane's messages
	Distinct  int // messages that appeared at least once
	Flagged   int
	Accounted int // confirmed, did not appear, with a reason

	FalseFlags Offences // flagged first appearances
	Late       Offences // flagged first appearances below another one: allowed to what was refused or found expired (G2)

	Lost       Offences
	Inversions Offences
	Duplicates Offences // unflagged ones
	Altered    Offences
	Alien      Offences
}

// namesKept bounds the names that a report prints; the count goes on.
const namesKept = 10

// Offences counts what is wrong and names the first ten.
type Offences struct {
	Count int
	Names []string
}

func (o *Offences) add(format string, args ...any) {
	o.Count++
	if len(o.Names) < namesKept {
		o.Names = append(o.Names, fmt.Sprintf(format, args...))
	}
}

// Judge reads a lane's history at a queue.
func Judge(h History) Verdict {
	j := judge{history: h, seen: make([]bool, len(h.Published)+1), identities: map[ID]uint64{}}
	j.verdict = Verdict{Lane: h.Lane, Queue: h.Queue, Published: len(h.Published)}
	for _, a := range h.Appeared {
		j.appear(a)
	}
	j.account()
	return j.verdict
}

// judge walks a queue from its oldest message.
type judge struct {
	history    History
	verdict    Verdict
	seen       []bool        // by index: it appeared
	identities map[ID]uint64 // the index that appeared under an identity first
	highIndex  uint64        // of the appearances so far
	highID     ID            // of the appearances so far
}

func (j *judge) appear(a Appearance) {
	if !j.published(a) {
		j.verdict.Alien.add("index %d of lane %q (%s)", a.Index, a.Lane, a.ID)
		return
	}
	if j.history.Consumed && a.Redelivered && j.seen[a.Index] {
		return
	}
	j.verdict.Delivered++
	if !a.Intact {
		j.verdict.Altered.add("index %d (%s)", a.Index, a.ID)
	}
	j.identify(a)
	if a.Flagged {
		j.flagged(a)
	} else {
		j.unflagged(a)
	}
	if !j.seen[a.Index] {
		j.seen[a.Index] = true
		j.verdict.Distinct++
	}
	j.highIndex = max(j.highIndex, a.Index)
	if a.ID.after(j.highID) {
		j.highID = a.ID
	}
}

// identify sees to it that an identity stands for one message: a consumer that drops repeats by x-cq-id would lose another.
func (j *judge) identify(a Appearance) {
	if a.ID == (ID{}) {
		if j.history.Routed {
			j.verdict.Altered.add("index %d (%s)", a.Index, a.ID)
		}
		return
	}
	if first, ok := j.identities[a.ID]; ok && first != a.Index {
		j.verdict.Altered.add("index %d under the identity of index %d (%s)", a.Index, first, a.ID)
		return
	}
	j.identities[a.ID] = a.Index
}

// published says whether the lane's publisher sent it and the broker took it, or may have.
func (j *judge) published(a Appearance) bool {
	if a.Lane != j.history.Lane || a.Index == 0 || a.Index > uint64(len(j.history.Published)) {
		return false
	}
	if a.ID != (ID{}) && a.ID.Lane != j.history.Lane {
		return false
	}
	return j.history.Published[a.Index-1].Outcome != Returned
}

func (j *judge) flagged(a Appearance) {
	j.verdict.Flagged++
	if j.seen[a.Index] {
		return
	}
	j.verdict.FalseFlags.add("index %d (%s)", a.Index, a.ID)
	if a.Index < j.highIndex {
		j.verdict.Late.add("index %d (%s) after index %d", a.Index, a.ID, j.highIndex)
	}
}

func (j *judge) unflagged(a Appearance) {
	switch {
	case j.seen[a.Index]:
		j.verdict.Duplicates.add("index %d (%s)", a.Index, a.ID)
	case a.Index < j.highIndex:
		j.verdict.Inversions.add("index %d (%s) after index %d", a.Index, a.ID, j.highIndex)
	case a.ID != (ID{}) && !a.ID.after(j.highID):
		j.verdict.Inversions.add("%s after %s (index %d)", a.ID, j.highID, a.Index)
	}
}

// account looks for what was confirmed and did not appear, and for what appeared although it was accounted for.
func (j *judge) account() {
	for i, p := range j.history.Published {
		index := uint64(i + 1)
		reason, accounted := j.history.Accounted[index]
		if accounted && j.seen[index] {
			j.verdict.Alien.add("index %d, which is accounted for: %s", index, reason)
		}
		switch {
		case p.Outcome == Returned:
			j.verdict.Returned++
		case p.Outcome == Confirmed:
			j.verdict.Confirmed++
			if j.seen[index] {
				continue
			}
			if accounted {
				j.verdict.Accounted++
			} else {
				j.verdict.Lost.add("index %d", index)
			}
		}
	}
}
