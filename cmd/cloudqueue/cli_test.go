package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
	"cloudqueue/router/site"
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
	for _, name := range sortedKeys(commands) {
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
		{"parking lost", []string{`unknown command "lost" for cloudqueue parking; is it list?`, "cloudqueue parking --help"}},
		{"topology vali", []string{"is it validate?"}},
		{"status now", []string{`cloudqueue status takes no arguments, there is "now"`}},
		{"status --watches", []string{"unknown flag: --watches", "cloudqueue status --help"}},
		{"status -o xml", []string{`"xml" is no form of output`, "-o table, -o json or -o yaml"}},
		{"status --timeout 0s", []string{"the timeout 0s is not positive"}},
		{"status --timeout soon", []string{"invalid argument"}},
		{"status --interval 1ms --watch", []string{"the interval 1ms is below 100ms"}},
		{"status -c " + dir + "/nothing.yaml", []string{"no such file", "name the router's file with --config, or its socket with --socket"}},
		{"status -c " + bad, []string{`router.yaml:1:1: sitte: unknown key "sitte"; write site`, "certificates is missing"}},
		{"router -c " + bad, []string{"sitte"}},
		{"router -c " + dir + "/nothing.yaml", []string{"no such file", "--config"}},
		{"doctor -c " + bad, []string{"sitte"}},
		{"parking list --limit 0", []string{"--limit 0 is outside of 1 to 10000"}},
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
		{"spool cat ams/orders --count 0", []string{"--count 0 is not positive"}},
		{"spool void ams/orders", []string{"the lane, and the first and last offset, is missing"}},
		{"spool void ams/orders 9-3 --reason corrupt", []string{`"9-3" is no span of offsets`, "120-135"}},
		{"spool void ams/orders 0 --reason corrupt", []string{`"0" is no span of offsets`}},
		{"spool void ams/orders 3-9", []string{`"" is no reason to void`, "--reason corrupt"}},
		{"spool void orders 3-9 --reason corrupt", []string{"want origin/route"}},
		{"spool reseal", []string{"a reseal needs a reason"}},
		{"books --store file:///x", []string{"--store is for --offline"}},
		{"books --offline -c " + dir + "/nothing.yaml", []string{"name the store's URL"}},
		{"topology validate", []string{"the topology's file is missing"}},
		{"topology validate " + dir + "/nothing.yaml", []string{"no such file", "- for standard input"}},
		{"topology plan " + bad, []string{"sitte"}},
		{"topology show -c " + dir + "/nothing.yaml", []string{"name etcd with --etcd"}},
		{"pki issue", []string{"the site is missing"}},
		{"pki issue AMS", []string{`"AMS" is no name of a site`}},
		{"pki issue ams --days 0", []string{"--days 0 is outside"}},
		{"pki issue ams --dir " + dir, []string{"no such file", "cloudqueue pki init"}},
		{"demo --break everything", []string{`"everything" is no fault of the demo`, "drop-one"}},
		{"demo --messages 0", []string{"0 is no number of messages"}},
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

// aStatus has every part, well and ill.
func aStatus() *admin.Status {
	at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	well := admin.Condition{State: admin.Running, Since: at.Add(-26 * time.Hour)}
	return &admin.Status{
		At: at, Federation: "acme", Site: "ams",
		Router: admin.Router{Condition: well, Version: "v0.1.0", PID: 4711, Started: at.Add(-26 * time.Hour), DataDir: "/var/lib/cloudqueue", HeapBytes: 48 << 20, Goroutines: 61},
		Store: admin.Store{Condition: well, URL: "file:///var/lib/cloudqueue/spool", ID: "7f1c0000000000000000000000000001", Epoch: 1764534000456, LSN: 88123,
			UsedBytes: 3 << 30, QuotaBytes: 400 << 30, FreeBytes: 512 << 30, Segments: 49},
		Broker: admin.Broker{Condition: admin.Condition{State: admin.Held, Reason: "memory alarm at rabbit@ams", Since: at.Add(-90 * time.Second), Fix: "free memory at the broker"},
			URL: "amqp://127.0.0.1:5672", Product: "RabbitMQ", Version: "3.10.8",
			Connections: []admin.BrokerConnection{{Condition: well, Name: "consuming"}, {Condition: well, Name: "publishing", Alarm: "memory"}},
			Publishers:  []admin.Publisher{{Condition: well, LockQueue: "cq.owner.ams.0"}}},
		Topology: admin.Topology{Condition: well, Version: 7, Digest: "89abcdef0123", Origin: "etcd", Source: "etcd http://etcd-1:2379", AppliedAt: at.Add(-time.Hour), Problem: "version 8: routes.orders: unknown key"},
		Listener: admin.Listener{Condition: well, Address: ":7443", Certificate: "spiffe://acme/site/ams", CertificateExpires: at.Add(200 * 24 * time.Hour)},
		Links: []admin.Link{
			{Condition: well, Peer: "nyc", Addresses: []string{"nyc.example.net:7443"}, Connections: 2, RTTSeconds: 0.08123, BytesSent: 5 << 30, BytesReceived: 12 << 20},
			{Condition: admin.Condition{State: admin.Down, Reason: "no answer from sin.example.net:7443", Since: at.Add(-40 * time.Minute)}, Peer: "sin", Addresses: []string{"sin.example.net:7443"},
				NextRetry: at.Add(12 * time.Second), BacklogMessages: 120_000, BacklogBytes: 30 << 20, Refused: []admin.Count{{Reason: "certificate", Count: 2, Last: at.Add(-time.Hour)}}},
		},
		Out: []admin.OutLane{{Condition: well, Lane: "ams/orders", Generation: 1764534000000, Class: "urgent", LastAssigned: 1_000_000, StoredMessages: 120_000, StoredBytes: 30 << 20,
			Destinations: []admin.OutDestination{
				{Condition: well, Destination: "nyc", NextHop: "nyc", Join: 1, Sent: 1_000_000, Receipted: 1_000_000},
				{Condition: admin.Condition{State: admin.Waiting, Reason: "link sin is down", Since: at.Add(-40 * time.Minute)}, Destination: "sin", NextHop: "sin", Join: 1, Sent: 880_100, Receipted: 880_000,
					BacklogMessages: 120_000, BacklogBytes: 30 << 20, LagSeconds: 2400, DrainSeconds: -1},
			}}},
		In: []admin.InLane{{Condition: admin.Condition{State: admin.Held, Reason: "exchange audit is missing", Since: at.Add(-5 * time.Minute), Fix: "declare the exchange audit (topic)"}, Lane: "nyc/audit",
			Generation: 1764530000000, Destination: "ams", From: "nyc", Done: 4999, Counters: admin.Counters{Delivered: 4990, Parked: 9, Flagged: 3}, WindowMessages: 512, LastPublished: at.Add(-5 * time.Minute)}},
		Parking: admin.Parking{Messages: 9, Bytes: 9000, Reasons: []admin.Count{{Reason: "unroutable", Count: 9, Last: at.Add(-6 * time.Minute)}}},
		Refused: []admin.Refusal{{What: "hello", Count: admin.Count{Reason: "other federation", Count: 1, Last: at.Add(-2 * time.Hour), Detail: "from 192.0.2.7"}, Fix: "see its router's file"}},
	}
}

func TestStatusShowsWhatNeedsAttentionFirst(t *testing.T) {
	router := &fakeRouter{status: aStatus()}
	got := cloudqueue(t, "status", "--socket", router.serve(t))
	golden(t, "status", got.out)
	got.want(t, exitNo)
	if got.errs != "" {
		t.Errorf("errors: %s", got.errs)
	}
}

func TestStatusOfASiteThatIsWellEndsWithCode0(t *testing.T) {
	router := &fakeRouter{status: &admin.Status{At: time.Now(), Site: "ams", Federation: "acme",
		Router: admin.Router{Condition: admin.Condition{State: admin.Running}}, Store: admin.Store{Condition: admin.Condition{State: admin.Running}},
		Broker: admin.Broker{Condition: admin.Condition{State: admin.Running}}, Topology: admin.Topology{Condition: admin.Condition{State: admin.Running}},
		Listener: admin.Listener{Condition: admin.Condition{State: admin.Running}}}}
	cloudqueue(t, "status", "--socket", router.serve(t)).want(t, exitOK, "nothing needs attention")
}

func TestStatusKeepsWhatCameFromOutsideFromDrivingTheTerminal(t *testing.T) {
	status := aStatus()
	status.In[0].Reason = "exchange \x1b[2J is missing\nok"
	status.Refused[0].Detail = "\x07bell"
	got := cloudqueue(t, "status", "--socket", (&fakeRouter{status: status}).serve(t))
	if strings.ContainsAny(got.out, "\x1b\x07") || !strings.Contains(got.out, "exchange ·[2J is missing·ok") {
		t.Errorf("got %q", got.out)
	}
}

func TestStatusAsYAMLHasTheKeysOfItsJSON(t *testing.T) {
	router := &fakeRouter{status: aStatus()}
	golden(t, "status_yaml", cloudqueue(t, "status", "-o", "yaml", "--socket", router.serve(t)).out)
	var back admin.Status
	if err := json.Unmarshal([]byte(cloudqueue(t, "status", "-o", "json", "--socket", router.serve(t)).out), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(aStatus(), &back); diff != "" {
		t.Errorf("JSON does not come back as it was (-want +got):\n%s", diff)
	}
}

func TestStatusWatchesUntilItIsTold(t *testing.T) {
	router := &fakeRouter{status: aStatus(), asked: make(chan struct{}, 100)}
	socket := router.serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		a := &app{in: strings.NewReader(""), out: &out, errs: &errs}
		ended <- run(ctx, a, []string{"status", "--watch", "--interval", "100ms", "-o", "json", "--socket", socket})
	}()
	for range 3 {
		<-router.asked
	}
	cancel()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[1], `{"at":`) {
		t.Errorf("%d lines: %.200s", len(lines), out.String())
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

func TestParkingListShowsMessagesAndTheNextPage(t *testing.T) {
	router := &fakeRouter{parked: &admin.ParkedList{Total: 250, More: true, Parked: []admin.Parked{
		{ID: "nyc/audit@1764530000000:7>ams", Reason: "unroutable", Bytes: 1234},
		{ID: "nyc/audit@1764530000000:8>ams", Reason: "too-large", Bytes: 200 << 20}}}}
	got := cloudqueue(t, "parking", "list", "--lane", "nyc/audit", "--limit", "2", "--socket", router.serve(t))
	golden(t, "parking_list", got.out)
	got.want(t, exitOK)
	if diff := cmp.Diff(admin.ParkFilter{Lane: "nyc/audit", Limit: 2}, router.filter); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func TestParkingShowGivesTheContentOrTheBodyAlone(t *testing.T) {
	router := &fakeRouter{shown: &admin.ParkedMessage{Parked: admin.Parked{ID: "nyc/audit@1764530000000:7>ams", Reason: "unroutable", Errors: "312 NO_ROUTE", Attempts: 3, First: time.Now().Add(-3*time.Hour - time.Second), Last: time.Now().Add(-2*time.Hour - time.Second)},
		Exchange: "audit", RoutingKey: "a.b", Properties: map[string]any{"content-type": "application/json"}, Raw: []byte{1, 2}, Body: []byte(`{"n":1}`), Path: []string{"sin", "nyc"}}}
	socket := router.serve(t)
	golden(t, "parking_show", cloudqueue(t, "parking", "show", "x", "--socket", socket).out)
	if got := cloudqueue(t, "parking", "show", "x", "--body", "--socket", socket); got.out != `{"n":1}` {
		t.Errorf("body: %q", got.out)
	}
}

func TestParkingActionsSayWhatStayedParked(t *testing.T) {
	router := &fakeRouter{result: &admin.ParkResult{Done: 2, Failed: []admin.ParkFailed{{ID: "x", Error: "exchange audit is missing"}}}}
	cloudqueue(t, "parking", "redrive", "--reason", "unroutable", "--all", "--socket", router.serve(t)).want(t, exitNo, "2 done, 1 stayed parked", "x: exchange audit is missing")
	router = &fakeRouter{result: &admin.ParkResult{Done: 1}}
	cloudqueue(t, "parking", "drop", "x", "--why", "test data", "--socket", router.serve(t)).want(t, exitOK, "drop: 1 done, 0 stayed parked")
	if diff := cmp.Diff([]string{"x"}, router.action.Filter.IDs); diff != "" || router.action.Why != "test data" {
		t.Errorf("asked for %+v", router.action)
	}
}

func TestVoidDoesNothingWithoutYes(t *testing.T) {
	router := &fakeRouter{void: &admin.VoidResult{Generation: 7, Messages: 3}}
	socket := router.serve(t)
	cloudqueue(t, "spool", "void", "ams/orders", "3-5", "--reason", "corrupt", "--socket", socket).want(t, exitRefused, "3 messages to be given up", "--yes")
	if !router.voided.DryRun {
		t.Error("the dry run was none")
	}
	cloudqueue(t, "spool", "void", "ams/orders", "3-5", "--reason", "corrupt", "--to", "nyc,sin", "--yes", "--socket", socket).want(t, exitOK, "3 messages given up")
	want := admin.VoidRequest{Lane: "ams/orders", First: 3, Last: 5, Destinations: []string{"nyc", "sin"}, Reason: "corrupt", Who: router.voided.Who}
	if diff := cmp.Diff(want, router.voided); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func TestResealDoesNothingWithoutYes(t *testing.T) {
	var asked admin.ResealRequest
	a := func() *app {
		return &app{parts: parts{reseal: func(_ context.Context, _ *site.Config, request admin.ResealRequest, _ *slog.Logger) (*admin.ResealResult, error) {
			asked = request
			return &admin.ResealResult{Lanes: []admin.Resealed{{Lane: "ams/orders", Old: 7, Generation: 8, Messages: 3}}, Durable: !request.DryRun}, nil
		}}}
	}
	file := routerFile(t, "ams")
	runApp(t, a(), "spool", "reseal", "--why", "restored", "-c", file).want(t, exitRefused, "ams/orders", "nothing was done", "--yes")
	if !asked.DryRun {
		t.Error("the dry run was none")
	}
	runApp(t, a(), "spool", "reseal", "--why", "restored", "--yes", "-c", file).want(t, exitOK, "ams/orders")
	if asked.DryRun || asked.Why != "restored" || asked.Who == "" {
		t.Errorf("asked for %+v", asked)
	}
}

func TestBooksThatDoNotBalanceEndWithCode1(t *testing.T) {
	lines := []admin.BookLine{
		{Side: admin.Origin, Lane: "ams/orders", Generation: 7, Destination: "nyc", Join: 1, Done: 10, Counters: admin.Counters{Delivered: 10}, LastAssigned: 12, Stored: 2},
		{Side: admin.Target, Lane: "nyc/audit", Generation: 9, Destination: "ams", Join: 1, Done: 10, Counters: admin.Counters{Delivered: 8, Parked: 1}},
	}
	for i := range lines {
		lines[i].Balance()
	}
	got := cloudqueue(t, "books", "--socket", (&fakeRouter{books: &admin.Books{Store: "7f1c", LSN: 42, Lines: lines}}).serve(t))
	golden(t, "books", got.out)
	got.want(t, exitNo)
	cloudqueue(t, "books", "--socket", (&fakeRouter{books: &admin.Books{Lines: lines[:1]}}).serve(t)).want(t, exitOK, "the books balance")
}

func TestSpoolInitMakesAStoreOnceAndNewIDRenamesIt(t *testing.T) {
	url := "file://" + filepath.Join(t.TempDir(), "spool")
	made := cloudqueue(t, "spool", "init", url, "-o", "json")
	made.want(t, exitOK, url)
	var first, second storeIdentity
	if err := json.Unmarshal([]byte(made.out), &first); err != nil {
		t.Fatal(err)
	}
	cloudqueue(t, "spool", "init", url).want(t, exitRefused, "not empty")
	if err := json.Unmarshal([]byte(cloudqueue(t, "spool", "new-id", url, "-o", "json").out), &second); err != nil {
		t.Fatal(err)
	}
	if second.Former != first.ID || second.ID == first.ID {
		t.Errorf("init gave %+v, new-id %+v", first, second)
	}
	cloudqueue(t, "spool", "new-id", "file://"+t.TempDir()).want(t, exitRefused, "never initialised", "cloudqueue spool init")
}

func TestTopologyValidateGivesAllProblemsAtOnce(t *testing.T) {
	a := &app{in: strings.NewReader("sites: {ams: {}, nyc: {}}\nroutes:\n  orders: {form: {site: ams}, to: [{site: par}]}\n")}
	got := runApp(t, a, "topology", "validate", "-")
	got.want(t, exitNo, `-:3:12: routes.orders.form: unknown key "form"; write from`, "par", "not valid: ")
	a = &app{in: strings.NewReader("sites: {ams: {listen: [\"ams:1\"]}, nyc: {}}\nroutes:\n  orders: {from: {site: ams, queue: q}, to: [{site: nyc}]}\n")}
	runApp(t, a, "topology", "validate", "-").want(t, exitOK, "valid: 2 sites", "1 routes")
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
}

func TestTopologyInAFileIsNotApplied(t *testing.T) {
	file := routerFile(t, "ams")
	topologyFile := filepath.Join(filepath.Dir(file), "topology.yaml")
	if err := os.WriteFile(topologyFile, []byte("sites: {ams: {listen: [\"ams:1\"]}, nyc: {}}\nroutes: {orders: {from: {site: ams, queue: q}, to: [{site: nyc}]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cloudqueue(t, "topology", "apply", topologyFile, "-c", file).want(t, exitRefused, "not in etcd", "routers follow it live")
}

func TestPKIMakesCertificatesThatDoctorAccepts(t *testing.T) {
	dir := t.TempDir()
	authority := filepath.Join(dir, "ca")
	cloudqueue(t, "pki", "init", "--dir", authority, "--federation", "cloudqueue").want(t, exitOK, "authority of cloudqueue")
	cloudqueue(t, "pki", "init", "--dir", authority).want(t, exitRefused, "there is an authority in "+authority+" already")
	file := routerFile(t, "ams")
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
	golden(t, "doctor", out)
}
