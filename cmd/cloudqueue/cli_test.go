package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

var update = flag.Bool("update", false, "write the golden files")

// call runs one command line in this process.
type call struct {
	code      int
	out, errs string
}

func cloudqueue(t *testing.T, args ...string) call {
	t.Helper()
	return runApp(t, &app{parts: parts{}}, args...)
}

func runApp(t *testing.T, a *app, args ...string) call {
	t.Helper()
	t.Setenv("CLOUDQUEUE_CONFIG", "")
	var out, errs bytes.Buffer
	a.out, a.errs = &out, &errs
	if a.in == nil {
		a.in = strings.NewReader("")
	}
	code := run(t.Context(), a, args)
	return call{code, out.String(), errs.String()}
}

// golden compares with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// want checks a call's code, and that what it said holds some words.
func (c call) want(t *testing.T, code int, words ...string) {
	t.Helper()
	all := c.out + c.errs
	for _, word := range words {
		if !strings.Contains(all, word) {
			t.Errorf("%q is not in:\n%s", word, all)
		}
	}
	if c.code != code {
		t.Errorf("exit code %d, want %d:\n%s", c.code, code, all)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	var all strings.Builder
	var visit func(path []string, use []string)
	commands := map[string][]string{}
	root := (&app{}).rootCommand()
	for _, c := range root.Commands() {
		commands[c.Name()] = nil
		for _, sub := range c.Commands() {
			commands[c.Name()] = append(commands[c.Name()], sub.Name())
		}
	}
	visit = func(path, subs []string) {
		got := cloudqueue(t, append(path, "--help")...)
		if got.code != exitOK || !strings.Contains(got.out, "Examples:") {
			t.Errorf("%v: code %d, help without an example:\n%s", path, got.code, got.out)
		}
		fmt.Fprintf(&all, "$ cloudqueue %s --help\n%s\n", strings.Join(path, " "), got.out)
		for _, sub := range subs {
			visit(append(path, sub), nil)
		}
	}
	visit(nil, nil)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if name != "completion" && name != "help" {
			visit([]string{name}, commands[name])
		}
	}
	golden(t, "help", all.String())
}

