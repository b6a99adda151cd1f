package router

import (
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
)

func TestEveryValueThatCannotWorkIsRefusedAtOnce(t *testing.T) {
	_, err := New(Config{BatchEntries: federation.MaxEntries + 1, BatchBytes: -1, TailBytes: -1, WindowBytes: 5 << 30, PublishWindow: -1, MaxLanes: -1,
		StopGrace: -time.Second, UnwellPause: -time.Second})

	if err == nil {
		t.Fatal("it is taken")
	}
	for _, name := range []string{"Site", "BatchEntries", "BatchBytes", "TailBytes", "WindowBytes", "PublishWindow", "MaxLanes", "StopGrace", "UnwellPause", "spool"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("nothing is said of %s:\n%v", name, err)
		}
	}
}

func TestALaneThatIsNotToLingerDoesNot(t *testing.T) {
	cfg, _ := Config{Linger: -1}.withDefaults()
	s := &sealer{lane: &outLane{r: &Router{cfg: cfg}}}
	now := time.Now()
	for range 1000 {
		now = now.Add(time.Millisecond)
		s.rate.add(10, now)
	}

	if got := s.linger(now); got != 0 {
		t.Errorf("it lingers %s", got)
	}
}
