package amqpwire_test

import (
	"strings"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/localbroker/amqpwire"
)

// What Read lets into a path is sealed into an entry, which takes the names of sites alone.
func TestAPathHoldsWhatAnEntryTakesAndNothingElse(t *testing.T) {
	names := []string{"", strings.Repeat("a", federation.MaxName), strings.Repeat("a", federation.MaxName+1)}
	for c := range 256 {
		names = append(names, "a"+string([]byte{byte(c)}))
	}
	for _, name := range names {
		_, err := amqpwire.Rewrite([]byte{0, 0}, amqpwire.Edit{Path: []string{name}})
		if want := federation.SiteID(name).Valid(); (err == nil) != want {
			t.Errorf("%q: %v, valid %v", name, err, want)
		}
	}
	if amqpwire.MaxPath != federation.MaxPath {
		t.Errorf("%d sites, an entry takes %d", amqpwire.MaxPath, federation.MaxPath)
	}
}
