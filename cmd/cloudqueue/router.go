package main

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"cloudqueue/router/site"
)

func (a *app) routerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "router",
		Short: "Run the router of a site",
		Long: `Run the router that the file --config describes, until SIGTERM or SIGINT. Then it takes nothing more, waits a
bounded time for what it has published, and ends with code 0. A second signal ends it at once; nothing gets lost by
that either, but some messages may be published again, flagged.

It logs to standard error: one line per change of state, nothing per message.`,
		Example: `  cloudqueue router --config /etc/cloudqueue/router.yaml`,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := site.ReadConfig(a.configPath)
			if err != nil {
				return err
			}
			return a.parts.router(c.Context(), config, newLogger(a.errs, config.Log))
		},
	}
}

func newLogger(w io.Writer, config site.LogConfig) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(config.Level)) // the file's reader has checked it
	options := &slog.HandlerOptions{Level: level}
	if config.JSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
