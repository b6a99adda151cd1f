package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCheckersSeeQueuesWithoutTouchingThem(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		for _, c := range []string{
			"a1 queue.declare q durable", "a1 queue.declare mine exclusive", `a1 publish "" q m%d x4`, "a1 basic.get q",
			"a1 basic.get q", "a1 basic.reject 1 requeue", "a1 basic.consume mine c",
		} {
			s.do(c)
		}
		s.settle()

		want := []QueueInfo{
			{Name: "mine", Exclusive: true, Consumers: 1},
			{Name: "q", Durable: true, Ready: 3, Unacked: 1, Bytes: 6},
		}
		if diff := cmp.Diff(want, s.broker.Queues()); diff != "" {
			t.Error(diff)
		}
		wantMessages := []Message{
			{RoutingKey: "q", Properties: []byte{0, 0}, Body: []byte("m1"), Redelivered: true, Position: 1},
			{RoutingKey: "q", Properties: []byte{0, 0}, Body: []byte("m3"), Position: 3},
			{RoutingKey: "q", Properties: []byte{0, 0}, Body: []byte("m4"), Position: 4},
		}
		if diff := cmp.Diff(wantMessages, s.broker.Snapshot("q")); diff != "" {
			t.Error(diff)
		}
		if got := s.broker.Snapshot("missing"); got != nil {
			t.Errorf("snapshot of a missing queue: %v", got)
		}
	})
}

func TestRemoveTakesOneMessageOut(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.do("a1 queue.declare q")
		s.do(`a1 publish "" q m%d x3`)
		s.settle()
		s.collect()

		removed, ok := s.broker.Remove("q", s.broker.Snapshot("q")[1].Position)
		if !ok || string(removed.Body) != "m2" {
			t.Errorf("removed %q, %v", removed.Body, ok)
		}
		if _, ok := s.broker.Remove("q", removed.Position); ok {
			t.Error("removed twice")
		}
		s.say("a1 basic.get q no-ack", `a1 get-ok 1 "" "q" left=1 "m1"`)
		s.say("a1 basic.get q no-ack", `a1 get-ok 2 "" "q" left=0 "m3"`)
	})
}

func TestConnectionsAreListedAndEnded(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.do("b open")
		want := []ConnectionInfo{{ID: 1, User: "guest", Channels: 1}, {ID: 2, User: "guest", Channels: 1}}
		if diff := cmp.Diff(want, s.broker.Connections(), cmpopts.IgnoreFields(ConnectionInfo{}, "Remote")); diff != "" {
			t.Error(diff)
		}

		s.broker.CloseConnection(1, "have a rest")
		s.hears(`a ` + forced + `have a rest" -`)
		s.broker.CutConnection(2)
		s.hears("b eof")
		if s.broker.CutConnection(2) || s.broker.CloseConnection(9, "") {
			t.Error("ended a connection that is not there")
		}
	})
}

func TestCountersCount(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		for _, c := range []string{
			"a1 queue.declare q", `a1 publish "" q body x3`, `a1 publish "" missing body mandatory`, `a1 publish "" missing body`,
			"a1 basic.get q", "a1 basic.get q", "a1 basic.get q no-ack", "a1 basic.ack 2 multiple",
		} {
			s.do(c)
		}
		s.settle()
		want := Counters{Published: 5, Delivered: 3, Settled: 2, Returned: 1, Unroutable: 1}
		if diff := cmp.Diff(want, s.broker.Counters()); diff != "" {
			t.Error(diff)
		}
	})
}
