package embedded

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A ring is a sorted list of positions, whatever is put in and taken out.
func TestRingIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		var model []uint64
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				position := rapid.Uint64Range(0, 1000).Filter(func(p uint64) bool { return !slices.Contains(model, p) }).Draw(t, "position")
				r.insert(&entry{position: position})
				model = append(model, position)
				slices.Sort(model)
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip()
				}
				if got := r.popFront().position; got != model[0] {
					t.Fatalf("popped %d, want %d", got, model[0])
				}
				model = model[1:]
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
				if got := r.remove(i).position; got != model[i] {
					t.Fatalf("removed %d, want %d", got, model[i])
				}
				model = slices.Delete(model, i, i+1)
			},
			"": func(t *rapid.T) {
				got := make([]uint64, 0, r.count)
				for i := range r.count {
					got = append(got, r.at(i).position)
				}
				if !slices.Equal(got, model) {
					t.Fatalf("ring holds %v, want %v", got, model)
				}
			},
		})
	})
}
