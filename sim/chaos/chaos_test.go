//go:build integration

package chaos

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"cloudqueue/sim/check"
)

// newWorld starts all parts. Their folder is kept and named when the test fails and CHAOS_KEEP is set.
func newWorld(t *testing.T) *World {
	t.Helper()
	dir, err := os.MkdirTemp("", "cq") // t.TempDir is too long for a Unix socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("CHAOS_KEEP") != "" {
			t.Logf("kept: %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // builds included
	defer cancel()
	w, err := NewWorld(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// number reads an environment variable.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, text, err)
	}
	return n
}

// logger writes lines with the time, without the place in the code.
func logger(t *testing.T) func(string, ...any) {
	return func(format string, args ...any) {
		fmt.Fprintf(t.Output(), "%s "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
	}
}

// run executes a config and reports; the test fails if anything broke a guarantee.
func run(t *testing.T, w *World, config Config) (check.Report, Toll) {
	t.Helper()
	config.Log = logger(t)
	report, toll, err := w.Run(t.Context(), config)
	t.Logf("\n%s", report)
	if len(config.Plan) > 0 {
		t.Logf("\n%s", toll)
	}
	if err != nil {
		t.Error(err)
	}
	if !report.OK() {
		t.Error("a guarantee is broken")
	}
	if len(toll) != len(config.Plan) {
		t.Errorf("%d of %d strikes met %d messages in flight and were followed by deliveries", len(toll), len(config.Plan), enough)
	}
	for _, v := range report.Verdicts {
		if 2*v.FalseFlags.Count > v.Distinct {
			t.Errorf("%s: %d of %d messages came flagged at once: where most do, the flag says nothing", v.Queue, v.FalseFlags.Count, v.Distinct)
		}
	}
	if t.Failed() {
		for _, site := range siteNames {
			t.Logf("log of router %s ends:\n%s", site, w.sites.Site(site).Process().Log(4000))
		}
		t.FailNow()
	}
	return report, toll
}

// strikes runs without a fault, again after a clean restart, and then a plan of a seed, all in one world: what the plan did.
func strikes(t *testing.T, wantKills int) Toll {
	seed := number(t, "CHAOS_SEED", uint64(time.Now().UnixNano()%1_000_000))
	t.Logf("CHAOS_SEED=%d CHAOS_KILLS=%d", seed, wantKills)
	w := newWorld(t)

	for range 2 {
		faultless, _ := run(t, w, Config{Rate: 500, Quiet: 8 * time.Second})
		if flagged := faultless.Sum().Flagged; flagged != 0 {
			t.Fatalf("%d messages flagged in a run without faults, want 0", flagged)
		}
		if err := w.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, toll := run(t, w, Config{Rate: 500, Plan: MakePlan(seed, wantKills), Quiet: 2 * time.Second})
	if toll.Kills() != wantKills {
		t.Errorf("%d kills, want %d", toll.Kills(), wantKills)
	}
	return toll
}

// TestOneStrikeOfEveryKindLosesNothing is the short run of make test.
func TestOneStrikeOfEveryKindLosesNothing(t *testing.T) {
	toll := strikes(t, len(kills))
	for _, kind := range Kinds {
		if len(toll.of(kind)) != 1 {
			t.Errorf("%s: %d times, want once", kind, len(toll.of(kind)))
		}
	}
}
