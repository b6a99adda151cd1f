package embedded

import "testing"

func TestPublishersMeetTheirFate(t *testing.T) {
	for _, c := range []struct {
		name   string
		fate   Fate
		want   []string // after three messages of which the second has the fate
		stored int
	}{
		{"normal", FateNormal, []string{"a1 confirmed 1:ack 2:ack 3:ack"}, 3},
		{"refused", FateRefused, []string{"a1 confirmed 1:ack 2:nack 3:ack"}, 2},
		{"lost", FateLost, []string{"a eof"}, 1},
		{"stored, then cut", FateStoredThenCut, []string{"a eof"}, 2},
		{"stored silently", FateStoredSilently, []string{"a1 confirmed 1:ack 3:ack"}, 3},
		{"closes", FateCloses, []string{`a connection.close 541 "INTERNAL_ERROR - the message's fate" -`}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			fate := func(a Arrival) Fate {
				if string(a.Body) == "m2" {
					return c.fate
				}
				return FateNormal
			}
			onStage(t, Config{Fate: fate}, func(s *stage) {
				s.do("a open")
				s.say("a1 confirm.select", "a1 confirm.select-ok")
				s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
				stream := []byte(nil)
				for _, body := range []string{"m1", "m2", "m3"} {
					stream = append(stream, encodePublish(1, []string{`""`, "q", body})...)
				}
				s.peers["a"].send(stream)
				s.hears(c.want...)
				if q, _ := s.broker.Queue("q"); q.Ready != c.stored {
					t.Errorf("%d stored, want %d", q.Ready, c.stored)
				}
			})
		})
	}
}
