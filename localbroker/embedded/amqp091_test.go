//go:build integration

package embedded

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const clientModule = "github.com/rabbitmq/amqp091-go"

// needManagement are the client's tests that look connections up and drop them over RabbitMQ's management API: they run
// where there is one, at the embedded broker always (fakeManagement).
const needManagement = "^TestConnectionRecovery(Publish|Consume|CustomSASLPlainAuth|ChannelIDReservation|LifeCycleNotifyStateChange|" +
	"CancelInterrupt|ExclusiveQueue|DeletedQueueSkip|TopologyOnlyTransient|MultiChannelTopology|TopologyAllEnabled|" +
	"TopologyDisabled|ExhaustionDoesNotPanic|AutoDeleteTopologyForgotten|AutoDeleteExchangeCascade|SkipAndContinue|" +
	"ConsumerNotForgottenAfterFailedResubscribe)$"

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
	runClientTests(t, "^$", management,
		"AMQP_URL=amqp://guest:guest@"+address+"/",
		"EMBEDDED_ALARM_URL=http://localhost:"+management+"/alarm/",
		"RABBITMQ_RABBITMQCTL_PATH="+must(os.Executable()))
}

// The same tests pass against RabbitMQ, so what the embedded broker passes means something. Those that need the management
// API run when CLOUDQUEUE_TEST_MANAGEMENT names its port.
func TestRabbitMQPassesTheClientsOwnTests(t *testing.T) {
	skip, port := needManagement, os.Getenv("CLOUDQUEUE_TEST_MANAGEMENT")
	if port != "" {
		skip = "^$"
	}
	runClientTests(t, skip, port, "AMQP_URL=amqp://guest:guest@"+brokerAddress(t)+"/")
}

// runClientTests copies the client's module, which has its tests in it, and runs them there.
func runClientTests(t *testing.T, skip, managementPort string, env ...string) {
	t.Helper()
	dir := copyModule(t, managementPort)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "integration", "-timeout", "5m", "-count", "1", "-v", "-skip", skip, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	passed := len(regexp.MustCompile(`(?m)^--- PASS`).FindAll(out, -1))
	t.Logf("%d of the client's tests passed", passed)
	for _, line := range regexp.MustCompile(`(?m)^--- SKIP.*$`).FindAllString(string(out), -1) {
		t.Log(line)
	}
	if err != nil || passed < 200 {
		t.Errorf("%v\n%s", err, failures(string(out)))
	}
}

// failures is what the output says from each failed test on.
func failures(out string) string {
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
	for _, name := range []string{"recovery_test.go", "internal/utils/http.go"} {
		moveManagement(t, filepath.Join(dir, name), managementPort)
	}
	return dir
}

// moveManagement puts another port in the place of the one that the tests expect the management API at.
func moveManagement(t *testing.T, file, port string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if port != "" {
		text = []byte(strings.ReplaceAll(string(text), "15672", port))
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

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
