package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
)

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
			{Condition: well, Peer: "nyc", Addresses: []string{"nyc.example.net:7443"}, Remote: "192.0.2.9:7443", Connections: 2, RTTSeconds: 0.08123, BytesSent: 5 << 30, BytesReceived: 12 << 20},
			{Condition: admin.Condition{State: admin.Down, Reason: "no answer from sin.example.net:7443", Since: at.Add(-40 * time.Minute)}, Peer: "sin", Addresses: []string{"sin.example.net:7443"},
				NextRetry: at.Add(12 * time.Second), BacklogMessages: 120_000, BacklogBytes: 30 << 20, Refused: []admin.Count{{Reason: "expired", Count: 2, Last: at.Add(-time.Hour), Fix: "renew the peer's certificate: cloudqueue pki issue"}}},
		},
		Out: []admin.OutLane{{Condition: well, Lane: "ams/orders", Generation: 1764534000000, Class: "urgent", LastAssigned: 1_000_000, InPerSecond: 417, StoredMessages: 120_000, StoredBytes: 30 << 20,
			Destinations: []admin.OutDestination{
				{Condition: well, Destination: "nyc", NextHop: "nyc", Join: 1, Sent: 1_000_000, Receipted: 1_000_000, OutPerSecond: 416.3},
				{Condition: admin.Condition{State: admin.Waiting, Reason: "no link to sin: see link sin", Since: at.Add(-40 * time.Minute)}, Destination: "sin", NextHop: "sin", Join: 1, Sent: 880_100, Receipted: 880_000,
					BacklogMessages: 120_000, BacklogBytes: 30 << 20, LagSeconds: 2400, DrainSeconds: -1},
			}}},
		In: []admin.InLane{{Condition: admin.Condition{State: admin.Held, Reason: "exchange audit is missing", Since: at.Add(-5 * time.Minute), Fix: "declare the exchange audit (topic)"}, Lane: "nyc/audit",
			Generation: 1764530000000, Destination: "ams", From: "nyc", Done: 4999, Counters: admin.Counters{Delivered: 4990, Parked: 9, Flagged: 3}, WindowMessages: 512, LastPublished: at.Add(-5 * time.Minute)}},
		Parking: admin.Parking{Condition: admin.Condition{State: admin.Held, Since: at.Add(-6 * time.Minute), Reason: "messages wait for a person's word", Fix: "cloudqueue parking list"}, Messages: 9, Bytes: 9000, Reasons: []admin.Count{{Reason: "unroutable", Count: 9, Last: at.Add(-6 * time.Minute)}}},
		Refused: []admin.Refusal{{What: "hello", Count: admin.Count{Reason: "other federation", Count: 1, Last: at.Add(-2 * time.Hour), Detail: "from 192.0.2.7", Fix: "see its router's file"}},
			{What: "receipt", Count: admin.Count{Reason: "of another generation", Count: 2, Last: at.Add(-time.Hour), Detail: "ams/orders, nyc"}}},
	}
}

func TestStatusShowsWhatNeedsAttentionFirst(t *testing.T) {
	socket := (&fakeRouter{status: aStatus()}).serve(t)
	got := cloudqueue(t, "status", "--socket", socket)
	golden(t, "status", strings.ReplaceAll(got.out, socket, "SOCKET"))
	got.want(t, exitNo)
	if got.errs != "" {
		t.Errorf("errors: %s", got.errs)
	}
}

func TestStatusEndsWithCode0WhenNothingNeedsAPerson(t *testing.T) {
	router := &fakeRouter{status: &admin.Status{At: time.Now(), Site: "ams", Federation: "acme",
		Router: admin.Router{Condition: admin.Condition{State: admin.Running}}, Store: admin.Store{Condition: admin.Condition{State: admin.Running}},
		Broker: admin.Broker{Condition: admin.Condition{State: admin.Running}}, Topology: admin.Topology{Condition: admin.Condition{State: admin.Running}},
		Listener: admin.Listener{Condition: admin.Condition{State: admin.Running}}, Parking: admin.Parking{Condition: admin.Condition{State: admin.Running}}}}
	socket := router.serve(t)
	cloudqueue(t, "status", "--socket", socket).want(t, exitOK, "nothing needs attention")

	router.status.Parking = admin.Parking{Condition: admin.Condition{State: admin.Held, Reason: "they wait", Fix: "cloudqueue parking list"}, Messages: 2}
	cloudqueue(t, "status", "--socket", socket).want(t, exitNo, "TO LOOK AT: 1 part, 2 messages parked", "! parking: held", "to do: cloudqueue parking list")
	cloudqueue(t, "status", "--socket", socket, "--parked-ok").want(t, exitOK, "! parking: held")
	router.status.Links = []admin.Link{{Condition: admin.Condition{State: admin.Down}, Peer: "nyc"}}
	cloudqueue(t, "status", "--socket", socket, "--parked-ok").want(t, exitNo, "! link nyc: down")
}

