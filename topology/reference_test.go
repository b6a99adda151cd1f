package topology

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestReferenceDescribesEveryKey(t *testing.T) {
	reference, err := os.ReadFile("../docs/topology.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keysOf(reflect.TypeFor[schema]()) {
		if !strings.Contains(string(reference), "`"+key+"`") && !strings.Contains(string(reference), key+": ") {
			t.Errorf("docs/topology.md does not tell of %s", key)
		}
	}
}

// keysOf gives the keys of a struct and of all that it holds.
func keysOf(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return keysOf(t.Elem())
	case reflect.Struct:
		var keys []string
		for i := range t.NumField() {
			if key := t.Field(i).Tag.Get("yaml"); key != "" {
				keys = append(append(keys, key), keysOf(t.Field(i).Type)...)
			}
		}
		return keys
	}
	return nil
}

func FuzzParseNeverPanicsAndWhatItTakesPlansAgainstItself(f *testing.F) {
	for _, path := range []string{"../docs/topology-small.yaml", "../docs/topology-three-sites.yaml", "../docs/topology-example.yaml"} {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := Parse("t", src)
		if err != nil {
			return
		}
		if p := MakePlan(d, d); !p.Empty() {
			t.Errorf("a document differs from itself: %+v", p.Changes)
		}
		if p := MakePlan(nil, d); p.Check(Accept{}) != nil {
			t.Errorf("a first document is refused: %v", p.Check(Accept{}))
		}
		if _, _, err := d.WithNumbers(d.Numbers()); err != nil {
			t.Errorf("a document contradicts its own numbers: %v", err)
		}
	})
}