func TestBadCommandLinesEndWithCode2AndSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "router.yaml")
	if err := os.WriteFile(bad, []byte("sitte: ams\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string
		want []string
	}{
		{"statsu", []string{`unknown command "statsu" for cloudqueue; is it status?`, "cloudqueue --help"}},
		{"help foo", []string{`unknown command "foo" for cloudqueue`, "cloudqueue --help"}},
		{"help statsu", []string{"is it status?"}},
		{"help parking lost", []string{`unknown command "lost" for cloudqueue parking; is it list?`, "cloudqueue parking --help"}},
		{"parking lost", []string{`unknown command "lost" for cloudqueue parking; is it list?`, "cloudqueue parking --help"}},
		{"topology vali", []string{"is it validate?"}},
		{"status now", []string{`cloudqueue status takes no arguments, there is "now"`}},
		{"status --watches", []string{"unknown flag: --watches", "cloudqueue status --help"}},
		{"status -o xml", []string{`"xml" is not a form of output`, "-o table, -o json or -o yaml"}},
		{"status --timeout 0s", []string{"the timeout 0s is not positive"}},
		{"status --timeout soon", []string{"invalid argument"}},
		{"status --interval 1ms --watch", []string{"the interval 1ms is below 100ms"}},
		{"status -c " + dir + "/nothing.yaml", []string{"no such file", "name the router's file with --config, or its socket with --socket"}},
		{"status -c " + bad, []string{`router.yaml:1:1: sitte: unknown key "sitte"; write site`, "certificates is missing"}},
		{"router -c " + bad, []string{"sitte"}},
		{"router -c " + dir + "/nothing.yaml", []string{"no such file", "--config"}},
		{"doctor -c " + bad, []string{"sitte"}},
		{"parking list --limit 0", []string{"--limit 0 is not in 1 to 10000"}},
		{"parking show", []string{"the message is missing"}},
		{"parking show a b", []string{`"b" is one argument too many`}},
		{"parking redrive", []string{"nothing is chosen", "--all"}},
		{"parking redrive --lane ams/orders", []string{"nothing is chosen"}},
		{"parking redrive x --all", []string{"messages are named, and --all is given"}},
		{"parking redrive x --reason unroutable", []string{"messages are named, and others are chosen by flags"}},
		{"parking drop x --socket " + dir + "/s", []string{"a drop needs a reason", "--why"}},
		{"spool init /var/lib/x", []string{"a store's URL begins with file://"}},
		{"spool init file://var/lib", []string{"three slashes"}},
		{"spool cat orders", []string{`lane "orders": want origin/route`}},
		{"spool cat file:///x", []string{"the lane is missing", "file:///x goes after --store"}},
		{"spool void file:///x 3-9 --reason corrupt", []string{"the lane is missing", "name the router with --config or --socket"}},
		{"spool cat ams/orders --count 0", []string{"--count 0 is not positive"}},
		{"spool void ams/orders", []string{"the lane, and the first and last offset, is missing"}},
		{"spool void ams/orders 9-3 --reason corrupt", []string{`"9-3" is not a span of offsets`, "120-135"}},
		{"spool void ams/orders 0 --reason corrupt", []string{`"0" is not a span of offsets`}},
		{"spool void ams/orders 3-9", []string{`"" is not a reason to void`, "--reason corrupt"}},
		{"spool void orders 3-9 --reason corrupt", []string{"want origin/route"}},
		{"spool reseal", []string{"a reseal needs a reason"}},
		{"books --store file:///x", []string{"--store is for --offline"}},
		{"books --offline -c " + dir + "/nothing.yaml", []string{"name the store's URL"}},
		{"topology validate", []string{"the topology's file is missing"}},
		{"topology validate " + dir + "/nothing.yaml", []string{"no such file", "- for standard input"}},
		{"topology plan " + bad, []string{"sitte"}},
		{"topology show -c " + dir + "/nothing.yaml", []string{"name etcd with --etcd"}},
		{"pki issue", []string{"the site is missing"}},
		{"pki issue AMS", []string{`"AMS" is not a name of a site`}},
		{"pki issue ams --days 0", []string{"--days 0 is not in 1 to 3650"}},
		{"pki issue ams --dir " + dir, []string{"no such file", "cloudqueue pki init"}},
		{"pki init --dir " + bad, []string{"not a directory", "name a folder with --dir"}},
		{"demo --break everything", []string{`"everything" is not a fault of the demo`, "drop-one"}},
		{"demo --messages 0", []string{"0 is not a count of messages"}},
		{"demo --dir " + bad, []string{"not a directory", "an empty or missing folder"}},
		{"demo -o json", []string{"the demo tells its story as text", "leave -o out"}},
		{"demo -o yaml", []string{"the demo tells its story as text"}},
		{"pki init --federation Acme --dir " + dir, []string{`"Acme" is not a name of a federation`}},
		{"topology show --etcd etcd-1", []string{`"etcd-1" is not an endpoint of etcd`, "https://etcd-1:2379"}},
		{"topology validate " + dir, []string{"is a directory"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			got := cloudqueue(t, strings.Fields(c.line)...)
			got.want(t, exitUsage, c.want...)
			if got.out != "" || !strings.HasPrefix(got.errs, "cloudqueue: ") {
				t.Errorf("standard output %q, errors %q", got.out, got.errs)
			}
		})
	}
}

func TestTheDemoIsRefusedAFolderWithSomethingInIt(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ams"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cloudqueue(t, "demo", "--dir", dir).want(t, exitRefused, dir+" is not empty", "an empty or missing folder")
}

func TestVersionSaysWhatThisBinaryIs(t *testing.T) {
	cloudqueue(t, "version").want(t, exitOK, "cloudqueue ", "go1.")
	var v versionInfo
	if err := json.Unmarshal([]byte(cloudqueue(t, "version", "-o", "json").out), &v); err != nil || v.Go == "" {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestTheRouterGetsItsFileAndStopsWithCode0WhenItIsTold(t *testing.T) {
	started := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	a := &app{parts: fakeParts(started)}
	var out, errs bytes.Buffer
	a.out, a.errs, a.in = &out, &errs, strings.NewReader("")
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, a, []string{"router", "-c", routerFile(t, "ams")}) }()
	if site := <-started; site != "ams" {
		t.Errorf("the router was started for site %q", site)
	}
	cancel() // what SIGTERM does
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	if !strings.Contains(errs.String(), "router started") {
		t.Errorf("the log does not go to standard error: %q", &errs)
	}
}

