package router

import (
	"errors"
	"testing"

	"cloudqueue/router/admin"
)

// FuzzParseParkName: a name that people typed is refused as a bad request, or is the one message that its own name names.
func FuzzParseParkName(f *testing.F) {
	for _, name := range []string{"ams/orders@1764534000000:12>nyc", "ams/orders@1:2>nyc:3", "ams/orders/1@1:2>nyc", "@:>", "ams/orders@1:2>nyc:256", "ams/orders@+1:-2>"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		id, err := ParseParkName(name)
		if err != nil {
			var bad *admin.Error
			if !errors.As(err, &bad) || bad.Code != admin.BadRequest || bad.Fix == "" {
				t.Errorf("%q: %v (%T); want a bad request with what to write", name, err, err)
			}
			return
		}
		if again, err := ParseParkName(ParkName(id)); err != nil || again != id {
			t.Errorf("%q is %+v, named %q, which is %+v, %v", name, id, ParkName(id), again, err)
		}
	})
}
