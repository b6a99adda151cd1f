package wan

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
)

func TestAFencedPeerHearsWhyAndItAloneWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		fencer string // the side that refuses
	}{{"by the side that accepts", "nyc"}, {"by the side that dials", "ams"}} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
				fencer, fenced := ams, nyc
				if c.fencer == "nyc" {
					fencer, fenced = nyc, ams
				}
				fencer.handler.greeting = federation.Fenced
				nyc.start(ams.passive())
				ams.start(nyc.peer())
				sleep(300 * time.Millisecond)

				fencer.wantDown(fenced, "with FENCED: as the test wants", "the status of "+string(fenced.name)+" says what to type there")
				fenced.wantDown(fencer, "refused us with FENCED: as the test wants", "do so")
				fencer.wantRefused("greet-FENCED")
			})
		})
	}
}

func TestAGreetingThatTakesTooLongRefuses(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		nyc.handler.greet = func(ctx context.Context, _ federation.Hello) (federation.Verdict, federation.Refusal) {
			<-ctx.Done()
			return federation.Full, federation.Refusal{Why: "the store does not answer"}
		}
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(4200 * time.Millisecond)

		ams.wantDown(nyc, "the store does not answer", "")
	})
}

func TestAHelloThatNeverComesIsGivenUp(t *testing.T) {
	for name, begin := range map[string]func(r *rogue){
		"no stream":   func(r *rogue) {},
		"no preamble": func(r *rogue) { r.openControl().write(r.control, []byte{1}) },
		"no hello":    func(r *rogue) { r.openControl().write(r.control, []byte{1, 0, 0, 0}) },
		"half a hello": func(r *rogue) {
			r.openControl().write(r.control, append([]byte{1, 0, 0, 0}, encode(r.w.t, r.hello())[:40]...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").dial(nyc)
				begin(r)
				began := time.Now()

				r.closed(6 * time.Second)

				if d := time.Since(began); d < 4900*time.Millisecond || d > 5200*time.Millisecond {
					t.Errorf("given up after %s, want 5 s", d)
				}
				nyc.wantRefused("hello-timeout")
			})
		})
	}
}

func TestWhatIsNoHelloIsRefusedAtOnce(t *testing.T) {
	control := []byte{byte(federation.StreamControl), 0, 0, 0}
	for name, bytes := range map[string][]byte{
		"a data stream first":      {byte(federation.StreamData), 1, 0, 0},
		"no known stream":          {99, 0, 0, 0},
		"a hello of 64 KiB":        append(control[:4:4], 0, 0, 1, 0, byte(federation.TypeHello), 1, 0, 0),
		"a hello of 4 GiB":         append(control[:4:4], 255, 255, 255, 255, byte(federation.TypeHello), 1, 0, 0),
		"a frame that is no hello": append(control[:4:4], encode(t, federation.Heartbeat{Sent: time.UnixMilli(1)})...),
		"nonsense":                 append(control[:4:4], "GET / HTTP/1.1\r\n"...),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").dial(nyc).openControl()

				r.write(r.control, bytes)

				if got := r.closed(time.Second); code(got.ErrorCode) != codeProtocol {
					t.Errorf("closed with %v", got)
				}
				nyc.wantRefused("protocol")
			})
		})
	}
}

func TestASiteHasAtMostSixteenConnections(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		r := w.rogue("ams", "10.0.0.1")
		for range maxConnections {
			r.dial(nyc)
		}
		r.dial(nyc)

		if got := r.closed(time.Second); code(got.ErrorCode) != codeOverload || !strings.Contains(got.ErrorMessage, "16 connections") {
			t.Errorf("closed with %v", got)
		}
		nyc.wantRefused("connections-of-site")
	})
}