func TestARouterWithoutItsCertificateDoesNotTakeTheStore(t *testing.T) {
	file := routerFile(t, "ams")
	a := &app{parts: parts{router: runRouter}}
	var out, errs bytes.Buffer
	a.out, a.errs, a.in = &out, &errs, strings.NewReader("")
	code := run(t.Context(), a, []string{"router", "-c", file})
	for _, want := range []string{"ams.key: no such file", "to do: cloudqueue pki issue ams"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in: %s", want, &errs)
		}
	}
	if code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
}

func TestCommandsWithoutARouterEndWithCode3(t *testing.T) {
	for _, line := range []string{"status", "books", "parking list", "parking show x", "parking redrive x", "parking drop x --why y",
		"spool void ams/orders 1-2 --reason corrupt --yes"} {
		t.Run(line, func(t *testing.T) {
			cloudqueue(t, append(strings.Fields(line), "-c", routerFile(t, "ams"))...).want(t, exitUnreachable, "no router answers", "cloudqueue router")
		})
	}
}

func TestARouterThatDoesNotAnswerInTimeIsCode3(t *testing.T) {
	router := &fakeRouter{status: aStatus(), stuck: true}
	cloudqueue(t, "status", "--timeout", "50ms", "--socket", router.serve(t)).want(t, exitUnreachable, "deadline exceeded", "--timeout")
}

func TestErrorsOfTheRouterHaveTheirCodes(t *testing.T) {
	for code, want := range map[admin.Code]int{admin.BadRequest: exitUsage, admin.NotFound: exitNo, admin.Refused: exitRefused, admin.Unavailable: exitUnreachable, admin.Internal: exitFailed} {
		router := &fakeRouter{err: admin.Errorf(code, "do that", "this went wrong")}
		cloudqueue(t, "parking", "show", "x", "--socket", router.serve(t)).want(t, want, "cloudqueue: this went wrong", "to do: do that")
	}
}

