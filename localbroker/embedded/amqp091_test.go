//go:build integration

package embedded

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const clientModule = "github.com/rabbitmq/amqp091-go"

// TestMain is also rabbitmqctl for the client's test of the memory alarm.
func TestMain(m *testing.M) {
	if url := os.Getenv("EMBEDDED_ALARM_URL"); url != "" && len(os.Args) == 3 && os.Args[1] == "set_vm_memory_high_watermark" {
		level, _ := strconv.ParseFloat(os.Args[2], 64)
		if _, err := http.Post(url+strconv.FormatBool(level < 0.01), "", nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The client's own integration tests pass against the embedded broker, all of them.
func TestEmbeddedPassesTheClientsOwnTests(t *testing.T) {
	b := New(Config{Product: "RabbitMQ"}) // three of the tests do nothing with another product
	address := listenAndServe(t, b)
	management := fakeManagement(t, b)
	runClientTests(t, management, nil,
		"AMQP_URL=amqp://guest:guest@"+address+"/",
		"EMBEDDED_ALARM_URL=http://localhost:"+management+"/alarm/",
		"RABBITMQ_RABBITMQCTL_PATH="+must(os.Executable()))
}

// The same tests pass against RabbitMQ, so what the embedded broker passes means something. Some of them look connections up
// and drop them over its management API.
func TestRabbitMQPassesTheClientsOwnTests(t *testing.T) {
	management := os.Getenv("CLOUDQUEUE_TEST_MANAGEMENT")
	if management == "" {
		t.Fatal("CLOUDQUEUE_TEST_MANAGEMENT names no port of RabbitMQ's management API: run this by make test, or by scripts/with-brokers")
	}
	// It would raise an alarm on a node that other packages use at the same time.
	skipped := []string{"TestConnection_Close_WhenMemoryAlarmIsActive"}
	runClientTests(t, management, skipped, "AMQP_URL=amqp://guest:guest@"+brokerAddress(t)+"/")
}

// runClientTests copies the client's module, which has its tests in it, and runs them there: all but those that skip, which are named.
func runClientTests(t *testing.T, managementPort string, skipped []string, env ...string) {
	t.Helper()
	dir := copyModule(t, managementPort)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "integration", "-timeout", "3m", "-count", "1", "-v", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	passed := len(regexp.MustCompile(`(?m)^--- PASS`).FindAll(out, -1))
	t.Logf("%d of the client's tests passed; the slowest: %s", passed, strings.Join(slowest(string(out), 12), ", "))
	var found []string
	for _, skip := range regexp.MustCompile(`(?m)^--- SKIP: (\w+)`).FindAllStringSubmatch(string(out), -1) {
		found = append(found, skip[1])
	}
	if !slices.Equal(found, skipped) {
		t.Errorf("skipped %v, want %v", found, skipped)
	}
	if err != nil || passed < 200 {
		t.Errorf("%v\n%s", err, failures(string(out)))
	}
}

// slowest names the tests that took longest, with their seconds.
func slowest(out string, n int) []string {
	found := regexp.MustCompile(`(?m)^--- \w+: (\w+) \((\d+\.\d+)s\)$`).FindAllStringSubmatch(out, -1)
	seconds := func(of []string) float64 { return must(strconv.ParseFloat(of[2], 64)) }
	slices.SortFunc(found, func(a, b []string) int { return cmp.Compare(seconds(b), seconds(a)) })
	var names []string
	for _, f := range found[:min(n, len(found))] {
		names = append(names, f[1]+" "+f[2]+" s")
	}
	return names
}

// failures is what the output says of each failed test and, after a time-out, which test hung and what every goroutine waited for.
func failures(out string) string {
	if i := strings.Index(out, "panic: test timed out"); i >= 0 {
		return out[max(0, i-4000):min(len(out), i+64000)]
	}
	if i := strings.Index(out, "--- FAIL"); i >= 0 {
		return out[max(0, i-4000):min(len(out), i+16000)]
	}
	return out[max(0, len(out)-8000):]
}

func copyModule(t *testing.T, managementPort string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", clientModule).Output()
	if err != nil {
		t.Fatalf("find %s: %v", clientModule, err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes(managementPort) {
		c.make(t, dir)
	}
	return dir
}

// change puts other text into a file of the client's module, which has to be there.
type change struct{ file, old, new string }

// changes make the client's tests find the management API, repair a race of the client's that makes one of them hang, and shorten waits
// that say nothing of the broker, which were two thirds of the time (146 s, 57 s without them).
func changes(managementPort string) []change {
	list := []change{
		// A call looks for the place of its answer after it was sent. When the answer closes the channel, and recovery is faster than
		// that look, it takes the answer to recovery's channel.open, which then is waited for without end
		// (TestConnectionRecoverySkipAndContinueNoInfiniteLoop, seen when two runs shared the machine).
		{"channel.go", callSend + callWait + callLook, callLook + callSend + callWait},
		{"channel.go", "const notifyTimeout = 5 * time.Second", "const notifyTimeout = time.Second"},
		{"recovery.go", "DefaultRetryInterval = 5 * time.Second", "DefaultRetryInterval = 200 * time.Millisecond"},
	}
	if managementPort != "" {
		list = append(list, change{"recovery_test.go", "15672", managementPort}, change{"internal/utils/http.go", "15672", managementPort})
	}
	return list
}

func (c change) make(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, c.file)
	text := string(must(os.ReadFile(name)))
	if !strings.Contains(text, c.old) {
		t.Fatalf("the client's %s has no %q any more: look whether the change is needed", c.file, c.old)
	}
	if err := errors.Join(os.Chmod(name, 0o644), os.WriteFile(name, []byte(strings.ReplaceAll(text, c.old, c.new)), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Parts of the client's Channel.call.
const (
	callSend = "\tif err := ch.send(req); err != nil {\n\t\treturn err\n\t}\n\n"
	callWait = "\tif req.wait() {\n"
	callLook = "\t\tch.m.Lock()\n\t\terrors := ch.errors\n\t\trpc := ch.rpc\n\t\tch.m.Unlock()\n\n"
)

// fakeManagement is as much of RabbitMQ's management API as the client's tests use: list connections and drop one; and a
// switch for the alarm.
func fakeManagement(t *testing.T, b *Broker) (port string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/connections/", func(w http.ResponseWriter, _ *http.Request) { listConnections(w, b) })
	mux.HandleFunc("DELETE /api/connections/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseUint(r.PathValue("id"), 10, 64)
		b.CloseConnection(id, "Closed via management plugin")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /alarm/{on}", func(_ http.ResponseWriter, r *http.Request) { b.SetAlarm(r.PathValue("on") == "true") })
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-served })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func listConnections(w http.ResponseWriter, b *Broker) {
	type properties struct {
		Name string `json:"connection_name"`
	}
	type connection struct {
		Name       string     `json:"name"`
		Properties properties `json:"client_properties"`
	}
	list := []connection{}
	for _, c := range b.Connections() {
		list = append(list, connection{strconv.FormatUint(c.ID, 10), properties{c.Name}})
	}
	json.NewEncoder(w).Encode(list)
}
