package admin

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// connections fills the socket with ones that have asked once and are kept open.
func connections(t *testing.T, socket string, n int) {
	t.Helper()
	for range n {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: router\r\n\r\n", pathStatus)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
}

func TestAFullSocketServesNobodyMoreUntilIdleConnectionsEnd(t *testing.T) {
	socket := serve(t, &fakeRouter{status: Status{Site: "ams"}})
	connections(t, socket, MaxConnections)
	client := NewClient(socket)
	defer client.Close()

	hasty, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := client.Status(hasty); err == nil {
		t.Error("one more than the limit was served")
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, err := client.Status(patient); err != nil || got.Site != "ams" {
		t.Errorf("when the idle ones had their time: %+v, %v", got, err)
	}
}
