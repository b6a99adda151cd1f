package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// kills and pauses are the kinds of either sort, Kinds all of them.
var (
	kills  = []Kind{KillAMS, KillNYC, KillSIN, KillSource, KillTarget, KillEtcd}
	pauses = []Kind{PauseAMS, PauseNYC}
	Kinds  = slices.Concat(kills, pauses)
)

// pauses says whether the part is paused instead of killed.
func (k Kind) pauses() bool { return slices.Contains(pauses, k) }

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

// MakePlan draws strikes: the same ones for the same seed. It has as many kills as wanted, each kind of them equally often or once
// more, and besides them, for every ten kills, a pause of each kind that pauses, at least one.
//
// A third of them overlap the next: a part that comes back meets another one that is away. Dead times reach from "at
// once" to 2 s (chosen: longer ones only make the backlog larger), pauses to 8 s, which is beyond the links' and the brokers'
// patience with some part that is silent.
func MakePlan(seed uint64, wantKills int) []Strike {
	random := rand.New(rand.NewPCG(seed, 0))
	wantPauses := len(pauses) * max(1, wantKills/10)
	plan := make([]Strike, wantKills+wantPauses)
	for i, order := range random.Perm(len(plan)) {
		s := Strike{Kind: kindOf(order, wantKills), Overlap: random.IntN(3) == 0}
		s.After = upTo(random, 2500*time.Millisecond)
		s.Down = upTo(random, 2*time.Second)
		if s.Kind.pauses() {
			s.Down = time.Second + upTo(random, 7*time.Second)
		}
		plan[i] = s
	}
	return plan
}

// kindOf numbers strikes: the kills come first, then the pauses.
func kindOf(order, wantKills int) Kind {
	if order < wantKills {
		return kills[order%len(kills)]
	}
	return pauses[(order-wantKills)%len(pauses)]
}

// upTo draws whole milliseconds, so that a printed plan is the whole plan.
func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(most.Milliseconds()+1)) * time.Millisecond
}
