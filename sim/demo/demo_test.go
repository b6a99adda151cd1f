package demo

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/parts"
)

// built is the binary that all tests of the package run, made once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cq")
	if err != nil {
		return "", err
	}
	return parts.Build(context.Background(), dir, "cloudqueue/cmd/cloudqueue")
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := built(); err == nil {
		os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// run is a `cloudqueue demo` of few messages whose output grows in out.
type run struct {
	cmd  *exec.Cmd
	out  *output
	done chan error // its end
}

// output is what a demo has written so far.
type output struct {
	mu   sync.Mutex // guards text, which the demo's reader adds to and the test reads
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start begins a demo; on is where it writes, nil a pipe to the test. Tests become parallel behind it, so that all demos run at once.
func start(t *testing.T, on *os.File, args ...string) *run {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	r := &run{cmd: exec.Command(binary, append([]string{"demo", "--messages", "2000"}, args...)...), out: new(output), done: make(chan error, 1)}
	r.cmd.Env = append(os.Environ(), "TERM=xterm")
	r.cmd.Stdout, r.cmd.Stderr = io.Writer(r.out), io.Writer(r.out)
	if on != nil {
		r.cmd.Stdout = on
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	t.Cleanup(func() { r.cmd.Process.Kill() }) // an error means that it has ended
	return r
}

// code waits for the demo's end.
func (r *run) code(t *testing.T) int {
	t.Helper()
	select {
	case <-r.done:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(timeout + stopTimeout):
		t.Fatalf("the demo does not end:\n%s", r.out)
		return -1
	}
}

// waitFor waits until the demo has written something that matches.
func (r *run) waitFor(t *testing.T, pattern string) []string {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(r.out.String()); found != nil {
			return found
		}
	}
	t.Fatalf("nothing like %q in:\n%s", pattern, r.out)
	return nil
}

// balanced is the last line of a demo in which nothing is wrong. One of orders goes to two sites: 1000 orders, 1000 events, 3000 in all.
const balanced = `balance: published 3000, delivered 3000, lost 0, inversions 0, unflagged duplicates 0, flagged \d+\s*\n`

func TestADemoEndsWithTheBalanceAndCode0InPlainLines(t *testing.T) {
	r := start(t, nil)
	t.Parallel()

	if code := r.code(t); code != 0 {
		t.Errorf("code %d, want 0", code)
	}

	out := r.out.String()
	if !regexp.MustCompile(balanced + `\z`).MatchString(out) {
		t.Error("the last line is no balance")
	}
	for _, step := range []string{"publishing: ", "CUT   the link ams", "HEAL  the link ams", "KILL  the router of sin", "START the router of sin"} {
		if !strings.Contains(out, step) {
			t.Errorf("no step %q", step)
		}
	}
	if strings.ContainsAny(out, "\x1b\r") {
		t.Error("there are control characters in what is no terminal")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestADemoThatLosesAMessageEndsWithCode1AndNamesIt(t *testing.T) {
	r := start(t, nil, "--break", "drop-one")
	t.Parallel()

	if code := r.code(t); code != 1 {
		t.Errorf("code %d, want 1", code)
	}

	removed := r.waitFor(t, `BREAK one message is removed by hand from orders-in at nyc: ams/orders (\d+)`)[1]
	if !regexp.MustCompile(`(?m)nyc orders-in.*\b1 lost: index ` + removed + `\b`).MatchString(r.out.String()) {
		t.Errorf("the message with index %s is not named as lost:\n%s", removed, r.out)
	}
	if strings.Contains(r.out.String(), "balance: ") {
		t.Errorf("there is a balance:\n%s", r.out)
	}
}

func TestADemoThatStaysTakesAClientAndEndsCleanly(t *testing.T) {
	on, screen := terminal(t)
	r := start(t, on, "--stay")
	t.Parallel()
	go io.Copy(r.out, screen) // until the terminal is closed
	r.waitFor(t, balanced)
	urls := map[string]string{}
	for _, site := range siteNames {
		urls[site] = r.waitFor(t, `(?m)^ +`+site+` +(amqp://\S+) .* status --config \S+`+site+`/router.yaml`)[1]
	}
	r.waitFor(t, `publish at ams to exchange orders.*arrives at nyc and sin in queue orders-in`)

	publish(t, urls["ams"])

	for _, site := range []string{"nyc", "sin"} {
		waitForMine(t, urls[site])
	}
	if !strings.Contains(r.out.String(), "\x1b[3A\x1b[J") {
		t.Errorf("the three lines of progress do not change in place:\n%q", r.out)
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := r.code(t); code != 0 {
		t.Errorf("code %d after SIGTERM, want 0:\n%s", code, r.out)
	}
}

// mine is the body of the client's message.
const mine = "of a client that was attached"

func onChannel(t *testing.T, url string, do func(*amqp.Channel) error) {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err == nil {
		err = do(ch)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, url string) {
	t.Helper()
	onChannel(t, url, func(ch *amqp.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		confirm, err := ch.PublishWithDeferredConfirm("orders", "any", true, false, amqp.Publishing{Body: []byte(mine)})
		if err == nil {
			confirm.Wait()
		}
		return err
	})
}

// waitForMine consumes a site's queue until the client's message comes.
func waitForMine(t *testing.T, url string) {
	t.Helper()
	onChannel(t, url, func(ch *amqp.Channel) error {
		deliveries, err := ch.Consume("orders-in", "", true, false, false, false, nil)
		if err != nil {
			return err
		}
		for {
			select {
			case d := <-deliveries:
				if string(d.Body) == mine {
					return nil
				}
			case <-time.After(time.Minute):
				t.Fatal("the client's message did not come")
			}
		}
	})
}
