package wan

import (
	"math/rand/v2"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestEveryFrameGetsItsOwnVerdictOnce is the model of answers and pending together: whatever the order of verdicts and the moments of the
// ACKs, every sender hears exactly the verdict that its frame got.
func TestEveryFrameGetsItsOwnVerdictOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const stream = 5
		a, p := newAnswers(stream), newPending()
		want, got := map[uint64]federation.Verdict{}, map[uint64]federation.Verdict{}
		var open []uint64
		var wire []byte
		deliver := func() {
			for _, ack := range a.take() {
				b, err := federation.AppendFrame(wire[:0], ack)
				if err != nil {
					t.Fatal(err)
				}
				h, err := federation.ParseFrameHeader(b)
				if err != nil {
					t.Fatal(err)
				}
				f, err := federation.ParseFrame(h, b[federation.FrameHeaderSize:])
				if err != nil {
					t.Fatal(err)
				}
				all, err := p.settle(f.(federation.Ack))
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range all {
					s.answer(s.verdict, s.retry)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				for range rapid.IntRange(1, 600).Draw(t, "frames") {
					n := p.number()
					p.add(func(v federation.Verdict, _ time.Duration) {
						if _, twice := got[n]; twice {
							t.Fatalf("frame %d is answered twice", n)
						}
						got[n] = v
					})
					if err := a.expect(n); err != nil {
						t.Fatal(err)
					}
					open = append(open, n)
				}
			},
			"answer": func(t *rapid.T) {
				random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				alternate := rapid.Bool().Draw(t, "alternate")
				for i := range rapid.IntRange(0, len(open)).Draw(t, "answers") {
					j := random.IntN(len(open))
					if alternate {
						j = i % len(open)
					}
					n := open[j]
					open = append(open[:j], open[j+1:]...)
					want[n] = federation.Verdict(random.IntN(4))
					a.give(n, want[n], 0)
				}
			},
			"ack": func(*rapid.T) { deliver() },
		})
		deliver()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("verdicts (-given +heard):\n%s", diff)
		}
		if p.count() != len(open) {
			t.Fatalf("%d wait, want %d", p.count(), len(open))
		}
		if left := p.lose(); len(left) != len(open) {
			t.Fatalf("%d were lost, want %d", len(left), len(open))
		}
	})
}

func TestASecondVerdictPanics(t *testing.T) {
	a := newAnswers(1)
	for n := uint64(1); n <= 3; n++ {
		if err := a.expect(n); err != nil {
			t.Fatal(err)
		}
	}
	a.give(1, federation.OK, 0)
	a.give(3, federation.Full, 0)
	for _, n := range []uint64{1, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a second verdict on frame %d was taken", n)
				}
			}()
			a.give(n, federation.OK, 0)
		}()
	}
}

func TestAPeerMaySendOnlySoManyUnansweredFrames(t *testing.T) {
	a := newAnswers(1)
	for n := uint64(1); n <= maxUnanswered; n++ {
		if err := a.expect(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.expect(maxUnanswered + 1); err == nil {
		t.Error("one more was taken")
	}
	a.give(7, federation.OK, 0)
	if err := a.expect(maxUnanswered + 1); err != nil {
		t.Errorf("after an answer: %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	for _, frame := range []federation.Frame{federation.Heartbeat{Sent: time.UnixMilli(1)}, federation.Copy{Number: 1, Batch: []byte("x")}, federation.Ack{Stream: 1, Cumulative: 1}} {
		f.Add(encode(f, frame))
	}
	f.Add(frameHeader(1<<32-1, federation.TypeCopy, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newFrameReader(&chopped{b: b}, 16, 1<<20)
		for {
			frame, size, err := r.next()
			if err != nil {
				return
			}
			if frame == nil || size < federation.FrameHeaderSize || size > len(b) {
				t.Fatalf("frame %v of %d bytes out of %d", frame, size, len(b))
			}
		}
	})
}

func TestAnswersBehindAFrameThatWaitsForLongTakeNoMemory(t *testing.T) {
	a := newAnswers(1)
	if err := a.expect(1); err != nil {
		t.Fatal(err)
	}
	before := heap()

	for n := uint64(2); n <= 1_000_000; n++ {
		if err := a.expect(n); err != nil {
			t.Fatal(err)
		}
		a.give(n, federation.OK, 0)
		if n%ackAtOnce == 0 {
			a.take()
		}
	}

	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("memory grew by %d KiB", grown>>10)
	}
	a.take()
	a.give(1, federation.Full, 0)
	acks := a.take()
	if len(acks) != 1 || acks[0].Cumulative != 1_000_000 || len(acks[0].Ranges) != 0 || len(acks[0].Exceptions) != 1 {
		t.Errorf("got %+v", acks)
	}
}

func (p *pending) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}
