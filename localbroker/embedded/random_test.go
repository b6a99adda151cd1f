package embedded

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Whatever three clients do on three queues that lead into each other, the broker's books are right after every step, and
// nothing is left when it closes. A failing seed is run again with -run 'Books.*/SEED$'.
func TestBooksAreRightWhateverClientsDo(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			onStage(t, Config{}, func(s *stage) {
				for _, command := range []string{
					`a1 queue.declare q {x-dead-letter-exchange=S:"" x-dead-letter-routing-key=S:"r" x-max-length=I:4}`,
					`a1 queue.declare r {x-dead-letter-exchange=S:"" x-dead-letter-routing-key=S:"s" x-message-ttl=I:1000 x-overflow=S:"reject-publish-dlx" x-max-length=I:3}`,
					`a1 queue.declare s {x-dead-letter-exchange=S:"" x-dead-letter-routing-key=S:"q" x-max-priority=I:3 x-single-active-consumer=t:true}`,
				} {
					s.obey(command)
				}
				for range 80 {
					s.obey(randomCommand(random))
				}
			})
		})
	}
}

// obey does a command, on a connection and a channel that it opens first when there is none.
func (s *stage) obey(command string) {
	if name := command[:1]; command[1] == '1' {
		if p := s.peers[name]; p == nil || p.over() {
			s.connect(name, nil)
		}
		if !s.peers[name].open(1) {
			s.peers[name].method(1, channelOpen, []byte{0})
			s.quiet()
		}
	}
	s.do(command)
	s.quiet()
}

func randomCommand(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	command := pick(
		`publish "" QUEUE bodyNUMBER priority=NUMBER xNUMBER`,
		`publish "" QUEUE body expiration="NUMBER00" mandatory`,
		`publish amq.fanout QUEUE body`,
		`basic.get QUEUE`,
		`basic.get QUEUE no-ack`,
		`basic.consume QUEUE cNUMBER`,
		`basic.consume QUEUE dNUMBER no-ack`,
		`basic.cancel cNUMBER`,
		`basic.ack NUMBER`,
		`basic.ack 0 multiple`,
		`basic.nack NUMBER multiple requeue`,
		`basic.nack 0 multiple`,
		`basic.reject NUMBER`,
		`basic.recover requeue`,
		`basic.qos 0 NUMBER`,
		`basic.qos 0 NUMBER global`,
		`queue.bind QUEUE amq.fanout kNUMBER`,
		`queue.unbind QUEUE amq.fanout kNUMBER`,
		`queue.purge QUEUE`,
		`tx.select`,
		`tx.commit`,
		`tx.rollback`,
		`channel.close`,
		`drop`,
		`wait`,
	)
	if command == "wait" {
		return "wait 500ms"
	}
	who, queue, number := pick("a1 ", "b1 ", "c1 "), pick("q", "r", "s"), random.IntN(6)+1
	return who + strings.NewReplacer("QUEUE", queue, "NUMBER", strconv.Itoa(number)).Replace(command)
}
