package federation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// The oracle is a map of offsets.
func TestSpanSetIsASetOfOffsetsInFewRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const universe = 40
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		set, oracle := NewSpanSet(limit), map[Offset]bool{}
		span := func() Span {
			first := rapid.Uint64Range(1, universe).Draw(t, "first")
			return Span{Offset(first), Offset(first + rapid.Uint64Range(0, 9).Draw(t, "length") - 1)}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				s := span()
				want := with(oracle, s, true)
				if set.Add(s) {
					oracle = want
				} else if runsOf(want) <= limit {
					t.Fatalf("add %v refused, it takes %d runs of %d", s, runsOf(want), limit)
				}
			},
			"remove": func(t *rapid.T) {
				s := span()
				want := with(oracle, s, false)
				if set.Remove(s) {
					oracle = want
				} else if runsOf(want) <= limit {
					t.Fatalf("remove %v refused, it leaves %d runs of %d", s, runsOf(want), limit)
				}
			},
			"remove up to": func(t *rapid.T) {
				n := span().First
				set.RemoveUpTo(n)
				oracle = with(oracle, Span{0, n}, false)
			},
			"remove from": func(t *rapid.T) {
				n := span().First
				set.RemoveFrom(n)
				oracle = with(oracle, Span{n, universe + 20}, false)
			},
			"": func(t *rapid.T) { checkSpanSet(t, set, oracle, limit) },
		})
	})
}

func checkSpanSet(t *rapid.T, set *SpanSet, oracle map[Offset]bool, limit int) {
	if diff := cmp.Diff(spansOf(oracle), set.runs, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("spans (-oracle +set):\n%s", diff)
	}
	if set.Len() > limit || set.Count() != uint64(len(oracle)) {
		t.Fatalf("%d runs of %d, %d offsets, want %d", set.Len(), limit, set.Count(), len(oracle))
	}
	for n := Offset(1); n < 60; n++ {
		gap := n
		for oracle[gap] {
			gap++
		}
		if set.Contains(n) != oracle[n] || set.Gap(n) != gap {
			t.Fatalf("offset %d: contained %t, gap %d; want %t, %d", n, set.Contains(n), set.Gap(n), oracle[n], gap)
		}
	}
}

func with(set map[Offset]bool, s Span, in bool) map[Offset]bool {
	out := map[Offset]bool{}
	for n := range set {
		if in || !s.Contains(n) {
			out[n] = true
		}
	}
	for n := s.First; in && n <= s.Last; n++ {
		out[n] = true
	}
	return out
}

func spansOf(set map[Offset]bool) []Span {
	var spans []Span
	for n := Offset(1); n < 80; n++ {
		if set[n] && !set[n-1] {
			spans = append(spans, Span{n, n})
		}
		if set[n] {
			spans[len(spans)-1].Last = n
		}
	}
	return spans
}

func runsOf(set map[Offset]bool) int { return len(spansOf(set)) }

func TestSpanSetReachesTheLastOffset(t *testing.T) {
	const last = ^Offset(0)
	set := NewSpanSet(2)
	set.Add(Span{last - 1, last})
	set.Add(Span{1, 5})
	set.Remove(Span{5, last - 1})
	if diff := cmp.Diff([]Span{{1, 4}, {last, last}}, set.runs); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
