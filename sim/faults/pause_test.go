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
	w := newStory(t)
	w.Publish(500)
	w.Eventually("it delivers", func() bool { return w.Arrived() > 500 })
	nyc := w.Sites.Site("nyc").Process()
	if err := nyc.Pause(); err != nil {
		t.Fatal(err)
	}
	resumed := time.After(pause)

	code, log := w.runOnSameStore()
	if code == 0 || !strings.Contains(log, "the store is held by another process") {
		t.Errorf("a second router on the store ended with %d: %s", code, log)
	}
	second := w.startOnSameBroker()
	w.Eventually("the second router says that it waits for the owner lock", func() bool {
		for _, p := range w.Status("second").Broker.Publishers {
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

	before := w.Arrived()
	w.Eventually("the first router goes on", func() bool { return w.Arrived() > before+1000 })
	w.Balance()
}

// runOnSameStore starts another router of nyc on its store, which must not stay: its exit code and its log.
func (w story) runOnSameStore() (int, string) {
	w.T.Helper()
	p, err := parts.Start(parts.Command{Name: "intruder", Path: w.Binary, Args: []string{"router", "--config", w.Sites.Site("nyc").Config}, Dir: w.Dir})
	if err != nil {
		w.T.Fatal(err)
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	code, err := p.ExitCode(ctx)
	if err != nil {
		w.T.Fatal(err)
	}
	return code, p.Log(2000)
}

// startOnSameBroker starts a router of nyc on its broker, with a store of its own and away from the peers: they would take
// its store for the site's new one.
func (w story) startOnSameBroker() *parts.Process {
	w.T.Helper()
	dir := filepath.Join(w.Dir, "second")
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.T.Fatal(err)
	}
	for _, name := range []string{"nyc.crt", "nyc.key", "ca.crt", "broker.secret", "router.yaml"} {
		text, err := os.ReadFile(filepath.Join(w.Dir, "nyc", name))
		if err != nil {
			w.T.Fatal(err)
		}
		if name == "router.yaml" {
			text = []byte(w.elsewhere(string(text)))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			w.T.Fatal(err)
		}
	}
	command := parts.Command{Name: "second", Path: w.Binary, Dir: dir}
	for _, args := range [][]string{{"spool", "init"}, {"router"}} {
		command.Args = append(args, "--config", filepath.Join(dir, "router.yaml"))
		if args[0] == "router" {
			break
		}
		if _, err := parts.Run(w.Ctx, command); err != nil {
			w.T.Fatal(err)
		}
	}
	p, err := parts.Start(command)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(p.Kill)
	return p
}

// elsewhere gives a router's file another port, and a topology in which nobody answers.
func (w story) elsewhere(file string) string {
	w.T.Helper()
	port := lane.Port(w.T)
	alone := filepath.Join(w.Dir, "alone.yaml")
	if err := os.WriteFile(alone, []byte(lane.Topology(lane.Port(w.T), port)), 0o600); err != nil {
		w.T.Fatal(err)
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
