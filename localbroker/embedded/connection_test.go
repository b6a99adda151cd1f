package embedded

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

const forced = `connection.close 320 "CONNECTION_FORCED - `

func TestSilentClientIsDroppedAfterTwoHeartbeats(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open heartbeat=10")
		start := time.Now()
		time.Sleep(20*time.Second - time.Millisecond)
		s.hears()
		time.Sleep(time.Millisecond)
		s.hears("a eof")
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("dropped after %v", took)
		}
	})
}

func TestHeartbeatsKeepBothSidesUp(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open heartbeat=10")
		for range 10 {
			time.Sleep(15 * time.Second)
			s.say(`a frame 8 ""`)
		}
		if got := s.peers["a"].heartbeats; got != 30 {
			t.Errorf("%d heartbeats in 150 s, want one each 5 s", got)
		}
	})
}

func TestHandshakeHasATime(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		client := s.dial()
		start := time.Now()
		if n, err := io.Copy(io.Discard, client); n != 0 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("dropped after %v", took)
		}
	})
}

func TestAnotherProtocolIsAnsweredWithOurHeader(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		client := s.dial()
		client.Write([]byte("GET / HT"))
		answer, err := io.ReadAll(client)
		if string(answer) != string(protocolHeader) || err != nil {
			t.Errorf("answer %q, %v", answer, err)
		}
	})
}

func TestConnectionsAreLimited(t *testing.T) {
	onStage(t, Config{Limits: Limits{Connections: 1}}, func(s *stage) {
		s.do("a open")
		s.say("b connect", `b start mechanisms="AMQPLAIN PLAIN"`, "b tune channel-max=2047 frame-max=131072 heartbeat=60",
			`b connection.close 530 "NOT_ALLOWED - access to vhost '/' refused for user 'guest': connection limit (1) is reached" connection.open`)
		s.do("a drop")
		s.settle()
		s.do("c open")
		if got := s.broker.Counters().RefusedConnections; got != 1 {
			t.Errorf("%d refused", got)
		}
	})
}

func TestHandshakesAreLimited(t *testing.T) {
	onStage(t, Config{Limits: Limits{Handshakes: 2}}, func(s *stage) {
		first, second := s.dial(), s.dial()
		synctest.Wait()
		third := s.dial()
		if n, err := third.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read %d, %v", n, err)
		}
		first.Close()
		second.Close()
		synctest.Wait()
		s.do("a open")
	})
}

func TestCloseTellsClientsAndGivesThemTime(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		s.do("a open")
		mute := s.dial() // says nothing more after its handshake
		p := newPeer("mute", mute)
		p.deaf = true
		greet(p, usualClient())
		s.settle()

		start := time.Now()
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
		defer cancel()
		if err := s.broker.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("close took %v, want the close timeout", took)
		}
		s.hears(`a ` + forced + `broker forced connection closure with reason 'shutdown'" -`)
	})
}

func TestCloseCutsOffWhenItsContextEnds(t *testing.T) {
	onStage(t, Config{CloseTimeout: time.Hour}, func(s *stage) {
		p := newPeer("mute", s.dial())
		p.deaf = true
		greet(p, usualClient())
		s.settle()

		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		if err := s.broker.Close(ctx); err != context.DeadlineExceeded {
			t.Errorf("close: %v", err)
		}
	})
}

func TestCloseThatCutsNothingIsNoErrorThoughItsContextHasEnded(t *testing.T) {
	onStage(t, Config{}, func(s *stage) {
		ended, cancel := context.WithCancel(s.t.Context())
		cancel()
		if err := s.broker.Close(ended); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

func TestClientThatDoesNotReadHoldsUpNobodyElse(t *testing.T) {
	onStage(t, Config{Limits: Limits{OutboxBytes: 10_000}}, func(s *stage) {
		s.do("a open")
		stuck := s.dial()
		go stuck.Write(conversationOf("queue.declare stuck", "queue.bind stuck amq.fanout k", "basic.consume stuck c"))
		s.settle()
		s.say("a1 queue.declare q", "a1 queue.declare-ok q messages=0 consumers=0")
		s.say("a1 queue.bind q amq.fanout k", "a1 queue.bind-ok")
		s.say("a1 confirm.select", "a1 confirm.select-ok")

		s.say(`a1 publish amq.fanout k zeros:6000 x5`, "a1 confirmed 1:ack 2:ack 3:ack 4:ack 5:ack")
		s.say("a1 queue.declare q passive", "a1 queue.declare-ok q messages=5 consumers=0")

		time.Sleep(15 * time.Second) // the write timeout
		s.hears()
		s.say("a1 queue.declare stuck passive", "a1 queue.declare-ok stuck messages=5 consumers=0")
		stuck.Close()
	})
}

// conversationOf is a handshake and methods on channel 1, as one block.
func conversationOf(commands ...string) []byte {
	var raw []byte
	p := &peer{out: make(chan []byte, 100)}
	greet(p, usualClient())
	p.method(1, channelOpen, []byte{0})
	close(p.out)
	for b := range p.out {
		raw = append(raw, b...)
	}
	for _, c := range commands {
		words := splitWords(c)
		id, args := encodeMethod(words[0], words[1:])
		raw = appendMethodFrame(raw, 1, id, args)
	}
	return raw
}

func TestServeEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- New(Config{}).Serve(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if err := <-served; err != context.Canceled {
		t.Errorf("serve: %v", err)
	}
}

func TestClosedBrokerServesNothing(t *testing.T) {
	b := New(Config{})
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Serve(t.Context(), l); err != ErrClosed {
		t.Errorf("serve: %v", err)
	}
	client, server := net.Pipe()
	b.ServeConn(t.Context(), server)
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read: %v", err)
	}
}
