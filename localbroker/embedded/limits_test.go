package embedded

import (
	"fmt"
	"strings"
	"testing"
)

// What a client can make the broker hold ends somewhere, and the client hears where.
func TestLimits(t *testing.T) {
	refused := func(text, method string) string {
		return fmt.Sprintf("a1 channel.close 406 %q %s", "PRECONDITION_FAILED - "+text, method)
	}
	for _, c := range []struct {
		name    string
		limits  Limits
		given   []string
		command string
		want    string
	}{
		{"message", Limits{MessageBytes: 10}, nil, `a1 publish "" q 12345678901`,
			refused("message size 11 is larger than configured max size 10", "basic.publish")},
		{"queues", Limits{Queues: 1}, []string{"a1 queue.declare one"}, "a1 queue.declare two",
			refused("cannot declare queue 'two': queue limit in vhost '/' (1) is reached", "queue.declare")},
		{"exchanges", Limits{Exchanges: 8}, []string{"a1 exchange.declare one direct"}, "a1 exchange.declare two direct",
			refused("cannot declare exchange 'two': exchange limit in vhost '/' (8) is reached", "exchange.declare")},
		{"bindings", Limits{Bindings: 1}, []string{"a1 exchange.bind amq.topic amq.fanout one"}, "a1 exchange.bind amq.topic amq.fanout two",
			refused("binding limit in vhost '/' (1) is reached", "exchange.bind")},
		{"consumers", Limits{Consumers: 1}, []string{"a1 queue.declare q", "a1 basic.consume q one"}, "a1 basic.consume q two",
			refused("consumer limit of 1 per channel is reached", "basic.consume")},
		{"transaction", Limits{MemoryBytes: 4000}, []string{"a1 tx.select", `a1 publish "" q zeros:500`}, `a1 publish "" q zeros:500`,
			refused("transaction of more than 1000 bytes", "basic.publish")},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStage(t, Config{Limits: c.limits}, func(s *stage) {
				s.do("a open")
				for _, command := range c.given {
					s.do(command)
					s.settle()
					s.collect()
				}
				s.say(c.command, c.want)
			})
		})
	}
}

func TestDeepHeadersPassAsTheyAre(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		raw := appendLongString([]byte{0x20, 0}, deepTable(maxTableDepth))
		s.say(fmt.Sprintf(`a1 publish "" q body raw-properties=%x`, raw))
		if got := s.broker.Snapshot("q")[0].Properties; string(got) != string(raw) {
			t.Errorf("properties %x, want %x", got, raw)
		}
		raw = appendLongString([]byte{0x20, 0}, deepTable(maxTableDepth+1))
		s.say(fmt.Sprintf(`a1 publish "" q body raw-properties=%x`, raw),
			`a connection.close 541 "INTERNAL_ERROR - the property list cannot be decoded" -`)
	})
}

func TestImpersonatorPublishesForOthers(t *testing.T) {
	users := map[string]User{"router": {Password: "secret", Impersonator: true}}
	onStage(t, Config{Users: users}, func(s *stage) {
		s.do("a open user=router password=secret")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		s.say(`a1 publish "" q body user-id="somebody"`)
		s.say("a1 basic.get q no-ack", `a1 get-ok 1 "" "q" left=0 user-id="somebody" "body"`)
	})
}

func TestUnfinishedMessagesAreLimited(t *testing.T) {
	onStage(t, Config{Limits: Limits{MessageBytes: 100}}, func(s *stage) {
		s.do("a open")
		for _, channel := range []string{"a1", "a2", "a3"} {
			if channel != "a1" {
				s.say(channel+" channel.open", channel+" channel.open-ok")
			}
			s.do(channel + " method 003c0028000000017100")
			s.do(channel + " frame 2 003c000000000000000000640000")
			s.do(channel + " frame 3 " + strings.Repeat("61", 80))
		}
		s.hears(`a connection.close 506 "RESOURCE_ERROR - more than 200 bytes of unfinished messages on one connection" basic.publish`)
	})
}
