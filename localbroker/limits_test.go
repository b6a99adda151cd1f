package localbroker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/localbroker/amqpwire"
)

const (
	channelOpen     = amqpwire.Method(20<<16 | 10)
	connectionOpen  = amqpwire.Method(10<<16 | 40)
	connectionClose = amqpwire.Method(10<<16 | 50)
)

// seen is how many calls of a method the peers have had, and the last of them.
func (s *scripted) seen(method amqpwire.Method) (count int, last *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		p.mu.Lock()
		for _, m := range p.methods {
			if m == method {
				count, last = count+1, p
			}
		}
		p.mu.Unlock()
	}
	return count, last
}

// refuse closes a peer's connection with a reply code.
func (p *peer) refuse(code uint16, text string, over amqpwire.Method) {
	p.method(0, connectionClose, string([]byte{byte(code >> 8), byte(code)})+short(text)+
		string([]byte{byte(over >> 24), byte(over >> 16), byte(over >> 8), byte(over)}))
}

func TestAPublisherThatGetsNoChannelSaysWhatToRaiseAndLeavesTheOthersAlone(t *testing.T) {
	silent := func(p *peer) { p.silent[channelOpen], p.alive = true, true }
	inScript(t, silent, func(s *scripted) {
		p := s.ours.Publisher(0)
		go func() { _, _ = p.Acquire(s.ctx, false) }()
		synctest.Wait()
		_, over := s.seen(channelOpen)
		over.refuse(530, "NOT_ALLOWED - number of channels opened for user 'guest' has reached the maximum allowed user limit of (5)", channelOpen)
		time.Sleep(59 * time.Second)

		if got := p.State(); got.State != federation.StateHeld || !strings.Contains(got.Reason, "limit of (5)") || !strings.Contains(got.Fix, "max-channels") {
			t.Errorf("%+v", got)
		}
		if tries, _ := s.seen(channelOpen); tries != 1 {
			t.Errorf("%d tries within a minute: each costs all lanes their connection", tries)
		}
		time.Sleep(2 * time.Second)
		if tries, _ := s.seen(channelOpen); tries != 2 {
			t.Errorf("%d tries in a minute, want the second", tries)
		}
	})
}

func TestARefusedConnectionSaysWhatToRaise(t *testing.T) {
	for text, fix := range map[string]string{
		"NOT_ALLOWED - access to vhost '/' refused for user 'guest': connection limit (0) is reached": "set_vhost_limits",
		"NOT_ALLOWED - connection refused for user 'guest': user connection limit (0) is reached":     "set_user_limits",
		"NOT_ALLOWED - number of channels opened (3) has reached the negotiated channel_max (3)":      "channel_max in rabbitmq.conf",
		"NOT_ALLOWED - access to vhost 'orders' refused for user 'guest'":                             "rabbitmqctl list_vhosts",
		"NOT_ALLOWED - a reason that nobody has thought of":                                           "log_location",
	} {
		silent := func(p *peer) { p.silent[connectionOpen] = true }
		inScript(t, silent, func(s *scripted) {
			_, last := s.seen(connectionOpen)
			last.refuse(530, text, connectionOpen)
			synctest.Wait()

			if got := s.ours.Status(); !strings.Contains(got.Consuming.Fix+got.Publishing.Fix, fix) {
				t.Errorf("%s: %+v", text, got)
			}
		})
	}
}
