package federation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func offer(t *testing.T, w *PositionWindow, span Span, size int, want Admission, wantShed ...Span) {
	t.Helper()
	got, shed := w.Offer(span, size)
	if got != want {
		t.Errorf("offer %v of %d bytes: %d, want %d", span, size, got, want)
	}
	if diff := cmp.Diff(wantShed, shed, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("offer %v of %d bytes sheds (-want +got):\n%s", span, size, diff)
	}
}

func TestWindowAlwaysAdmitsTheBatchThatIsNext(t *testing.T) {
	w := NewPositionWindow(5, 100)
	offer(t, w, Span{5, 8}, 1000, Admitted)
	if w.Used() != 0 {
		t.Errorf("%d bytes are used, the next batch takes none of them", w.Used())
	}
}

func TestWindowAdmitsWhatFitsBeyondNextAndShutsForTheRest(t *testing.T) {
	w := NewPositionWindow(5, 100)
	offer(t, w, Span{9, 12}, 60, Admitted)
	offer(t, w, Span{13, 16}, 40, Admitted)
	offer(t, w, Span{17, 20}, 1, Shut)
	offer(t, w, Span{1, 4}, 60, Behind)
	offer(t, w, Span{9, 12}, 60, Held)
	offer(t, w, Span{12, 13}, 1, Shut) // overlaps what is held: another branch
}

func TestWindowShedsTheFurthestForWhatIsCloser(t *testing.T) {
	w := NewPositionWindow(5, 100)
	offer(t, w, Span{13, 16}, 50, Admitted)
	offer(t, w, Span{17, 20}, 50, Admitted)
	offer(t, w, Span{9, 12}, 60, Admitted, Span{17, 20}, Span{13, 16})
}

func TestWindowSlidesWithNext(t *testing.T) {
	w := NewPositionWindow(1, 100)
	offer(t, w, Span{1, 4}, 60, Admitted)
	offer(t, w, Span{5, 8}, 60, Admitted)
	offer(t, w, Span{9, 12}, 60, Shut)
	w.Advance(5) // 5–8 is next, and takes nothing of the bytes
	offer(t, w, Span{9, 12}, 60, Admitted)
	w.Advance(3)
	if w.Next() != 5 {
		t.Errorf("next went back to %d", w.Next())
	}
}

func TestSenderSendsWhatItsReceiverAdmits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const batches = 12
		limit := rapid.IntRange(0, 300).Draw(t, "bytes")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 120), batches, batches).Draw(t, "sizes")
		span := func(i int) Span { return Span{Offset(i*3 + 1), Offset(i*3 + 3)} }
		sender, receiver := NewPositionWindow(1, limit), NewPositionWindow(1, limit)
		done := 0
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				i := rapid.IntRange(0, batches-1).Draw(t, "batch")
				if i < done || !sender.Fits(span(i), sizes[i]) {
					return
				}
				sender.Put(span(i), sizes[i])
				if a, shed := receiver.Offer(span(i), sizes[i]); a != Admitted && a != Held || len(shed) > 0 {
					t.Fatalf("batch %d fits at the sender, the receiver says %d and sheds %v", i, a, shed)
				}
			},
			"finish": func(t *rapid.T) {
				if done < batches-1 {
					done++
					receiver.Advance(span(done).First)
					sender.Advance(span(done).First) // the WINDOW frame arrives
				}
			},
			"": func(t *rapid.T) {
				if receiver.Used() > limit {
					t.Fatalf("%d bytes held beyond next, limit %d", receiver.Used(), limit)
				}
				if !sender.Fits(span(done), sizes[done]) {
					t.Fatalf("batch %d is next and does not fit", done)
				}
			},
		})
	})
}

// Whatever arrives in whatever order, memory is bounded, and the batch that is next always gets in.
func TestWindowIsBoundedAndNeverBlocksWhatIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 200).Draw(t, "bytes")
		w := NewPositionWindow(1, limit)
		t.Repeat(map[string]func(*rapid.T){
			"offer": func(t *rapid.T) {
				first := Offset(rapid.IntRange(1, 60).Draw(t, "first"))
				w.Offer(Span{first, first + Offset(rapid.IntRange(0, 5).Draw(t, "more"))}, rapid.IntRange(1, 90).Draw(t, "size"))
			},
			"drop": func(t *rapid.T) {
				first := Offset(rapid.IntRange(1, 60).Draw(t, "first"))
				w.Drop(Span{first, first + 2})
			},
			"advance": func(t *rapid.T) { w.Advance(Offset(rapid.IntRange(1, 60).Draw(t, "next"))) },
			"": func(t *rapid.T) {
				checkQueries(t, w)
				if w.Used() > limit {
					t.Fatalf("%d bytes held beyond next, limit %d", w.Used(), limit)
				}
				for i := 1; i < len(w.held); i++ {
					if w.held[i-1].span.Last >= w.held[i].span.First {
						t.Fatalf("held batches overlap: %v", w.held)
					}
				}
				next := Span{w.Next(), w.Next()}
				if i, overlap := w.find(next); !overlap && !w.Fits(next, 1<<30) {
					t.Fatalf("the next batch does not fit; held %v", w.held[i:])
				}
			},
		})
	})
}

// checkQueries holds what a window counts and finds against a walk over everything that it holds.
func checkQueries(t *rapid.T, w *PositionWindow) {
	used := 0
	holds := map[Offset]Span{}
	for _, h := range w.held {
		if !h.span.Contains(w.Next()) {
			used += h.size
		}
		for n := h.span.First; n <= h.span.Last; n++ {
			holds[n] = h.span
		}
	}
	if w.Used() != used {
		t.Fatalf("%d bytes are used, the held batches beyond next take %d: %v", w.Used(), used, w.held)
	}
	for n := Offset(1); n < 70; n++ {
		want, held := holds[n]
		if got, ok := w.At(n); got != want || ok != held {
			t.Fatalf("at %d: %v, %t; want %v, %t", n, got, ok, want, held)
		}
		last := n - 1
		for last < n+9 && holds[last+1] != (Span{}) {
			last++
		}
		if got := w.Contiguous(n, n+9); got != last {
			t.Fatalf("from %d all is held up to %d, want %d", n, got, last)
		}
	}
}
