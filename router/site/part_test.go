package site

import (
	"context"
	"errors"
	"testing"
)

func TestAPartThatEndsUnaskedBreaksTheRouter(t *testing.T) {
	asked, ask := context.WithCancel(t.Context())
	ask()
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		work context.Context
		err  error
		want string
	}{
		{"nil, unasked", t.Context(), nil, "links ended by itself"},
		{"a context of its own, unasked", t.Context(), context.Canceled, "links: context canceled"},
		{"broken", t.Context(), broken, "links: broken"},
		{"broken while it was to end", asked, broken, "links: broken"},
		{"asked", asked, context.Canceled, ""},
		{"asked, in order", asked, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := runPart(c.work, "links", func(context.Context) error { return c.err })
			if got := text(err); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
