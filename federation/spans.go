package federation

import (
	"slices"
	"sort"
)

// SpanSet is a set of offsets as runs that neither touch nor overlap, in ascending order. It holds at most limit runs,
// so that its memory is bounded whatever arrives. One goroutine at a time may use it.
type SpanSet struct {
	limit int
	runs  []Span
}

// NewSpanSet makes an empty set of at most limit runs.
func NewSpanSet(limit int) *SpanSet { return &SpanSet{limit: max(limit, 1)} }

// Add adds the span's offsets. It returns false, and changes nothing, when the set would need more than its limit of
// runs.
func (s *SpanSet) Add(span Span) bool {
	if span.Empty() {
		return true
	}
	// runs[i:j] touch or overlap the span.
	i := sort.Search(len(s.runs), func(i int) bool { return touches(s.runs[i].Last, span.First) })
	j := i
	for j < len(s.runs) && touches(span.Last, s.runs[j].First) {
		span = Span{min(span.First, s.runs[j].First), max(span.Last, s.runs[j].Last)}
		j++
	}
	if i == j && len(s.runs) >= s.limit {
		return false
	}
	s.runs = slices.Replace(s.runs, i, j, span)
	return true
}

// touches tells whether a run that ends at last leaves no gap before first, without overflow.
func touches(last, first Offset) bool { return last >= first || last+1 == first }

// Remove takes the span's offsets out. It returns false, and changes nothing, when that would split a run and exceed
// the limit.
func (s *SpanSet) Remove(span Span) bool {
	if span.Empty() {
		return true
	}
	i := s.find(span.First)
	j := i
	var rest []Span
	for ; j < len(s.runs) && s.runs[j].First <= span.Last; j++ {
		if s.runs[j].First < span.First {
			rest = append(rest, Span{s.runs[j].First, span.First - 1})
		}
		if s.runs[j].Last > span.Last {
			rest = append(rest, Span{span.Last + 1, s.runs[j].Last})
		}
	}
	if len(s.runs)-(j-i)+len(rest) > s.limit {
		return false
	}
	s.runs = slices.Replace(s.runs, i, j, rest...)
	return true
}

// RemoveUpTo takes out all offsets up to and including last.
func (s *SpanSet) RemoveUpTo(last Offset) {
	i := s.find(last)
	if i < len(s.runs) && s.runs[i].First <= last {
		if s.runs[i].Last == last {
			i++
		} else {
			s.runs[i].First = last + 1
		}
	}
	s.runs = slices.Delete(s.runs, 0, i)
}

// RemoveFrom takes out all offsets from first on.
func (s *SpanSet) RemoveFrom(first Offset) {
	i := s.find(first)
	if i < len(s.runs) && s.runs[i].First < first {
		s.runs[i].Last = first - 1
		i++
	}
	s.runs = s.runs[:i]
}

// Contains tells whether the offset is in the set.
func (s *SpanSet) Contains(n Offset) bool {
	i := s.find(n)
	return i < len(s.runs) && s.runs[i].First <= n
}

// Gap is the lowest offset at or above from that is not in the set.
func (s *SpanSet) Gap(from Offset) Offset {
	if i := s.find(from); i < len(s.runs) && s.runs[i].First <= from {
		return s.runs[i].Last + 1
	}
	return from
}

// find gives the index of the first run that ends at or above n.
func (s *SpanSet) find(n Offset) int {
	return sort.Search(len(s.runs), func(i int) bool { return s.runs[i].Last >= n })
}

// Len is the number of runs.
func (s *SpanSet) Len() int { return len(s.runs) }

// Count is the number of offsets.
func (s *SpanSet) Count() uint64 {
	var n uint64
	for _, r := range s.runs {
		n += r.Count()
	}
	return n
}
