package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
)

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

func TestAnEmptyParkingListSaysWhetherFlagsChose(t *testing.T) {
	socket := (&fakeRouter{parked: &admin.ParkedList{}}).serve(t)
	cloudqueue(t, "parking", "list", "--socket", socket).want(t, exitOK, "nothing is parked here")
	cloudqueue(t, "parking", "list", "--reason", "unroutable", "--socket", socket).want(t, exitOK, "no parked message matches these flags")
	cloudqueue(t, "parking", "list", "--reason", "unrutable", "--socket", socket).want(t, exitUsage, `"unrutable" is not a reason of parking`, "bad-properties, refused, too-large, unroutable")
}

func TestParkingShowGivesTheContentOrTheBodyAlone(t *testing.T) {
	router := &fakeRouter{shown: &admin.ParkedMessage{Parked: admin.Parked{ID: "nyc/audit@1764530000000:7>ams", Reason: "unroutable", Errors: "312 NO_ROUTE", Attempts: 3, FirstTry: time.Now().Add(-3*time.Hour - time.Second), LastTry: time.Now().Add(-2*time.Hour - time.Second)},
		Exchange: "audit", RoutingKey: "a.b", TTLSeconds: new(90.0), Raw: []byte{1, 2}, Body: []byte(`{"n":1}`), Path: []string{"sin", "nyc"}}}
	socket := router.serve(t)
	golden(t, "parking_show", strings.ReplaceAll(cloudqueue(t, "parking", "show", "x", "--socket", socket).out, socket, "SOCKET"))
	if got := cloudqueue(t, "parking", "show", "x", "--body", "--socket", socket); got.out != `{"n":1}` {
		t.Errorf("body: %q", got.out)
	}
}

func TestParkingActionsSayWhatStayedParked(t *testing.T) {
	router := &fakeRouter{result: &admin.ParkResult{Done: 2, Failed: []admin.ParkFailed{{ID: "x", Error: "exchange audit is missing"}}}}
	cloudqueue(t, "parking", "redrive", "--reason", "unroutable", "--all", "--socket", router.serve(t)).want(t, exitNo, "2 done, 1 stayed parked", "x: exchange audit is missing")
	cloudqueue(t, "parking", "redrive", "x", "y", "z", "gone", "--socket", router.serve(t)).want(t, exitNo, "2 done, 1 stayed parked, 1 not parked here")
	var printed struct{ Done, Absent int }
	if err := json.Unmarshal([]byte(cloudqueue(t, "parking", "redrive", "x", "y", "z", "gone", "gone", "-o", "json", "--socket", router.serve(t)).out), &printed); err != nil || printed.Absent != 1 {
		t.Errorf("printed %+v, %v; one is not parked", printed, err)
	}
	router = &fakeRouter{result: &admin.ParkResult{Done: 1}}
	cloudqueue(t, "parking", "drop", "x", "--why", "test data", "--socket", router.serve(t)).want(t, exitOK, "drop: 1 done, 0 stayed parked")
	if diff := cmp.Diff([]string{"x"}, router.action.Filter.IDs); diff != "" || router.action.Why != "test data" {
		t.Errorf("asked for %+v", router.action)
	}
}

func TestANamedMessageThatIsNotParkedIsANo(t *testing.T) {
	router := &fakeRouter{result: &admin.ParkResult{Done: 1}}
	cloudqueue(t, "parking", "drop", "x", "gone", "--why", "test data", "--socket", router.serve(t)).want(t, exitNo, "1 done, 0 stayed parked, 1 not parked here")
}

func TestNamesOfParkedMessagesAreQuotedForTheShell(t *testing.T) {
	const name = "ams/orders@1764534000000:2>nyc"
	router := &fakeRouter{parked: &admin.ParkedList{Total: 1, Parked: []admin.Parked{{ID: name, Reason: "refused"}}}, shown: &admin.ParkedMessage{Parked: admin.Parked{ID: name}},
		result: &admin.ParkResult{Failed: []admin.ParkFailed{{ID: name, Error: "no"}}}}
	socket := router.serve(t)
	for _, line := range []string{"list", "show x", "redrive x"} {
		got := cloudqueue(t, append(append([]string{"parking"}, strings.Fields(line)...), "--socket", socket)...).out
		if strings.Contains(strings.ReplaceAll(got, "'"+name+"'", ""), name) || !strings.Contains(got, name) {
			t.Errorf("parking %s shows a name without quotes, or none:\n%s", line, got)
		}
	}
}

func TestAChoiceThatCanMatchNothingIsRefused(t *testing.T) {
	socket := (&fakeRouter{parked: &admin.ParkedList{}}).serve(t)
	cloudqueue(t, "parking", "list", "--lane", "foo", "--socket", socket).want(t, exitUsage, `"foo" is not a lane`, "ams/orders")
	for _, to := range []string{"nyc:x", "nyc:256", "nyc:", "nyc:0", "nyc:01", "NYC"} {
		cloudqueue(t, "parking", "list", "--to", to, "--socket", socket).want(t, exitUsage, `"`+to+`" is not a destination`, "nyc:2")
	}
	cloudqueue(t, "parking", "list", "--lane", "ams/orders#2", "--to", "nyc:255", "--socket", socket).want(t, exitOK)
}
