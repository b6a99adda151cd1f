package embedded

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Unsettled deliveries are a list of tags, whatever is added, taken and restored.
func TestUnsettledIsAListOfTags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var u unsettled
		var model []uint64
		var taken []delivery // that a rollback may restore
		tag := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.SampledFrom([]int{1, 3, 3000}).Draw(t, "n") {
					tag += rapid.Uint64Range(1, 2).Draw(t, "step")
					u.add(delivery{tag: tag, entry: &entry{}})
					model = append(model, tag)
				}
			},
			"take one": func(t *rapid.T) {
				which := rapid.Uint64Range(0, tag+1).Draw(t, "tag")
				got, ok := u.take(nil, which, false)
				if want := slices.Contains(model, which); ok != want {
					t.Fatalf("take %d: %v, want %v", which, ok, want)
				}
				model = slices.DeleteFunc(model, func(m uint64) bool { return ok && m == which })
				taken = append(taken, got...)
			},
			"take up to": func(t *rapid.T) {
				which := rapid.Uint64Range(0, tag+1).Draw(t, "tag")
				got, ok := u.take(nil, which, true)
				if want := which == 0 || slices.Contains(model, which); ok != want {
					t.Fatalf("take up to %d: %v, want %v", which, ok, want)
				}
				model = slices.DeleteFunc(model, func(m uint64) bool { return ok && (which == 0 || m <= which) })
				taken = append(taken, got...)
			},
			"restore": func(t *rapid.T) {
				u.restore(taken)
				for _, d := range taken {
					model = append(model, d.tag)
				}
				slices.Sort(model)
				taken = nil
			},
			"": func(t *rapid.T) {
				var got []uint64
				for _, d := range u.list[u.head:] {
					if d.entry != nil {
						got = append(got, d.tag)
					}
				}
				if !slices.Equal(got, model) || u.count != len(model) {
					t.Fatalf("holds %v (count %d), want %v", got, u.count, model)
				}
			},
		})
	})
}
