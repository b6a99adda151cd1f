package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

// fakeRouter answers what it was given and remembers what it was asked.
type fakeRouter struct {
	status Status
	err    error
	asked  []any
	block  chan struct{} // Books waits for it; nil: it does not
}

func (f *fakeRouter) Status(context.Context) (*Status, error) { return &f.status, f.err }

func (f *fakeRouter) Books(ctx context.Context) (*Books, error) {
	if f.block != nil {
		f.block <- struct{}{}
		<-f.block
	}
	return &Books{Store: "s", Lines: []BookLine{{Side: Target, Lane: "ams/orders", Join: 1, Done: 5, Counters: Counters{Delivered: 5}}}}, f.err
}

func (f *fakeRouter) Parked(_ context.Context, filter ParkFilter) (*ParkedList, error) {
	f.asked = append(f.asked, filter)
	return &ParkedList{Total: 1, Parked: []Parked{{ID: "ams/orders@7:3>nyc", Offset: 3}}}, f.err
}

func (f *fakeRouter) ShowParked(_ context.Context, id string) (*ParkedMessage, error) {
	f.asked = append(f.asked, id)
	return &ParkedMessage{Parked: Parked{ID: id}, Body: []byte{0, 0xff}}, f.err
}

func (f *fakeRouter) Redrive(_ context.Context, a ParkAction) (*ParkResult, error) {
	f.asked = append(f.asked, a)
	return &ParkResult{Done: 2, Failed: []ParkFailed{{ID: "x", Error: "gone"}}}, f.err
}

func (f *fakeRouter) Drop(_ context.Context, a ParkAction) (*ParkResult, error) {
	f.asked = append(f.asked, a)
	return &ParkResult{Done: 1}, f.err
}

func (f *fakeRouter) Void(_ context.Context, r VoidRequest) (*VoidResult, error) {
	f.asked = append(f.asked, r)
	return &VoidResult{Generation: 7, Messages: 3}, f.err
}

// serve runs a server of the service until the test ends.
func serve(t *testing.T, service Service) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "admin") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "admin.sock")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- NewServer(service, nil).Run(ctx, socket) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
	awaitSocket(t, socket)
	return socket
}

// awaitSocket waits for a file that another goroutine makes; there is nothing to be told by.
func awaitSocket(t *testing.T, socket string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if _, err := os.Lstat(socket); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no socket")
}

func TestEveryCallGoesThroughTheSocketAndBack(t *testing.T) {
	router := &fakeRouter{status: Status{Site: "ams", Store: Store{Epoch: 9}}}
	client := NewClient(serve(t, router))
	defer client.Close()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()

	status, err := client.Status(ctx)
	check(t, "status", status, &Status{Site: "ams", Store: Store{Epoch: 9}}, err)
	books, err := client.Books(ctx)
	check(t, "books", books.Lines[0].Delivered, uint64(5), err)
	parked, err := client.Parked(ctx, ParkFilter{Lane: "ams/orders", Limit: 3})
	check(t, "parked", parked.Parked[0].Offset, federation.Offset(3), err)
	shown, err := client.ShowParked(ctx, "ams/orders@7:3>nyc")
	check(t, "show", shown.Body, []byte{0, 0xff}, err)
	redriven, err := client.Redrive(ctx, ParkAction{Filter: ParkFilter{IDs: []string{"a"}}, Who: "on call"})
	check(t, "redrive", redriven, &ParkResult{Done: 2, Failed: []ParkFailed{{ID: "x", Error: "gone"}}}, err)
	dropped, err := client.Drop(ctx, ParkAction{Why: "test"})
	check(t, "drop", dropped.Done, 1, err)
	voided, err := client.Void(ctx, VoidRequest{Lane: "ams/orders", First: 3, Last: 5})
	check(t, "void", voided, &VoidResult{Generation: 7, Messages: 3}, err)
	check(t, "asked", router.asked, []any{
		ParkFilter{Lane: "ams/orders", Limit: 3}, "ams/orders@7:3>nyc",
		ParkAction{Filter: ParkFilter{IDs: []string{"a"}}, Who: me.Username + " (on call)"}, ParkAction{Who: me.Username, Why: "test"},
		VoidRequest{Lane: "ams/orders", First: 3, Last: 5, Who: me.Username},
	}, nil)
}

func check(t *testing.T, what string, got, want any, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
	}
}

