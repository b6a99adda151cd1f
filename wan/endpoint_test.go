package wan

import (
	"errors"
	"testing"
	"time"
)

func TestAPauseIsChosenWhileThePeersAreReplaced(t *testing.T) {
	w := newWorld(t, 0)
	ams := w.site("ams", "10.0.0.1").start(Peer{Site: "nyc"})
	p := ams.endpoint.peer("nyc")
	p.mu.Lock() // as an attempt that failed holds it when it chooses its pause
	replaced, chosen := make(chan struct{}), make(chan struct{})
	go func() {
		ams.endpoint.SetPeers([]Peer{{Site: "nyc", Dial: true}})
		close(replaced)
	}()
	await(t, "SetPeers has begun", func() bool {
		if !ams.endpoint.mu.TryLock() {
			return true
		}
		ams.endpoint.mu.Unlock()
		return false
	})
	go func() {
		ams.endpoint.pause(1)
		close(chosen)
	}()

	select {
	case <-chosen:
	case <-time.After(30 * time.Second):
		t.Error("the pause waits for SetPeers, which waits for the peer whose pause it is")
	}
	p.mu.Unlock()
	<-replaced
}

func TestAnEndpointThatIsNotRunGivesItsSocketBack(t *testing.T) {
	w := newWorld(t, 0)
	s := w.site("ams", "")
	s.cfg.Listen = "127.0.0.1:0"
	e, err := New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.cfg.Listen = e.Addr().String()

	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}

	again, err := New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
