package main

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
)

// changeRouterFile replaces a part of a router's file.
func changeRouterFile(t *testing.T, file, part, by string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), part) {
		t.Fatalf("%q is not in %s", part, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), part, by, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

const topologyFromFile = "topology: {file: topology.yaml}"

// doctorOn runs doctor and gives its findings about a part, each with what to do.
func doctorOn(t *testing.T, file, part string) (found string) {
	t.Helper()
	got := cloudqueue(t, "doctor", "-c", file, "--timeout", "5s")
	for rest := got.out; ; {
		at := strings.Index(rest, "  "+part)
		if at < 2 {
			break
		}
		line, after, _ := strings.Cut(rest[at-2:], "\n")
		if found += line + "\n"; strings.HasPrefix(after, "      to do: ") {
			line, after, _ = strings.Cut(after, "\n")
			found += line + "\n"
		}
		rest = after
	}
	if found == "" {
		t.Fatalf("nothing about %s (code %d):\n%s%s", part, got.code, got.out, got.errs)
	}
	return found
}

func wantIn(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not in:\n%s", word, text)
		}
	}
}

func TestDoctorTellsAnEtcdThatIsAwayFromOneThatIsEmpty(t *testing.T) {
	file := routerFile(t, "ams")
	changeRouterFile(t, file, topologyFromFile, `etcd: {endpoints: ["http://127.0.0.1:1"], timeout: 500ms}`)

	wantIn(t, doctorOn(t, file, "topology"), "XX  topology: ", "127.0.0.1:1: connect: connection refused; there is no last good copy yet: a router waits", "to do: see that etcd runs")

	data := filepath.Join(filepath.Dir(file), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "topology.last-good.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantIn(t, doctorOn(t, file, "topology"), "!   topology: ", "a router goes on with its last good copy", "to do: see that etcd runs")

	endpoint := startEtcd(t)
	changeRouterFile(t, file, "http://127.0.0.1:1", "http://"+endpoint)
	wantIn(t, doctorOn(t, file, "topology"), "XX  topology: etcd http://"+endpoint+" holds no topology", "to do: cloudqueue topology apply --config "+file)

	cloudqueue(t, "topology", "apply", document(t, ordersRoute), "--etcd", endpoint).want(t, exitOK)
	wantIn(t, doctorOn(t, file, "topology"), "ok  topology: digest ", "from here: 1 route, to here: 0 routes, 1 peer")
}

// serveTLS is what a router meets at the endpoint of an etcd: TLS, by a certificate of an authority that nobody knows, which wants a
// client's certificate. It gives its own as PEM.
func serveTLS(t *testing.T) (endpoint string, certificate []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.EnableHTTP2, server.TLS = true, &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestDoctorSaysWhichCertificateKeepsEtcdAway(t *testing.T) {
	endpoint, certificate := serveTLS(t)
	file := routerFile(t, "ams")
	dir := filepath.Dir(file)
	cloudqueue(t, "pki", "init", "--dir", filepath.Join(dir, "pki"), "--federation", "cloudqueue").want(t, exitOK)
	cloudqueue(t, "pki", "issue", "ams", "--dir", filepath.Join(dir, "pki"), "--out", dir).want(t, exitOK)
	changeRouterFile(t, file, topologyFromFile, `etcd: {endpoints: ["`+endpoint+`"], authorities: etcd.crt, timeout: 1s}`)

	wantIn(t, doctorOn(t, file, "topology"), "XX  topology: etcd: open "+dir+"/etcd.crt: no such file", "to do: ", "etcd in the router's file")

	changeRouterFile(t, file, "etcd.crt", "ca.crt")
	wantIn(t, doctorOn(t, file, "topology"), "XX  topology: ", "certificate signed by unknown authority", "to do: see that etcd speaks TLS there, and etcd.authorities")

	if err := os.WriteFile(filepath.Join(dir, "etcd.crt"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	changeRouterFile(t, file, "authorities: ca.crt, timeout", "authorities: etcd.crt, timeout")
	wantIn(t, doctorOn(t, file, "topology"), "XX  topology: ", "remote error: tls: certificate required", "etcd.certificate and etcd.key in the router's file")
}

// serveBroker runs an embedded broker until the test ends, and gives a channel of a service.
func serveBroker(t *testing.T) (address string, service *amqp.Channel) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	broker := embedded.New(embedded.Config{})
	served := make(chan error, 1)
	go func() { served <- broker.Serve(ctx, listener) }()
	conn, err := amqp.Dial("amqp://guest:guest@" + listener.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		<-served
		_ = broker.Close(context.Background())
	})
	service, err = conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String(), service
}

func TestDoctorLooksAtTheQueuesAndExchangesThatTheTopologyNames(t *testing.T) {
	address, service := serveBroker(t)
	if err := service.ExchangeDeclare("orders", "topic", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := service.QueueDeclare("cq.out.orders", true, false, false, false, amqp.Table{"x-max-length": int64(5)}); err != nil {
		t.Fatal(err)
	}
	file := routerFile(t, "ams")
	changeRouterFile(t, file, "amqp://127.0.0.1:1", "amqp://"+address)
	topology := document(t,
		"orders: {from: {site: ams, exchange: orders, keys: ['#']}, to: [{site: nyc}]}",
		"old: {from: {site: ams, queue: legacy}, to: [{site: nyc}]}",
		"audit: {from: {site: nyc, exchange: audit, keys: ['#']}, to: [{site: ams}]}",
		"bills: {from: {site: nyc, queue: bills}, to: [{site: ams, queue: bills}]}")
	changeRouterFile(t, file, "topology.yaml", topology)

	found := doctorOn(t, file, "broker")

	wantIn(t, found,
		`ok  broker, connection: `,
		`!   broker, queue "cq.out.orders": PRECONDITION_FAILED`, "x-max-length", "to do: if that is not on purpose: drain it, rabbitmqctl delete_queue --if-empty cq.out.orders",
		`ok  broker, exchange "orders": exists`,
		`XX  broker, queue "legacy": does not exist`, "to do: declare it, durable, or correct the route's source",
		`XX  broker, exchange "audit": does not exist`, "to do: declare it, durable, or let the route do it",
		`ok  broker, permission to declare cq.*: granted`,
		`ok  broker, permission to bind cq.* to exchange "orders": granted`,
		`??  broker, other permissions: the right to read a queue that is only drained, to declare an exchange that a route declares, and to write to the default exchange`)
	if strings.Contains(found, "publish to exchange") {
		t.Errorf("the permission for an exchange that does not exist is told:\n%s", found)
	}
}
