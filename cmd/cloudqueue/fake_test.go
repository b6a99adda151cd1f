package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cloudqueue/router/admin"
	"cloudqueue/router/site"
)

// fakeRouter answers what it was given and remembers what it was asked.
type fakeRouter struct {
	err    error
	stuck  bool          // Status waits for its context
	asked  chan struct{} // gets a token for each Status; nil: none
	status *admin.Status
	books  *admin.Books
	parked *admin.ParkedList
	shown  *admin.ParkedMessage
	result *admin.ParkResult
	void   *admin.VoidResult

	filter admin.ParkFilter
	action admin.ParkAction
	voided admin.VoidRequest
}

func (f *fakeRouter) Status(ctx context.Context) (*admin.Status, error) {
	if f.asked != nil {
		f.asked <- struct{}{}
	}
	if f.stuck {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.status, f.err
}

func (f *fakeRouter) Books(context.Context) (*admin.Books, error) { return f.books, f.err }

func (f *fakeRouter) Parked(_ context.Context, filter admin.ParkFilter) (*admin.ParkedList, error) {
	f.filter = filter
	return f.parked, f.err
}

func (f *fakeRouter) ShowParked(context.Context, string) (*admin.ParkedMessage, error) {
	return f.shown, f.err
}

func (f *fakeRouter) Redrive(_ context.Context, action admin.ParkAction) (*admin.ParkResult, error) {
	f.action = action
	return f.result, f.err
}

func (f *fakeRouter) Drop(_ context.Context, action admin.ParkAction) (*admin.ParkResult, error) {
	f.action = action
	return f.result, f.err
}

func (f *fakeRouter) Void(_ context.Context, request admin.VoidRequest) (*admin.VoidResult, error) {
	f.voided = request
	return f.void, f.err
}

// serve runs a server of the router until the test ends.
func (f *fakeRouter) serve(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cq") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- admin.NewServer(f, nil).Run(ctx, socket) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(socket); err == nil {
			return socket
		}
	}
	t.Fatal("no socket")
	return ""
}

// routerFile writes a router's file that is right, beside which nothing exists.
func routerFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "router.yaml")
	text := "site: " + name + "\nlisten: " + freeUDPAddress(t) + `
data-dir: data
broker: {url: "amqp://127.0.0.1:1"}
topology: {file: topology.yaml}
certificates: {certificate: ams.crt, key: ams.key, authorities: ca.crt}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// freeUDPAddress is one that nobody listens on at this moment.
func freeUDPAddress(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().String()
}

// fakeParts has a router that tells its site and runs until it is told to stop.
func fakeParts(started chan<- string) parts {
	return parts{router: func(ctx context.Context, config *site.Config, logger *slog.Logger) error {
		logger.Info("router started")
		started <- string(config.Site)
		<-ctx.Done()
		return nil
	}, demo: func(context.Context, io.Writer, demoOptions) error { return nil }}
}
