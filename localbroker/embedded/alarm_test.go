package embedded

import (
	"context"
	"testing"
	"time"
)

func TestAlarmHoldsPublishersAndLetsConsumersGoOn(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.do("b open")
		s.say("a1 confirm.select", "a1 confirm.select-ok")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		s.say(`a1 publish "" q before`, "a1 confirmed 1:ack")

		s.broker.SetAlarm(true)
		s.hears() // a client that does not publish does not hear of it
		s.say(`a1 publish "" q during x3`, "a connection.blocked")
		s.say("a1 queue.declare q") // not read any more
		s.say("b1 basic.consume q c", "b1 basic.consume-ok c", `b1 deliver c 1 "" "q" "before"`)
		s.say("b1 basic.ack 1")
		s.wantBlocked(true, false)

		s.broker.SetAlarm(false)
		s.hears("a connection.unblocked", "a1 queue.declare-ok q messages=0 consumers=1", "a1 confirmed 2:ack 3:ack 4:ack",
			`b1 deliver c 2 "" "q" "during"`, `b1 deliver c 3 "" "q" "during"`, `b1 deliver c 4 "" "q" "during"`)
		s.wantBlocked(false, false)
	})
}

func (s *stage) wantBlocked(want ...bool) {
	s.t.Helper()
	for i, c := range s.broker.Connections() {
		if c.Blocked != want[i] {
			s.t.Errorf("connection %d is blocked: %v, want %v", c.ID, c.Blocked, want[i])
		}
	}
}

func TestAlarmIsNotToldToClientsThatDoNotKnowIt(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open capabilities={}")
		s.say("a1 confirm.select", "a1 confirm.select-ok")
		s.broker.SetAlarm(true)
		s.say(`a1 publish "" q body`)
		s.broker.SetAlarm(false)
		s.hears("a1 confirmed 1:ack")
	})
}

func TestMemoryAlarmFollowsWhatIsHeld(t *testing.T) {
	onStage(t, Config{Limits: Limits{MemoryBytes: 10_000}}, func(s *stage) {
		s.do("a open")
		s.do("b open")
		s.say("a1 confirm.select", "a1 confirm.select-ok")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")

		s.say(`a1 publish "" q zeros:8000`, "a1 confirmed 1:ack")
		s.say(`a1 publish "" q zeros:8000`, "a1 confirmed 2:ack") // over the limit with this one
		s.say(`a1 publish "" q zeros:8000`, "a connection.blocked")

		s.say("b1 basic.get q no-ack", "a connection.unblocked", "a1 confirmed 3:ack",
			`b1 get-ok 1 "" "q" left=1 "00000000000000000000"… (8000 bytes)`)
	})
}

func TestCloseDoesNotWaitForTheAlarm(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.broker.SetAlarm(true)
		s.say(`a1 publish "" q body`, "a connection.blocked")

		start := time.Now()
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
		defer cancel()
		if err := s.broker.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("close took %v", took)
		}
		s.hears(`a connection.close 320 "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'" -`)
	})
}