func TestStatusTellsTwentyProblemsInFullAndCountsTheOthers(t *testing.T) {
	s := aStatus()
	for i := range 1000 {
		lane := s.In[0]
		lane.Reason = fmt.Sprintf("exchange %d is missing", i)
		s.In = append(s.In, lane)
	}
	router := &fakeRouter{status: s}
	got := cloudqueue(t, "status", "--socket", router.serve(t))
	if n := strings.Count(got.out, "to do: declare the exchange audit"); n >= 20 {
		t.Errorf("%d lanes are told in full", n)
	}
	got.want(t, exitNo, "TO LOOK AT: 1005 parts", "! broker: held", "! and 984 parts more: cloudqueue status", "-o json")
}

func TestStatusTellsOfPartsWithOneCauseOnce(t *testing.T) {
	s := aStatus()
	down := admin.Condition{State: admin.Down, Reason: "connection refused", Since: s.At.Add(-time.Hour), Fix: "start the broker"}
	s.Broker.Condition, s.Broker.Connections[0].Condition, s.Broker.Connections[1].Condition = down, down, down
	s.Broker.Connections[1].Since = s.At.Add(-2 * time.Hour)
	waits := admin.Condition{State: admin.Waiting, Reason: "no connection to the broker", Since: s.At.Add(-time.Hour)}
	s.Broker.Publishers[0].Condition, s.Out[0].Condition = waits, waits
	for i := range 1000 {
		lane := s.In[0]
		lane.Lane, lane.State, lane.Reason, lane.Fix = fmt.Sprintf("nyc/r%d", i), admin.Held, "no publishing channel: no connection to the broker", ""
		s.In = append(s.In, lane)
	}
	router := &fakeRouter{status: s}

	got := cloudqueue(t, "status", "--socket", router.serve(t))

	want := `
! broker, broker connection consuming, broker connection publishing: down for 2h0m: connection refused
  to do: start the broker
  held by it: publisher cq.owner.ams.0, lane ams/orders, lane nyc/r0 → ams, lane nyc/r1 → ams, lane nyc/r2 → ams and 997 more

! link sin: down for 40m0s: no answer from sin.example.net:7443
  held by it: lane ams/orders → sin

! lane nyc/audit → ams: held for 5m0s: exchange audit is missing
  to do: declare the exchange audit (topic)

! parking: held for 6m0s`
	if _, problems, _ := strings.Cut(got.out, "parked\n"); !strings.HasPrefix(problems, want) {
		t.Errorf("got %.1500s", got.out)
	}
	got.want(t, exitNo, "TO LOOK AT: 1009 parts")
}

func TestStatusShowsAPartWhoseCauseHasNoEntry(t *testing.T) {
	s := aStatus()
	s.Links = s.Links[:1] // a link that is gone from the topology has no line
	cloudqueue(t, "status", "--socket", (&fakeRouter{status: s}).serve(t)).want(t, exitNo, "! lane ams/orders → sin: waiting for 40m0s: no link to sin: see link sin")
}

func TestStatusKeepsWhatCameFromOutsideFromDrivingTheTerminal(t *testing.T) {
	status := aStatus()
	status.In[0].Reason = "exchange \x1b[2J is missing\nok"
	status.Refused[0].Detail = "\x07bell"
	got := cloudqueue(t, "status", "--socket", (&fakeRouter{status: status}).serve(t))
	if strings.ContainsAny(got.out, "\x1b\x07") || !strings.Contains(got.out, "exchange ·[2J is missing\n      ok\n") { // indented: nothing from outside begins a line
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
