package wan

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/quic-go/quic-go"
)

func TestAThousandHalfOpenConnectionsTakeLittleMemoryAndNoPeersPlace(t *testing.T) {
	inWorld(t, 5*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		nyc.start(ams.passive())
		before := heap()
		ctx, cancel := context.WithCancel(context.Background())
		id := w.identity(w.authority, "ams", 0)
		for i := range 1000 {
			host := fmt.Sprintf("10.1.%d.%d", i/250, i%250)
			w.net.cutOneWay(nyc.host, host, true) // it never hears the answer, as with a false address
			s := w.net.listen(host)
			tr := &quic.Transport{Conn: s}
			go func() {
				tr.Dial(ctx, &net.UDPAddr{IP: net.ParseIP(nyc.host).To4(), Port: 1000}, id.TLS(alpn, func([]*x509.Certificate) error { return nil }), &quic.Config{HandshakeIdleTimeout: time.Minute})
				tr.Close()
				s.Close()
			}()
		}
		most := 0
		for range 20 {
			sleep(100 * time.Millisecond)
			most = max(most, nyc.endpoint.doorman.halfOpen())
		}
		mine := nyc.endpoint.doorman.halfOpen()

		ams.start(nyc.peer())
		sleep(2 * time.Second)

		if s := nyc.status(ams); s.State != StateRunning {
			t.Errorf("the peer did not get through: %s %q", s.State, s.Reason)
		}
		if most > maxHalfOpen {
			t.Errorf("%d half-open connections at once, at most %d are allowed", most, maxHalfOpen)
		}
		if nyc.endpoint.Refused()["unproven-address"] == 0 {
			t.Errorf("no address had to be proved: %v", nyc.endpoint.Refused())
		}
		cancel()
		sleep(10 * time.Second)
		if left := nyc.endpoint.doorman.halfOpen(); left != 0 {
			t.Errorf("%d half-open connections are left of %d", left, mine)
		}
		if grown := heap() - before; grown > 8<<20 {
			t.Errorf("memory grew by %d KiB", grown>>10)
		}
	})
}

func TestOneHostCannotTakeAllPlaces(t *testing.T) {
	inWorld(t, 5*time.Millisecond, func(w *world) {
		var refused tally
		d := newDoorman(&refused, func(netip.Addr, error) {})
		info := &quic.ClientInfo{RemoteAddr: &net.UDPAddr{IP: net.IPv4(10, 9, 9, 9), Port: 1}}
		ctx, cancel := context.WithCancel(context.Background())
		for range maxHalfOpenHost {
			if _, err := d.enter(ctx, info); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := d.enter(ctx, info); err == nil {
			t.Error("one more was let in")
		}
		if diff := cmp.Diff(map[string]uint64{"half-open": 1}, refused.snapshot()); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		if got := refused.lasts()["half-open"].Detail; got != "10.9.9.9" {
			t.Errorf("the last one is of %q", got)
		}
		if _, err := d.enter(ctx, &quic.ClientInfo{RemoteAddr: &net.UDPAddr{IP: net.IPv4(10, 9, 9, 8), Port: 1}}); err != nil {
			t.Errorf("another host was refused: %v", err)
		}
		cancel()
		sleep(time.Millisecond)
		if d.halfOpen() != 0 || len(d.byHost) != 0 {
			t.Errorf("%d places and %d hosts are left", d.halfOpen(), len(d.byHost))
		}
	})
}

func TestGarbageOnThePortIsCountedAndHurtsNobody(t *testing.T) {
	inWorld(t, 5*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		stranger := w.net.listen("10.0.0.9")
		defer stranger.Close()
		target := &net.UDPAddr{IP: net.ParseIP(nyc.host).To4(), Port: 1000}
		before := heap()
		noise := w.net.random
		for i := range 20_000 {
			b := make([]byte, 1+noise.IntN(1400))
			for j := range b {
				b[j] = byte(noise.Uint32())
			}
			stranger.WriteTo(b, target)
			if i%100 == 0 {
				sleep(time.Millisecond)
			}
		}
		sleep(time.Second)

		var counted uint64
		for _, n := range nyc.endpoint.Refused() {
			counted += n
		}
		if counted < 10_000 || nyc.endpoint.Refused()["packet-not-quic"] == 0 {
			t.Errorf("%d of 20,000 were counted: %v", counted, nyc.endpoint.Refused())
		}
		if grown := heap() - before; grown > 4<<20 {
			t.Errorf("memory grew by %d KiB", grown>>10)
		}
		if s := ams.status(nyc); s.State != StateRunning {
			t.Errorf("%s %q", s.State, s.Reason)
		}
		if ups, downs := nyc.handler.counts(); ups != 1 || downs != 0 {
			t.Errorf("up %d times, down %d times", ups, downs)
		}
	})
}
