//go:build integration

package embedded

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "record the answers of the RabbitMQ at CLOUDQUEUE_TEST_AMQP in testdata/conformance")

// A real RabbitMQ answers every script as recorded; with -update its answers are recorded.
func TestRabbitMQAnswersAsRecorded(t *testing.T) {
	address := brokerAddress(t)
	for _, file := range scriptFiles(t) {
		scripts := readScripts(t, file)
		got := map[string][][]string{}
		for _, s := range scripts {
			t.Run(filepath.Base(file)+"/"+s.name, func(t *testing.T) {
				got[s.name] = playReal(t, address, s)
				if !*update {
					compareAnswers(t, s, got[s.name])
				}
			})
		}
		if *update && !t.Failed() {
			writeScripts(t, file, scripts, got)
		}
	}
}

// brokerAddress is the host and port of the RabbitMQ that the environment names.
func brokerAddress(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(os.Getenv("CLOUDQUEUE_TEST_AMQP"))
	if err != nil || u.Host == "" {
		t.Fatalf("CLOUDQUEUE_TEST_AMQP is %q; set it to a RabbitMQ, such as amqp://guest:guest@127.0.0.1:5672", os.Getenv("CLOUDQUEUE_TEST_AMQP"))
	}
	return u.Host
}

func playReal(t *testing.T, address string, s *script) [][]string {
	dial := func() net.Conn {
		conn, err := net.DialTimeout("tcp", address, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	r := newRunner(t, dial)
	r.settle, r.waitFor, r.recording = r.untilQuiet, untilDone, *update
	t.Cleanup(func() { cleanUp(t, dial, r.names) })
	return r.play(s)
}

// untilQuiet returns when nothing has come from RabbitMQ for a while: what it has said counts as its whole answer. A known answer
// has been waited for before; only what is too much has to show up.
func (r *runner) untilQuiet() {
	quiet := 20 * time.Millisecond
	if *update {
		quiet = 200 * time.Millisecond
	}
	for last, since := -1, time.Now(); time.Since(since) < quiet; time.Sleep(5 * time.Millisecond) {
		n := 0
		for _, p := range r.peers {
			p.mu.Lock()
			n += len(p.events)
			p.mu.Unlock()
		}
		if n != last {
			last, since = n, time.Now()
		}
	}
}

// untilDone gives up after 5 s: the comparison shows it.
func untilDone(done func() bool) {
	for end := time.Now().Add(5 * time.Second); !done() && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
	}
}

// cleanUp deletes what a script declared.
func cleanUp(t *testing.T, dial func() net.Conn, names *declared) {
	r := newRunner(t, dial)
	r.settle, r.waitFor = r.untilQuiet, untilDone
	r.open("z", nil)
	p := r.peers["z"]
	heard := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.events)
	}
	remove := func(channel uint16, name, with string, m methodID) {
		p.method(channel, channelOpen, []byte{0})
		_, args := encodeMethod(with, []string{name})
		p.method(channel, m, args)
	}
	answers := heard() + 2*len(names.queues) // a channel's open-ok, and what comes of the delete
	for i, name := range names.queues {
		remove(uint16(10+i), name, "queue.delete", queueDelete)
	}
	r.waitFor(func() bool { return heard() >= answers }) // the next script declares the same names
	for i, name := range names.exchanges {               // one after the other: RabbitMQ may lose one of two deletes at once of exchanges that are bound to each other
		answers += 2
		remove(uint16(100+i), name, "exchange.delete", exchangeDelete)
		r.waitFor(func() bool { return heard() >= answers })
	}
	if heard() < answers {
		t.Errorf("RabbitMQ answered %d of %d calls that delete what the script declared: %v %v may be left for the next one", heard(), answers, names.queues, names.exchanges)
	}
	r.settle()
	r.hangUp()
}

// writeScripts puts scripts back into their file with the answers of got, by script and block; those not played keep theirs.
func writeScripts(t *testing.T, file string, scripts []*script, got map[string][][]string) {
	t.Helper()
	var b strings.Builder
	for i, s := range scripts {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "=== %s\n", s.name)
		for _, line := range s.remarks {
			fmt.Fprintln(&b, line)
		}
		for i, bl := range s.blocks {
			fmt.Fprintf(&b, "> %s\n", bl.command)
			answers := bl.answers
			if new := got[s.name]; new != nil {
				answers = new[i]
			}
			for _, a := range answers {
				fmt.Fprintln(&b, a)
			}
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
