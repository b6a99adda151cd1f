//go:build integration

package localbroker_test

import (
	"testing"

	"cloudqueue/federation"
)

// Properties over which RabbitMQ closes the connection: a publish of them is found on a connection of its own, and another publisher on the
// shared one goes on.
func TestRealPropertiesThatCloseTheConnectionAreRefusedApartAndOthersGoOn(t *testing.T) {
	header := func(kind byte, value string) string {
		return "\x20\x00\x00\x00\x00" + string(rune(3+len(value))) + "\x01k" + string(rune(kind)) + value
	}
	for name, properties := range map[string]string{
		"a header of type U":         header('U', "\x00\x01"),
		"a header that is NaN":       header('d', "\x7f\xf8\x00\x00\x00\x00\x00\x00"),
		"a header that is infinite":  header('d', "\x7f\xf0\x00\x00\x00\x00\x00\x00"),
		"a second word of flags":     "\x00\x01\x00\x00",
		"a header of unknown type ?": header('?', ""),
	} {
		t.Run(name, func(t *testing.T) {
			r := onReal(t, nil)
			r.queue()
			p, other := r.ours.Publisher(0), r.ours.Publisher(1)
			undisturbed := r.acquire(other)
			incarnation, err := p.Acquire(r.ctx, true)
			must(t, err)
			done := make(chan federation.Outcome, 1)

			must(t, p.Publish(r.ctx, incarnation, federation.Message{RoutingKey: r.name, Properties: []byte(properties)}, func(o federation.Outcome) { done <- o }))

			if o := <-done; o.Kind != federation.Refused || o.Code < 500 {
				t.Errorf("%+v", o)
			} else {
				t.Logf("%d %s", o.Code, o.Text)
			}
			if r.acquire(other) != undisturbed {
				t.Error("the other publisher's channel ended")
			}
			next, err := p.Acquire(r.ctx, true) // the lock is free again
			must(t, err)
			must(t, p.Publish(r.ctx, next, message("", r.name, "next"), func(o federation.Outcome) { done <- o }))
			if o := <-done; o.Kind != federation.Confirmed {
				t.Errorf("%+v", o)
			}
		})
	}
}
