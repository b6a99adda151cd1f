package main

import (
	"context"
	"io"
	"log/slog"

	"cloudqueue/router/site"
)

// parts are what the commands start; tests put others in their place.
type parts struct {
	// router runs a site's router until ctx ends, then stops it in good order.
	router func(ctx context.Context, config *site.Config, logger *slog.Logger) error
	// demo runs three sites; its error is errNo when the balance does not add up.
	demo func(ctx context.Context, out io.Writer, options demoOptions) error
}

// demoOptions are the flags of `cloudqueue demo`.
type demoOptions struct {
	Break    string // the fault that the checkers must find; empty: none
	Stay     bool
	Messages int
	Dir      string // empty: a temporary one
	Terminal bool   // out is one
}
