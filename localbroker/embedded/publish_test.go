package embedded

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A publisher that believes an ack before it has seen the return counts a lost message as delivered.
func TestReturnComesBeforeItsAck(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.say("a1 confirm.select", "a1 confirm.select-ok")
		s.do(`a1 publish "" missing body mandatory x200`)
		s.settle()
		returned, acked := 0, uint64(0)
		for _, e := range s.peers["a"].events {
			if strings.HasPrefix(e.text, "return") {
				returned++
			}
			acked = max(acked, e.ack)
			if acked > uint64(returned) {
				t.Fatalf("ack of %d after %d returns", acked, returned)
			}
		}
		if returned != 200 || acked != 200 {
			t.Errorf("%d returned, %d acked", returned, acked)
		}
	})
}

func TestAStreamOfPublishesCostsFewAcks(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.say("a1 confirm.select", "a1 confirm.select-ok")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		stream := []byte(nil)
		for range 200 {
			stream = append(stream, encodePublish(1, []string{`""`, "q", "body"})...)
		}
		s.peers["a"].send(stream)
		s.settle()
		want := []event{{channel: 1, ack: 64, multi: true}, {channel: 1, ack: 128, multi: true}, {channel: 1, ack: 192, multi: true}, {channel: 1, ack: 200, multi: true}}
		if diff := cmp.Diff(want, s.peers["a"].events, cmp.AllowUnexported(event{})); diff != "" {
			t.Error(diff)
		}
	})
}

// RabbitMQ drops the acks that wait when a channel ends by an exception: the publisher must not conclude anything.
func TestChannelExceptionLeavesEarlierPublishesUnknown(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		s.say("a1 confirm.select", "a1 confirm.select-ok")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		stream := encodePublish(1, []string{`""`, "q", "body"})
		stream = append(stream, encodePublish(1, []string{"missing", "q", "body"})...)
		s.peers["a"].send(stream)
		s.hears(`a1 channel.close 404 "NOT_FOUND - no exchange 'missing' in vhost '/'" basic.publish`)
		if q, _ := s.broker.Queue("q"); q.Ready != 1 {
			t.Errorf("%d in the queue", q.Ready)
		}
	})
}
