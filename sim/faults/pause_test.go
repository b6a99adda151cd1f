package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloudqueue/router/admin"
	"cloudqueue/sim/lane"
	"cloudqueue/sim/parts"
)

// pause is longer than the heartbeats of the links (3.5 s) and of the broker's connection (10 s, dead after 15 s to 20 s).
const pause = 20 * time.Second

func TestAPausedRouterKeepsItsStoreAndItsLockFromASecondOne(t *testing.T) {
	w := newWorld(t)
	w.publish(500)
	w.eventually("it delivers", func() bool { return w.arrived() > 500 })
	nyc := w.sites.Site("nyc").Process()
	if err := nyc.Pause(); err != nil {
		t.Fatal(err)
	}
	resumed := time.After(pause)

	code, log := w.runOnSameStore()
	if code == 0 || !strings.Contains(log, "the store is held by another process") {
		t.Errorf("a second router on the store ended with %d: %s", code, log)
	}
	second := w.startOnSameBroker()
	w.eventually("the second router says that it waits for the owner lock", func() bool {
		for _, p := range w.status("second").Broker.Publishers {
			if p.State == admin.Waiting && strings.Contains(p.Reason, "cq.owner.nyc.0") {
				return true
			}
		}
		return false
	})
	second.Kill()
	<-resumed
	if err := nyc.Resume(); err != nil {
		t.Fatal(err)
	}

	before := w.arrived()
	w.eventually("the first router goes on", func() bool { return w.arrived() > before+1000 })
	w.balance()
}

// runOnSameStore starts another router of nyc on its store, which must not stay: its exit code and its log.
func (w *world) runOnSameStore() (int, string) {
	w.t.Helper()
	p, err := parts.Start(parts.Command{Name: "intruder", Path: filepath.Join(w.dir, "cloudqueue"), Args: []string{"router", "--config", w.sites.Site("nyc").Config}, Dir: w.dir})
	if err != nil {
		w.t.Fatal(err)
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	code, err := p.ExitCode(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return code, p.Log(2000)
}

// startOnSameBroker starts a router of nyc on its broker, with a store of its own and away from the peers: they would take
// its store for the site's new one.
func (w *world) startOnSameBroker() *parts.Process {
	w.t.Helper()
	dir := filepath.Join(w.dir, "second")
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	for _, name := range []string{"nyc.crt", "nyc.key", "ca.crt", "broker.secret", "router.yaml"} {
		text, err := os.ReadFile(filepath.Join(w.dir, "nyc", name))
		if err != nil {
			w.t.Fatal(err)
		}
		if name == "router.yaml" {
			text = []byte(w.elsewhere(string(text)))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	command := parts.Command{Name: "second", Path: filepath.Join(w.dir, "cloudqueue"), Dir: dir}
	for _, args := range [][]string{{"spool", "init"}, {"router"}} {
		command.Args = append(args, "--config", filepath.Join(dir, "router.yaml"))
		if args[0] == "router" {
			break
		}
		if _, err := parts.Run(w.ctx, command); err != nil {
			w.t.Fatal(err)
		}
	}
	p, err := parts.Start(command)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Kill)
	return p
}

// elsewhere gives a router's file another port, and a topology in which nobody answers.
func (w *world) elsewhere(file string) string {
	w.t.Helper()
	port := lane.Port(w.t)
	alone := filepath.Join(w.dir, "alone.yaml")
	if err := os.WriteFile(alone, []byte(lane.Topology(lane.Port(w.t), port)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(file, "\n") {
		switch key, _, _ := strings.Cut(line, ":"); key {
		case "listen":
			line = fmt.Sprintf("listen: 127.0.0.1:%d", port)
		case "topology":
			line = fmt.Sprintf("topology: {file: %s}", alone)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
