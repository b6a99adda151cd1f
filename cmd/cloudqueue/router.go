package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/router/site"
	"cloudqueue/wan/pki"
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

// checkIdentity refuses certificates that no router can start with, before it takes the store. One that has ended is
// not refused: the router goes on taking messages, and loads the next one by itself.
func checkIdentity(config *site.Config) error {
	fix := renewCertificate(config.Site)
	files, err := pki.Load(config.Certificates.Paths(), nil)
	if err != nil {
		return fail(exitUsage, fix, "certificates: %w", err)
	}
	if id := files.Identity(); id.Site() != config.Site || id.Federation() != config.Federation {
		return fail(exitUsage, fix, "certificates: %w", otherIdentity(id, config))
	}
	return nil
}

func renewCertificate(name federation.SiteID) string {
	return fmt.Sprintf("cloudqueue pki issue %s --dir AUTHORITY --out FOLDER; or mend the mode, the path or the name that the line above says", name)
}

func otherIdentity(id *pki.Identity, config *site.Config) error {
	return fmt.Errorf("the certificate is for site %s of %s, this router is %s of %s", id.Site(), id.Federation(),
		config.Site, config.Federation)
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
