package embedded

import (
	"bufio"
	"net"
	"testing"
	"time"
)

// readDeliveries returns the bodies of the next n deliveries.
func readDeliveries(t *testing.T, conn net.Conn, n int) []string {
	t.Helper()
	in := frameReader{in: bufio.NewReader(conn), max: 1 << 20}
	var bodies []string
	for len(bodies) < n {
		start, err := in.head()
		if err != nil {
			t.Fatalf("after %d deliveries: %v", len(bodies), err)
		}
		payload := make([]byte, start.size)
		if err := in.payload(start, payload); err != nil {
			t.Fatal(err)
		}
		if start.kind == frameBody {
			bodies = append(bodies, string(payload[:min(5, len(payload))]))
		}
	}
	return bodies
}

func TestConsumerThatReadsLateGetsEverythingInOrder(t *testing.T) {
	onStage(t, Config{Limits: Limits{OutboxBytes: 10_000}}, func(s *stage) {
		s.do("a open")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		late := s.dial()
		go late.Write(conversationOf("basic.consume q c no-ack"))
		s.quiet()
		for i := range 200 {
			s.peers["a"].send(encodePublish(1, []string{`""`, "q", numbered(i)}))
		}
		s.quiet()
		if q, _ := s.broker.Queue("q"); q.Ready < 180 {
			t.Errorf("%d messages wait in the queue, the outbox holds the others", q.Ready)
		}

		time.Sleep(5 * time.Second) // less than the write timeout
		for i, body := range readDeliveries(t, late, 200) {
			if want := numbered(i)[:5]; body != want {
				t.Fatalf("delivery %d is %q, want %q", i, body, want)
			}
		}
		late.Close()
	})
}

// numbered is a body of a kilobyte that begins with five digits.
func numbered(i int) string {
	digits := []byte("00000")
	for at := 4; i > 0; at, i = at-1, i/10 {
		digits[at] = byte('0' + i%10)
	}
	return string(digits) + string(make([]byte, 1019))
}

func TestClientThatDoesNotReadIsNotRead(t *testing.T) {
	onStage(t, Config{Limits: Limits{OutboxBytes: 10_000}}, func(s *stage) {
		s.do("a open")
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		s.say(`a1 publish "" q zeros:4000 x100`)
		gets := make([]string, 100)
		for i := range gets {
			gets[i] = "basic.get q"
		}
		greedy := s.dial()
		go greedy.Write(conversationOf(gets...))
		s.quiet()
		if q, _ := s.broker.Queue("q"); q.Unacked > 5 {
			t.Errorf("%d messages taken by a client that does not read", q.Unacked)
		}
		if got := len(readDeliveries(t, greedy, 100)); got != 100 {
			t.Errorf("%d messages", got)
		}
		greedy.Close()
	})
}
