package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTopologyValidateGivesAllProblemsAtOnce(t *testing.T) {
	a := &app{in: strings.NewReader("sites: {ams: {}, nyc: {}}\nroutes:\n  orders: {form: {site: ams}, to: [{site: par}]}\n")}
	got := runApp(t, a, "topology", "validate", "-")
	got.want(t, exitNo, `-:3:12: routes.orders.form: unknown key "form"; write from`, "par", "not valid: ")
	a = &app{in: strings.NewReader("sites: {ams: {listen: [\"ams:1\"]}, nyc: {}}\nroutes:\n  orders: {from: {site: ams, queue: q}, to: [{site: nyc}]}\n")}
	runApp(t, a, "topology", "validate", "-").want(t, exitOK, "valid: 2 sites", "1 route,")
}

func TestTopologyPlanAgainstAFileShowsWhatWouldStrand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, routes string) string {
		path := filepath.Join(dir, name)
		src := "sites: {ams: {listen: [\"ams:1\"]}, nyc: {}}\nroutes:\n" + routes
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	orders := "  orders: {from: {site: ams, queue: q}, to: [{site: nyc}]}\n"
	audit := "  audit: {from: {site: nyc, queue: a}, to: [{site: ams}]}\n"
	both, one := write("both.yaml", orders+audit), write("one.yaml", orders)

	cloudqueue(t, "topology", "plan", both, "--against", one).want(t, exitOK, "+ route nyc/audit")
	cloudqueue(t, "topology", "plan", one, "--against", both).want(t, exitRefused, "- route nyc/audit", "strands: ", "--accept-stranding")
	cloudqueue(t, "topology", "plan", one, "--against", one).want(t, exitOK, "nothing changes")

	// What plan shows is what a plain file has to name.
	digest := cloudqueue(t, "topology", "plan", one, "--against", both).out
	_, digest, _ = strings.Cut(digest, "compared with digest ")
	word := write("word.yaml", orders+"accept-stranding: ["+strings.TrimSpace(digest)+"]\n")
	cloudqueue(t, "topology", "plan", word, "--against", both).want(t, exitOK, "- route nyc/audit")
}

func TestTopologyInAFileIsNotApplied(t *testing.T) {
	file := routerFile(t, "ams")
	topologyFile := filepath.Join(filepath.Dir(file), "topology.yaml")
	if err := os.WriteFile(topologyFile, []byte("sites: {ams: {listen: [\"ams:1\"]}, nyc: {}}\nroutes: {orders: {from: {site: ams, queue: q}, to: [{site: nyc}]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cloudqueue(t, "topology", "apply", topologyFile, "-c", file).want(t, exitRefused, "not in etcd", "its router follows it live")
	changed := filepath.Join(filepath.Dir(file), "changed.yaml")
	if err := os.WriteFile(changed, []byte("sites: {ams: {listen: [\"ams:1\"]}, nyc: {}, sin: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	compare := []string{"topology", "plan", changed, "--against", topologyFile}
	cloudqueue(t, "topology", "plan", changed, "-c", file).want(t, exitRefused,
		"cloudqueue topology plan --config "+file+" "+strings.Join(compare[2:], " ")+"\n")
	cloudqueue(t, compare...).want(t, exitRefused, "+ site sin", "- route ams/orders")
	cloudqueue(t, "topology", "plan", topologyFile, "-c", file).want(t, exitRefused, "plan --config "+file+" FILE --against "+topologyFile+"\n")
}
