package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo is what this binary is.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified"` // built from files that are not committed
	Built    string `json:"committed,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say what this binary is",
		Example: `  cloudqueue version -o json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version()
			return a.print(v, func(w io.Writer) { fmt.Fprintln(w, v) })
		},
	}
}

func version() versionInfo {
	v := versionInfo{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = build.Main.Version
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		case "vcs.time":
			v.Built = setting.Value
		}
	}
	return v
}

func (v versionInfo) String() string {
	s := "cloudqueue " + v.Version
	if v.Revision != "" {
		s += " " + v.Revision[:min(12, len(v.Revision))]
	}
	if v.Modified {
		s += " modified"
	}
	return s + " " + v.Go + " " + v.Platform
}
