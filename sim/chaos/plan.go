package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is what is done to which part.
type Kind string

// Kinds of strikes. A killed part is started again on its data; a paused one is resumed.
const (
	KillAMS    Kind = "kill router ams"
	KillNYC    Kind = "kill router nyc"
	KillSIN    Kind = "kill router sin"
	KillSource Kind = "kill rabbitmq 1"
	KillTarget Kind = "kill rabbitmq 2"
	KillEtcd   Kind = "kill etcd"
	PauseAMS   Kind = "pause router ams"
	PauseNYC   Kind = "pause router nyc"
)

// Kinds lists all of them.
var Kinds = []Kind{KillAMS, KillNYC, KillSIN, KillSource, KillTarget, KillEtcd, PauseAMS, PauseNYC}

// pauses says whether the part is paused instead of killed.
func (k Kind) pauses() bool { return k == PauseAMS || k == PauseNYC }

// Strike is one event of a plan.
type Strike struct {
	Kind    Kind
	After   time.Duration // since the strike before it was over, or had begun if that one overlaps
	Down    time.Duration // how long the part is dead or paused
	Overlap bool          // the next strike does not wait until this part is back
}

func (s Strike) String() string {
	overlap := ""
	if s.Overlap {
		overlap = ", overlaps the next"
	}
	return fmt.Sprintf("%s after %v for %v%s", s.Kind, s.After, s.Down, overlap)
}

// MakePlan draws strikes: the same ones for the same seed. Each kind comes strikes/len(Kinds) times or once more.
//
// A third of them overlap the next: a part that comes back meets another one that is away. Dead times reach from "at
// once" to 2 s (chosen: longer ones only make the backlog larger), pauses to 8 s, which is beyond the links' and the brokers'
// patience with some part that is silent.
func MakePlan(seed uint64, strikes int) []Strike {
	random := rand.New(rand.NewPCG(seed, 0))
	plan := make([]Strike, strikes)
	for i, order := range random.Perm(strikes) {
		s := Strike{Kind: Kinds[order%len(Kinds)], Overlap: random.IntN(3) == 0}
		s.After = upTo(random, 2500*time.Millisecond)
		s.Down = upTo(random, 2*time.Second)
		if s.Kind.pauses() {
			s.Down = time.Second + upTo(random, 7*time.Second)
		}
		plan[i] = s
	}
	return plan
}

// upTo draws whole milliseconds, so that a printed plan is the whole plan.
func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(most.Milliseconds()+1)) * time.Millisecond
}
