package wan

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"cloudqueue/wan/halfdeaf"
)

// besiegedAlone is set in the process that is besieged: its memory is that of the accepting side alone.
const besiegedAlone = "CLOUDQUEUE_TEST_BESIEGED"

// account is what the besieged process tells of itself.
type account struct {
	Address  string
	HalfOpen int
	Refused  map[string]uint64
	Last     map[string]Occurrence
	Memory   int64 // heap and stacks in use after a collection, bytes
}

// TestBesiegedProcess is no test: it is the other process of TestHalfOpenConnectionsBeyondTheLimitAreRefusedAndMemoryStaysFlat. It answers each line with an account.
func TestBesiegedProcess(t *testing.T) {
	if os.Getenv(besiegedAlone) == "" {
		return
	}
	nyc := newWorld(t, 0).site("nyc", "")
	nyc.cfg.HandshakeTimeout = 10 * time.Minute // the places are held as long as the story lasts, however slow the machine is
	nyc.onLoopback(Peer{Site: "ams"})
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := out.Encode(nyc.endpoint.account()); err != nil {
			t.Fatal(err)
		}
	}
}

func (e *Endpoint) account() account {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return account{e.Addr().String(), e.HalfOpen(), e.Refused(), e.LastRefused(), int64(m.HeapInuse + m.StackInuse)}
}

// besieged is that process, seen from outside.
type besieged struct {
	t     *testing.T
	ask   io.WriteCloser
	reply *json.Decoder
}

func startBesieged(t *testing.T) *besieged {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBesiegedProcess$")
	cmd.Env, cmd.Stderr = append(os.Environ(), besiegedAlone+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &besieged{t, in, json.NewDecoder(out)}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, io.MultiReader(b.reply.Buffered(), out))
		if err := cmd.Wait(); err != nil {
			t.Errorf("the besieged process: %v", err)
		}
	})
	return b
}

func (b *besieged) account() (a account) {
	b.t.Helper()
	if _, err := io.WriteString(b.ask, "\n"); err != nil {
		b.t.Fatal(err)
	}
	if err := b.reply.Decode(&a); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// until waits for an account.
func (b *besieged) until(what string, holds func(account) bool) (a account) {
	b.t.Helper()
	await(b.t, what, func() bool {
		a = b.account()
		return holds(a)
	})
	return a
}

// dialHalf begins a handshake from a host of its own and does not go on with it until ctx ends. The error is why it ended before.
func dialHalf(ctx context.Context, host string, to net.Addr, w *world) error {
	s, err := net.ListenPacket("udp", host+":0")
	if err != nil {
		return err
	}
	defer s.Close()
	tr := &quic.Transport{Conn: halfdeaf.Socket{PacketConn: s}}
	defer tr.Close()
	_, err = tr.Dial(ctx, to, w.identity(w.authority, "ams", 0).TLS(alpn, func([]*x509.Certificate) error { return nil }), &quic.Config{HandshakeIdleTimeout: 10 * time.Minute})
	return err
}

// dialHalves dials from so many hosts, each at 127.net.x.y, until ctx ends.
func (w *world) dialHalves(ctx context.Context, dials *sync.WaitGroup, network, count int, to net.Addr) {
	for i := range count {
		dials.Go(func() { dialHalf(ctx, fmt.Sprintf("127.%d.%d.%d", network, i/250, 1+i%250), to, w) })
	}
}

// maxHalfOpenBytes is what a half-open connection may hold (measured: some 85 KiB, 104 KiB with -race; half as much again for the garbage of the moment).
const maxHalfOpenBytes = 160 << 10

func TestHalfOpenConnectionsBeyondTheLimitAreRefusedAndMemoryStaysFlat(t *testing.T) {
	const dialled = 1000
	w := newWorld(t, 0)
	nyc := startBesieged(t)
	before := nyc.account()
	to, err := net.ResolveUDPAddr("udp", before.Address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var dials sync.WaitGroup
	defer dials.Wait()
	defer cancel()

	w.dialHalves(ctx, &dials, 1, dialled, to)
	held := nyc.until("all are held or refused", func(a account) bool {
		return a.HalfOpen >= maxHalfOpen && a.Refused["half-open"] >= dialled-maxHalfOpen
	})
	w.dialHalves(ctx, &dials, 2, dialled, to)
	later := nyc.until("as many again are refused", func(a account) bool { return a.Refused["half-open"] >= held.Refused["half-open"]+dialled })

	for _, now := range []account{held, later} {
		grown := now.Memory - before.Memory
		t.Logf("%d half-open connections hold %d KiB, %d KiB each; refused: %v", now.HalfOpen, grown>>10, grown>>10/maxHalfOpen, now.Refused)
		if now.HalfOpen != maxHalfOpen {
			t.Errorf("%d half-open connections are held, want %d", now.HalfOpen, maxHalfOpen)
		}
		if grown > maxHalfOpen*maxHalfOpenBytes {
			t.Errorf("memory grew by %d KiB", grown>>10)
		}
	}
	if held.Refused["unproven-address"] < dialled/2 {
		t.Errorf("%d addresses had to be proved, want most of %d", held.Refused["unproven-address"], dialled)
	}
	if detail := held.Last["half-open"].Detail; !net.ParseIP(detail).IsLoopback() {
		t.Errorf("the last that was refused is of %q", detail)
	}
}
