package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"cloudqueue/router/site"
	"cloudqueue/sim/demo"
)

// builtIn are the parts of the product.
func builtIn() parts {
	return parts{router: runRouter, demo: runDemo}
}

func runRouter(ctx context.Context, config *site.Config, logger *slog.Logger) error {
	if err := checkIdentity(config); err != nil {
		return err
	}
	s, err := site.Open(ctx, config, version().String(), logger)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func runDemo(ctx context.Context, out io.Writer, o demoOptions) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary, which the routers are: %w", err)
	}
	err = demo.Run(ctx, out, demo.Options{Binary: self, Dir: o.Dir, Messages: o.Messages, DropOne: o.Break != "",
		Stay: o.Stay, Terminal: o.Terminal})
	if errors.Is(err, demo.ErrUnbalanced) {
		return fail(exitNo, "the lines above name the messages", "%v", err)
	}
	return err
}
