package udpproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// link is a proxy between two sockets: near dials, far listens.
type link struct {
	*Proxy
	near, far *net.UDPConn
}

func newLink(t *testing.T, config Config) *link {
	t.Helper()
	far := listen(t)
	config.Target = far.LocalAddr().String()
	p, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return &link{Proxy: p, near: dial(t, p), far: far}
}

func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func dial(t *testing.T, p *Proxy) *net.UDPConn {
	t.Helper()
	c, err := net.Dial("udp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.UDPConn)
}

func send(t *testing.T, c *net.UDPConn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// receive waits for the next datagram: its text and sender.
func receive(t *testing.T, c *net.UDPConn) (string, *net.UDPAddr) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Minute)) // a busy machine takes its time
	b := make([]byte, 65536)
	n, from, err := c.ReadFromUDP(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n]), from
}

// answer sends a datagram back to where the last one came from.
func answer(t *testing.T, c *net.UDPConn, to *net.UDPAddr, text string) {
	t.Helper()
	if _, err := c.WriteToUDP([]byte(text), to); err != nil {
		t.Fatal(err)
	}
}

func TestDatagramsPassBothWaysAndAreCounted(t *testing.T) {
	l := newLink(t, Config{})

	send(t, l.near, "hello")
	got, from := receive(t, l.far)
	answer(t, l.far, from, "hi")
	back, _ := receive(t, l.near)

	if got != "hello" || back != "hi" {
		t.Errorf("got %q, back %q", got, back)
	}
	waitFor(t, func() bool { // a datagram is counted when it has been sent
		to, fro := l.Counts()
		return to == Counts{Packets: 1, Bytes: 5} && fro == Counts{Packets: 1, Bytes: 2}
	})
}

func TestACutLinkIsSilentAndAHealedOnePasses(t *testing.T) {
	l := newLink(t, Config{})

	l.Cut()
	send(t, l.near, "lost")
	waitFor(t, func() bool { to, _ := l.Counts(); return to.Dropped == 1 })
	l.Heal()
	send(t, l.near, "kept")

	if got, _ := receive(t, l.far); got != "kept" {
		t.Errorf("got %q, want the datagram sent after the heal", got)
	}
}

func TestDelayHoldsEveryDatagramBack(t *testing.T) {
	const delay = 30 * time.Millisecond
	l := newLink(t, Config{Delay: delay})

	start := time.Now()
	for i := range 20 {
		send(t, l.near, fmt.Sprint(i))
	}
	for i := range 20 {
		if got, _ := receive(t, l.far); got != fmt.Sprint(i) {
			t.Fatalf("got %q, want %d: delayed datagrams keep their order", got, i)
		}
	}

	if took := time.Since(start); took < delay {
		t.Errorf("all passed within %v, want at least %v", took, delay)
	}
}

func TestADelayedDatagramIsLostWhenTheLinkIsCutMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Proxy{config: Config{Delay: 100 * time.Millisecond, QueueBytes: 1000}}
		d := p.direction(new(counter), func(b []byte) { t.Errorf("sent %q", b) })
		go d.release(t.Context())

		d.pass([]byte("lost"))
		time.Sleep(50 * time.Millisecond)
		p.Cut()
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()

		if got := d.counter.dropped.Load(); got != 1 {
			t.Errorf("dropped %d, want 1", got)
		}
	})
}

func TestADelayedDatagramIsSentExactlyThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, sent := time.Now(), time.Duration(0)
		p := &Proxy{config: Config{Delay: 100 * time.Millisecond, QueueBytes: 1000}}
		d := p.direction(new(counter), func([]byte) { sent = time.Since(start) })
		go d.release(t.Context())

		d.pass([]byte("kept"))
		time.Sleep(time.Second)
		synctest.Wait()

		if sent != 100*time.Millisecond {
			t.Errorf("sent after %v, want 100ms", sent)
		}
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	d := (&Proxy{config: Config{Delay: time.Hour, QueueBytes: 1000}}).direction(new(counter), func([]byte) { t.Error("sent") })

	for range 100 {
		d.pass(make([]byte, 300))
	}

	if d.bytes != 900 || len(d.queue) != 3 || d.counter.dropped.Load() != 97 {
		t.Errorf("holds %d bytes in %d datagrams, dropped %d; want 900, 3, 97", d.bytes, len(d.queue), d.counter.dropped.Load())
	}
}

func TestEveryDiallingAddressGetsItsOwnAnswers(t *testing.T) {
	l := newLink(t, Config{})
	other := dial(t, l.Proxy)

	send(t, l.near, "from near")
	_, near := receive(t, l.far)
	send(t, other, "from other")
	_, far := receive(t, l.far)
	answer(t, l.far, far, "to other")
	answer(t, l.far, near, "to near")

	toNear, _ := receive(t, l.near)
	toOther, _ := receive(t, other)
	if toNear != "to near" || toOther != "to other" {
		t.Errorf("near got %q, other got %q", toNear, toOther)
	}
}

func TestAFurtherAddressReplacesTheOneSilentLongest(t *testing.T) {
	l := newLink(t, Config{Flows: 1})
	other := dial(t, l.Proxy)

	send(t, l.near, "first")
	receive(t, l.far)
	send(t, other, "second")
	_, from := receive(t, l.far)
	answer(t, l.far, from, "back")

	if got, _ := receive(t, other); got != "back" {
		t.Errorf("got %q, want the answer at the newer address", got)
	}
}

func TestATargetThatIsAwayForAMomentEndsNothing(t *testing.T) {
	l := newLink(t, Config{})
	address := l.far.LocalAddr().(*net.UDPAddr)
	send(t, l.near, "before")
	receive(t, l.far)

	l.far.Close()
	send(t, l.near, "nobody listens")
	waitFor(t, func() bool { to, _ := l.Counts(); return to.Packets == 2 })
	far, err := net.ListenUDP("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()

	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		send(t, l.near, "after") // a datagram may meet the error of the one before
		far.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, _, err := far.ReadFromUDP(make([]byte, 100)); err == nil {
			return
		} else if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
	t.Error("nothing came through after the target was back")
}

// waitFor waits until ok says so; the kernel passes datagrams when it likes.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not so after a minute")
		}
	}
}
