package embedded

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// runner plays a script against one broker.
type runner struct {
	t         *testing.T
	dial      func() net.Conn
	settle    func()                 // returns when the broker has said all it has to say
	waitFor   func(done func() bool) // returns when done, or when that will not be
	peers     map[string]*peer
	recording bool // the script\'s answers may be wrong or missing
	order     []string
	alias     *aliases
	names     *declared
}

func newRunner(t *testing.T, dial func() net.Conn) *runner {
	return &runner{
		t: t, dial: dial, peers: map[string]*peer{}, alias: &aliases{}, names: &declared{},
	}
}

// play returns the answers of each block.
func (r *runner) play(s *script) [][]string {
	r.t.Helper()
	var answers [][]string
	for _, b := range s.blocks {
		r.do(b.command)
		if !r.recording {
			r.expect(s, b)
		}
		r.settle()
		answers = append(answers, r.collect())
	}
	r.hangUp()
	return answers
}

// expect waits for the answers that the script has.
func (r *runner) expect(s *script, b block) {
	r.waitFor(func() bool {
		return slices.Equal(compared(s, b.answers), compared(s, r.lines((*peer).peek)))
	})
}

func (r *runner) collect() []string { return r.lines((*peer).drain) }

func (r *runner) lines(of func(*peer) []string) []string {
	var lines []string
	for _, name := range r.order {
		lines = append(lines, of(r.peers[name])...)
	}
	for i := range lines {
		lines[i] = r.alias.shorten(lines[i])
	}
	return lines
}

func (r *runner) hangUp() {
	for _, p := range r.peers {
		p.hangUp()
	}
}

// connect says everything up to connection.open at once: name=value for what differs from a usual client.
func (r *runner) connect(name string, words []string) {
	with := usualClient()
	for _, w := range words {
		key, v, _ := strings.Cut(w, "=")
		with[key] = unquoted(v)
	}
	p := newPeer(name, r.dial())
	r.peers[name] = p
	r.order = append(r.order, name)
	greet(p, with)
	r.waitFor(func() bool { return p.said("connection.", "eof") })
}

func usualClient() map[string]string {
	return map[string]string{
		"vhost": "/", "user": "guest", "password": "guest", "mechanism": "PLAIN", "channel-max": "2047", "frame-max": "131072",
		"heartbeat": "0", "capabilities": "{consumer_cancel_notify=t:true connection.blocked=t:true authentication_failure_close=t:true basic.nack=t:true}",
	}
}

// greet says everything up to connection.open without waiting.
func greet(p *peer, with map[string]string) {
	p.send(protocolHeader)
	p.method(0, connectionStartOK, startOKArguments(with))
	number := func(key string) uint64 { return must(strconv.ParseUint(with[key], 10, 32)) }
	tune := appendShort(nil, uint16(number("channel-max")))
	tune = appendLong(tune, uint32(number("frame-max")))
	p.method(0, connectionTuneOK, appendShort(tune, uint16(number("heartbeat"))))
	p.method(0, connectionOpen, append(appendShortString(nil, with["vhost"]), 0, 0))
}

func startOKArguments(with map[string]string) []byte {
	client := table{{"capabilities", tableValue(parseTableText(with["capabilities"]))}}
	response := "\x00" + with["user"] + "\x00" + with["password"]
	if with["mechanism"] == "AMQPLAIN" {
		response = string(table{{"LOGIN", textValue(with["user"])}, {"PASSWORD", textValue(with["password"])}}.appendContent(nil))
	}
	b := client.encode()
	b = appendShortString(b, with["mechanism"])
	b = appendLongString(b, response)
	return appendShortString(b, "en_US")
}

// open is connect and channel.open of channel 1, whose answers do not appear in the script.
func (r *runner) open(name string, words []string) {
	r.connect(name, words)
	r.peers[name].method(1, channelOpen, []byte{0})
	r.waitFor(func() bool { return r.peers[name].said("channel.open-ok", "eof") })
	for _, line := range r.peers[name].drain() {
		for _, usual := range []string{"start", "tune", "connection.open-ok", "channel.open-ok"} {
			if strings.Contains(line, " "+usual) {
				line = ""
			}
		}
		if line != "" {
			r.t.Fatalf("open: %s", line)
		}
	}
}

// aliases stand for the names that a broker makes up: amq.gen-#1 in a script is the first one it saw.
type aliases struct{ names []string }

var madeUp = regexp.MustCompile(`amq\.(gen-|ctag-|rabbitmq\.reply-to\.)([A-Za-z0-9_=+/.-]+)`)

func (a *aliases) shorten(line string) string {
	return madeUp.ReplaceAllStringFunc(line, func(name string) string {
		prefix := "amq." + madeUp.FindStringSubmatch(name)[1]
		for i, known := range a.names {
			if known == name {
				return fmt.Sprintf("%s#%d", prefix, i+1)
			}
		}
		a.names = append(a.names, name)
		return fmt.Sprintf("%s#%d", prefix, len(a.names))
	})
}

var shortened = regexp.MustCompile(`amq\.[a-z.-]+#([0-9]+)`)

func (a *aliases) expand(command string) string {
	return shortened.ReplaceAllStringFunc(command, func(name string) string {
		i := must(strconv.Atoi(shortened.FindStringSubmatch(name)[1]))
		return a.names[i-1]
	})
}

// declared remembers what a script makes, for cleaning up a broker that is not thrown away.
type declared struct{ queues, exchanges []string }

func (d *declared) note(id methodID, words []string) {
	if len(words) < 3 {
		return
	}
	switch id {
	case queueDeclare:
		d.queues = append(d.queues, unquoted(words[2]))
	case exchangeDeclare:
		d.exchanges = append(d.exchanges, unquoted(words[2]))
	}
}

// plain blanks the reply texts of a line after their name.
var replyText = regexp.MustCompile(`("[A-Z_]+) - ([^"\\]|\\.)*"`)

func compared(s *script, lines []string) []string {
	if !s.textsDiffer {
		return lines
	}
	plain := make([]string, len(lines))
	for i, line := range lines {
		plain[i] = replyText.ReplaceAllString(line, `$1"`)
	}
	return plain
}
