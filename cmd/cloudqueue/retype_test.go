package main

import (
	"runtime"
	"strings"
	"testing"
)

func TestWhatIsToBeTypedIsForTheRouterThatThisCallWasFor(t *testing.T) {
	for name, c := range map[string]struct {
		given      givenFlags
		text, want string
	}{
		"nothing given":      {givenFlags{}, "run: cloudqueue spool reseal", "run: cloudqueue spool reseal"},
		"a file":             {givenFlags{config: "ams/router.yaml"}, "run: cloudqueue spool reseal", "run: cloudqueue spool reseal --config ams/router.yaml"},
		"a file with spaces": {givenFlags{config: "my ams's.yaml"}, "cloudqueue status", `cloudqueue status --config 'my ams'\''s.yaml'`},
		"before arguments":   {givenFlags{config: "a.yaml"}, "cloudqueue parking list --reason unroutable", "cloudqueue parking list --config a.yaml --reason unroutable"},
		"several":            {givenFlags{config: "a.yaml"}, "cloudqueue spool void --corrupt, then cloudqueue spool new-id", "cloudqueue spool void --config a.yaml --corrupt, then cloudqueue spool new-id --config a.yaml"},
		"a socket":           {givenFlags{socket: "/s"}, "cloudqueue status; cloudqueue spool ls", "cloudqueue status --socket /s; cloudqueue spool ls"},
		"another site":       {givenFlags{config: "a.yaml"}, "see the destination: cloudqueue status", "see the destination: cloudqueue status"},
		"the origin": {givenFlags{config: "a.yaml"}, "the origin's store was put back to an older state: stop the origin's router and run at the origin: cloudqueue spool reseal --why REASON --yes",
			"the origin's store was put back to an older state: stop the origin's router and run at the origin: cloudqueue spool reseal --why REASON --yes"},
		"a named site":       {givenFlags{config: "a.yaml"}, "cloudqueue status at nyc says why", "cloudqueue status at nyc says why"},
		"a line above":       {givenFlags{config: "a.yaml"}, "no answer of the peer\nto do: cloudqueue status", "no answer of the peer\nto do: cloudqueue status --config a.yaml"},
		"a store of ours":    {givenFlags{config: "a.yaml"}, "this site's store was put back to an older state: stop its router and run: cloudqueue spool reseal --why REASON --yes", "this site's store was put back to an older state: stop its router and run: cloudqueue spool reseal --config a.yaml --why REASON --yes"},
		"a store of theirs":  {givenFlags{config: "a.yaml"}, "the store of nyc was put back: run there: cloudqueue spool reseal --why REASON --yes", "the store of nyc was put back: run there: cloudqueue spool reseal --why REASON --yes"},
		"a named store":      {givenFlags{config: "a.yaml"}, "cloudqueue spool ls file:///x; cloudqueue doctor", "cloudqueue spool ls file:///x; cloudqueue doctor --config a.yaml"},
		"a store to be made": {givenFlags{config: "a.yaml"}, "cloudqueue spool init file:///x; done", "cloudqueue spool init --config a.yaml file:///x; done"},
		"needs no router":    {givenFlags{config: "a.yaml"}, "cloudqueue pki issue ams", "cloudqueue pki issue ams"},
	} {
		if got := (&app{given: c.given}).retyped(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestRetypingCostsAsMuchAsTheTextIsLong counts bytes and not seconds. Where a command was judged by the whole text around it, a status of
// a thousand lanes took 14 s on a busy machine: four times as much for a text twice as long.
func TestRetypingCostsAsMuchAsTheTextIsLong(t *testing.T) {
	spent := func(lines int) float64 {
		line := "! lane ams/orders → nyc: held: no room\n  to do: see: cloudqueue status\n\n"
		text := strings.Repeat(line, lines)
		a := &app{given: givenFlags{config: "a.yaml"}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := a.retyped(text)
		runtime.ReadMemStats(&after)
		if want := strings.Repeat(strings.Replace(line, "status", "status --config a.yaml", 1), lines); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}

	if once, twice := spent(1000), spent(2000); twice > 3*once {
		t.Errorf("%.0f bytes were allocated for 1,000 lines, %.0f for 2,000", once, twice)
	}
}

func TestEveryCommandThatSaysWhatToTypeRepeatsItsRouter(t *testing.T) {
	file := routerFile(t, "ams")
	socket := (&fakeRouter{status: aStatus()}).serve(t)
	cloudqueue(t, "status", "--socket", socket).want(t, exitNo, "to do: cloudqueue parking list --socket "+socket, "parking list --socket "+socket+" --reason unroutable")
	cloudqueue(t, "status", "-c", file).want(t, exitUnreachable, "cloudqueue router --config "+file)
	cloudqueue(t, "spool", "init", "-c", file).want(t, exitOK)
	cloudqueue(t, "spool", "new-id", "-c", file).want(t, exitOK, "next: cloudqueue spool reseal --config "+file+" --why REASON --yes")
}