func TestVoidDoesNothingWithoutYes(t *testing.T) {
	router := &fakeRouter{void: &admin.VoidResult{Generation: 7, Messages: 3}}
	socket := router.serve(t)
	cloudqueue(t, "spool", "void", "ams/orders", "3-5", "--reason", "corrupt", "--socket", socket).want(t, exitRefused, "3 messages to be abandoned", "--yes")
	if !router.voided.DryRun {
		t.Error("the dry run was none")
	}
	cloudqueue(t, "spool", "void", "ams/orders", "3-5", "--reason", "corrupt", "--to", "nyc,sin", "--yes", "--socket", socket).want(t, exitOK, "3 messages abandoned")
	want := admin.VoidRequest{Lane: "ams/orders", First: 3, Last: 5, Destinations: []string{"nyc", "sin"}, Reason: "corrupt", Who: router.voided.Who}
	if diff := cmp.Diff(want, router.voided); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func TestResealDoesNothingWithoutYes(t *testing.T) {
	file := routerFile(t, "ams")
	data := filepath.Join(filepath.Dir(file), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	fillStore(t, filepath.Join(data, "spool"))
	before := cloudqueue(t, "spool", "ls", "-c", file, "--segments").out
	cloudqueue(t, "spool", "reseal", "--why", "restored", "-c", file).want(t, exitRefused, "ams/orders", "nothing was done", "--yes")
	free := regexp.MustCompile(`free [^,]+`)
	if after := cloudqueue(t, "spool", "ls", "-c", file, "--segments").out; free.ReplaceAllString(after, "") != free.ReplaceAllString(before, "") {
		t.Errorf("the dry run changed the store from\n%sto\n%s", before, after)
	}
	cloudqueue(t, "spool", "reseal", "--why", "restored", "--yes", "-c", file).want(t, exitOK, "ams/orders", "1764534000000",
		"done: the store has another id, 4 messages of 1 lane sealed again; next: start the router: cloudqueue router --config "+file+"\n")
	sealed := cloudqueue(t, "spool", "cat", "ams/orders", "-c", file).out // of the latest generation
	if lines := strings.Split(strings.TrimSpace(sealed), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "1  ") || !strings.HasSuffix(lines[0], "duplicate") {
		t.Errorf("the four without a receipt were not sealed again from 1, flagged:\n%s", sealed)
	}
}

func TestResealBesideARunningRouterAsksForItsEndFirst(t *testing.T) {
	file := routerFile(t, "ams")
	data := filepath.Join(filepath.Dir(file), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	fillStore(t, filepath.Join(data, "spool"))
	withSpool(t, filepath.Join(data, "spool"), func(context.Context, *spool.Spool) error {
		got := cloudqueue(t, "spool", "reseal", "--why", "restored", "-c", file)
		got.want(t, exitRefused, "is in use", "stop the router first")
		if strings.Contains(got.out+got.errs, "--yes") {
			t.Errorf("it asks for --yes beside a running router:\n%s%s", got.out, got.errs)
		}
		return nil
	})
}

func TestBooksThatDoNotBalanceEndWithCode1(t *testing.T) {
	lines := []admin.BookLine{
		{Side: admin.Origin, Lane: "ams/orders", Generation: 7, Destination: "nyc", Join: 1, Done: 10, Counters: admin.Counters{Delivered: 10}, LastAssigned: 12, Stored: 2},
		{Side: admin.Target, Lane: "nyc/audit", Generation: 9, Destination: "ams", Join: 1, Done: 10, Counters: admin.Counters{Delivered: 8, Parked: 1}},
	}
	for i := range lines {
		lines[i].Balance()
	}
	got := cloudqueue(t, "books", "--socket", (&fakeRouter{books: &admin.Books{Site: "ams", Federation: "acme", Store: "7f1c", LSN: 42, Lines: lines}}).serve(t))
	golden(t, "books", got.out)
	got.want(t, exitNo)
	cloudqueue(t, "books", "--socket", (&fakeRouter{books: &admin.Books{Lines: lines[:1]}}).serve(t)).want(t, exitOK, "the books balance")
}

func TestSpoolInitMakesAStoreOnceAndNewIDRenamesIt(t *testing.T) {
	url := "file://" + filepath.Join(t.TempDir(), "spool")
	file := routerFile(t, "ams")
	made := cloudqueue(t, "spool", "init", url, "-c", file, "-o", "json")
	made.want(t, exitOK, url)
	var first, second storeIdentity
	if err := json.Unmarshal([]byte(made.out), &first); err != nil {
		t.Fatal(err)
	}
	cloudqueue(t, "spool", "init", url, "-c", file).want(t, exitRefused, "a store of site ams of federation cloudqueue is there already: nothing to do")
	if err := json.Unmarshal([]byte(cloudqueue(t, "spool", "new-id", url, "-o", "json").out), &second); err != nil {
		t.Fatal(err)
	}
	if second.Former != first.ID || second.ID == first.ID {
		t.Errorf("init gave %+v, new-id %+v", first, second)
	}
	cloudqueue(t, "spool", "new-id", "file://"+t.TempDir()).want(t, exitRefused, "never initialised", "cloudqueue spool init")
}

func TestPKIMakesCertificatesThatDoctorAccepts(t *testing.T) {
	dir := t.TempDir()
	authority := filepath.Join(dir, "ca")
	cloudqueue(t, "pki", "init", "--dir", authority, "--federation", "cloudqueue").want(t, exitOK, "authority of cloudqueue")
	cloudqueue(t, "pki", "init", "--dir", authority).want(t, exitRefused, "there is an authority in "+authority+" already")
	file := routerFile(t, "ams")
	cloudqueue(t, "pki", "issue", "ams", "--dir", authority, "--out", file).want(t, exitUsage, "not a directory", "name a folder with --out")
	cloudqueue(t, "pki", "issue", "ams", "--dir", authority, "--out", filepath.Dir(file)).want(t, exitOK, "ams.crt", "ams.key", "ca.crt")
	cloudqueue(t, "doctor", "-c", file, "--timeout", "2s").want(t, exitNo, "ok  certificates: site ams of cloudqueue")
}

func TestDoctorSaysHowToMendEachPart(t *testing.T) {
	file := routerFile(t, "ams")
	got := cloudqueue(t, "doctor", "-c", file, "--timeout", "2s")
	got.want(t, exitNo)
	dir := filepath.Dir(file)
	out := strings.ReplaceAll(got.out, dir, "DIR")
	out = regexp.MustCompile(`UDP 127\.0\.0\.1:\d+`).ReplaceAllString(out, "UDP ADDRESS")
	out = regexp.MustCompile(`(?m)^.. {2}UDP buffers: .*\n( +to do: .*\n)?`).ReplaceAllString(out, "") // this machine's
	out = regexp.MustCompile(`\d+ good, \d+ slow, (.*), \d+ cannot`).ReplaceAllString(out, "N good, N slow, $1, N cannot")
	golden(t, "doctor", out)
}