func TestErrorsKeepTheirCodeAndTheirMend(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want Error
	}{
		"told":     {Errorf(NotFound, "list them with `cloudqueue parking list`", "no message %s", "x"), Error{NotFound, "no message x", "list them with `cloudqueue parking list`"}},
		"wrapped":  {fmt.Errorf("show: %w", Errorf(Refused, "", "not now")), Error{Refused, "not now", ""}},
		"unknown":  {errors.New("disk on fire"), Error{Internal, "disk on fire", "look at the router's log"}},
		"too late": {fmt.Errorf("commit: %w", context.DeadlineExceeded), Error{Unavailable, "the router did not answer in time: commit: context deadline exceeded", "look at the router's log and at `cloudqueue status`, then try again"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := NewClient(serve(t, &fakeRouter{err: c.err}))
			defer client.Close()
			_, err := client.Status(t.Context())
			var got *Error
			if !errors.As(err, &got) || *got != c.want {
				t.Errorf("got %#v, want %#v", err, c.want)
			}
		})
	}
}

func TestOnlyTheRoutersUserMayOpenTheSocket(t *testing.T) {
	info, err := os.Lstat(serve(t, &fakeRouter{}))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestASocketThatNobodyAnswersOnIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	if err := os.WriteFile(socket, nil, 0o600); err != nil { // what a SIGKILL leaves
		t.Fatal(err)
	}
	l, err := listen(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestASocketThatIsAnsweredIsNotTakenOver(t *testing.T) {
	socket := serve(t, &fakeRouter{})
	err := NewServer(&fakeRouter{}, nil).Run(t.Context(), socket)
	if err == nil || !strings.Contains(err.Error(), "another router answers") {
		t.Errorf("got %v", err)
	}
}

func TestClosingLeavesTheSocketOfASuccessor(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := listen(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(socket), os.WriteFile(socket, nil, 0o600), l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(socket); err != nil {
		t.Errorf("the successor's socket is gone: %v", err)
	}
}

func TestAPathThatIsTooLongIsSaidToBe(t *testing.T) {
	_, err := listen(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("x", 120)))
	if err == nil || !strings.Contains(err.Error(), "shorter data-dir") {
		t.Errorf("got %v", err)
	}
}

func TestTheLongestPathIsListenedOn(t *testing.T) {
	dir, err := os.MkdirTemp("", "cq")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, strings.Repeat("d", MaxSocketPath-len(dir)-len("//admin.sock")))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := listen(t.Context(), filepath.Join(folder, "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}

func TestACallWithoutARouterIsUnreachable(t *testing.T) {
	client := NewClient(filepath.Join(t.TempDir(), "nobody"))
	_, err := client.Status(t.Context())
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Status(ctx); err != context.Canceled {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestACallUnderWayFinishesWhenTheRouterStops(t *testing.T) {
	router := &fakeRouter{block: make(chan struct{})}
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	stopped, answered := make(chan error, 1), make(chan error, 1)
	go func() { stopped <- NewServer(router, nil).Run(ctx, socket) }()
	awaitSocket(t, socket)
	go func() {
		_, err := NewClient(socket).Books(t.Context())
		answered <- err
	}()
	<-router.block // the call is under way
	cancel()
	router.block <- struct{}{}
	if err := errors.Join(<-answered, <-stopped); err != nil {
		t.Error(err)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	handler := NewServer(&fakeRouter{}, nil).handler()
	for name, c := range map[string]struct {
		method, path string
		body         io.Reader
		want         int
	}{
		"unknown field":    {"POST", pathDrop, strings.NewReader(`{"filter":{"everything":true}}`), http.StatusBadRequest},
		"no JSON":          {"POST", pathDrop, strings.NewReader(`drop all`), http.StatusBadRequest},
		"two values":       {"POST", pathDrop, strings.NewReader(`{} {}`), http.StatusBadRequest},
		"nothing":          {"POST", pathDrop, http.NoBody, http.StatusBadRequest},
		"too large":        {"POST", pathDrop, bytes.NewReader(append([]byte(`{"why":"`), make([]byte, MaxRequest)...)), http.StatusBadRequest},
		"mistyped list":    {"POST", pathParked, strings.NewReader(`{"reason":"too large"}`), http.StatusBadRequest},
		"mistyped redrive": {"POST", pathRedrive, strings.NewReader(`{"filter":{"reason":"unrouteable"}}`), http.StatusBadRequest},
		"mistyped drop":    {"POST", pathDrop, strings.NewReader(`{"filter":{"reason":"unrouteable"},"why":"x"}`), http.StatusBadRequest},
		"other method":     {"GET", pathDrop, http.NoBody, http.StatusMethodNotAllowed},
		"other path":       {"GET", "/v2/status", http.NoBody, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(c.method, c.path, c.body))
			if w.Code != c.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.want)
			}
		})
	}
}

func TestAReasonThatNothingIsParkedForIsRefusedWithThoseThatThereAre(t *testing.T) {
	router := &fakeRouter{}
	client := NewClient(serve(t, router))
	defer client.Close()
	for _, reason := range ParkReasons() {
		if _, err := client.Parked(t.Context(), ParkFilter{Reason: reason}); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
	_, err := client.Drop(t.Context(), ParkAction{Filter: ParkFilter{Reason: "too large"}, Why: "test"})
	want := Error{BadRequest, `"too large" is not a reason of parking`, "write one of: bad-properties, refused, too-large, unroutable"}
	var got *Error
	if !errors.As(err, &got) || *got != want {
		t.Errorf("got %#v, want %#v", err, want)
	}
	if len(router.asked) != len(ParkReasons()) {
		t.Errorf("the router was asked to drop: %v", router.asked)
	}
}

func TestTheGuaranteesNameEveryReasonOfParking(t *testing.T) {
	text, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range ParkReasons() {
		if !bytes.Contains(text, []byte("\n| `"+reason+"` | ")) {
			t.Errorf("the table of reasons has no %s", reason)
		}
	}
}

func TestBookLinesBalanceOrSayWhatDoesNotAddUp(t *testing.T) {
	whole := BookLine{Side: Origin, Join: 3, Done: 10, Counters: Counters{Delivered: 5, Parked: 1, Expired: 1, Voided: 1}, LastAssigned: 14, Stored: 3, StoredVoided: 1}
	for name, c := range map[string]struct {
		change func(*BookLine)
		want   string
	}{
		"whole":             {func(*BookLine) {}, ""},
		"nothing arrived":   {func(l *BookLine) { *l = BookLine{Side: Target, Join: 1} }, ""},
		"one not counted":   {func(l *BookLine) { l.Delivered-- }, "done 10 - join 3 + 1 = 8, but 7 are counted"},
		"one too many":      {func(l *BookLine) { l.Excluded++ }, "done 10 - join 3 + 1 = 8, but 9 are counted"},
		"done before join":  {func(l *BookLine) { l.Done = 1 }, "done 1 is below join 3 - 1"},
		"one not stored":    {func(l *BookLine) { l.Stored-- }, "last assigned 14 - receipted 10 = 4, but 2 are stored and 1 voided"},
		"receipt too high":  {func(l *BookLine) { l.LastAssigned = 9 }, "receipted 10 is over last assigned 9"},
		"no origin's lines": {func(l *BookLine) { l.Side, l.Stored = Target, 0 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			line := whole
			c.change(&line)
			line.Balance()
			if line.Problem != c.want || line.Balanced != (c.want == "") {
				t.Errorf("got %q, %v; want %q", line.Problem, line.Balanced, c.want)
			}
			if books := (Books{Lines: []BookLine{line}}); books.Balanced() != line.Balanced {
				t.Errorf("books balanced: %v", books.Balanced())
			}
		})
	}
}

func TestProblemsListEveryPartThatNeedsAttention(t *testing.T) {
	ill := Condition{State: Held, Reason: "r", Fix: "f"}
	well := Condition{State: Running}
	status := Status{
		Router: Router{Condition: well}, Store: Store{Condition: ill},
		Broker:   Broker{Condition: well, Connections: []BrokerConnection{{ill, "consuming", "", time.Time{}}}, Publishers: []Publisher{{ill, 0, "cq.owner.ams.0"}}},
		Topology: Topology{Condition: ill}, Listener: Listener{Condition: well},
		Links:   []Link{{Condition: ill, Peer: "nyc"}, {Condition: well, Peer: "sin"}},
		Out:     []OutLane{{Condition: ill, Lane: "ams/a", Destinations: []OutDestination{{Condition: ill, Destination: "nyc"}, {Condition: well, Destination: "sin"}}}},
		In:      []InLane{{Condition: ill, Lane: "nyc/b", Destination: "ams:2"}},
		Parking: Parking{Condition: ill},
	}
	var got []string
	for _, p := range status.Problems() {
		got = append(got, p.Part)
	}
	want := []string{"store", "broker connection consuming", "publisher cq.owner.ams.0", "topology", "link nyc", "lane ams/a", "lane ams/a → nyc", "lane nyc/b → ams:2", "parking"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
