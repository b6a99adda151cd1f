package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/topology"
)

// finding is one line of what doctor found.
type finding struct {
	Part  string `json:"part"`
	Level level  `json:"level"`
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"`
}

// level tells how bad a finding is.
type level string

// Levels of findings.
const (
	levelGood    level = "good"
	levelUnknown level = "unknown" // it cannot be seen from here
	levelSlow    level = "slow"    // it works, slower than it could
	levelUnsafe  level = "unsafe"  // it works, and a guarantee is in danger
	levelBroken  level = "broken"  // it does not work
)

func good(part, what string, args ...any) finding {
	return finding{part, levelGood, fmt.Sprintf(what, args...), ""}
}

func atRisk(part, fix, what string, args ...any) finding {
	return finding{part, levelUnsafe, fmt.Sprintf(what, args...), fix}
}

func broken(part, fix string, err error) finding { return finding{part, levelBroken, err.Error(), fix} }

// doctor looks at one site. Later checks use what earlier ones found.
type doctor struct {
	config   *site.Config
	timeout  time.Duration      // of each check
	running  bool               // a router answers on the admin socket
	document *topology.Document // nil: there is none that could be read

	kernel string // where the kernel shows its settings: /proc/sys

	readTopology func(ctx context.Context, config *site.Config) (stored topology.Stored, name string, err error)
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that the router needs, and say how to mend it",
		Long: `Look at the router's file, data folder, certificates, store, topology, broker (login, permissions, preconditions of
the queues), UDP port and UDP buffers, without changing anything; at the broker it asks for its permissions with a queue
of its own, cq.doctor.*, that is gone with its connection. It works before the router was ever started and beside a running
one. It ends with code 0 when nothing is broken or unsafe, with 1 otherwise; what is only slow, or cannot be seen
from here, does not count.`,
		Example: `  cloudqueue doctor --config /etc/cloudqueue/router.yaml
  cloudqueue doctor -o json | jq '.[] | select(.level != "good")'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := site.ReadConfig(a.configPath)
			if err != nil {
				return err
			}
			d := doctor{config: config, timeout: a.timeout, kernel: "/proc/sys", readTopology: readTopology}
			return a.showFindings(d.examine(c.Context()))
		},
	}
}

func (d *doctor) examine(ctx context.Context) []finding {
	findings := []finding{good("router file", "site %s of federation %s", d.config.Site, d.config.Federation)}
	for _, check := range []func(context.Context) []finding{
		d.checkRouter, d.checkDataDir, d.checkCertificates, d.checkStore, d.checkTopology, d.checkBroker,
		d.checkListener, d.checkUDPBuffers,
	} {
		checkCtx, cancel := context.WithTimeout(ctx, d.timeout)
		findings = append(findings, check(checkCtx)...)
		cancel()
	}
	return findings
}

func (a *app) showFindings(findings []finding) error {
	if err := a.printFixes(findings, func(w io.Writer) { writeFindings(w, findings) }); err != nil {
		return err
	}
	for _, f := range findings {
		if f.Level == levelBroken || f.Level == levelUnsafe {
			return errNo
		}
	}
	return nil
}

var levelMarks = map[level]string{
	levelGood:    "ok",
	levelUnknown: "??",
	levelSlow:    "~ ",
	levelUnsafe:  "! ",
	levelBroken:  "XX",
}

// writeFindings uses lines: what was found are sentences, and a table would cut them.
func writeFindings(w io.Writer, findings []finding) {
	counts := map[level]int{}
	for _, f := range findings {
		counts[f.Level]++
		fmt.Fprintf(w, "%s  %s: %s\n", levelMarks[f.Level], printable(f.Part), paragraph(f.What))
		if f.Fix != "" {
			fmt.Fprintf(w, "      to do: %s\n", printable(f.Fix))
		}
	}
	fmt.Fprintf(w, "\n%d good, %d slow, %d unsafe, %d broken, %d cannot be seen from here\n", counts[levelGood],
		counts[levelSlow], counts[levelUnsafe], counts[levelBroken], counts[levelUnknown])
}

// checkRouter only looks whether one runs: without it everything else can still be right.
func (d *doctor) checkRouter(ctx context.Context) []finding {
	client := admin.NewClient(d.config.AdminSocket())
	defer client.Close()
	status, err := client.Status(ctx)
	if err != nil {
		return []finding{good("router", "none runs in %s", d.config.DataDir)}
	}
	d.running = true
	if problems := len(status.Problems()); problems > 0 {
		return []finding{atRisk("router", "cloudqueue status", "pid %d runs; to look at: %s", status.Router.PID,
			count(problems, "part"))}
	}
	return []finding{good("router", "pid %d runs, nothing needs attention", status.Router.PID)}
}
