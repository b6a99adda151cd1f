package parts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestFreePortsLieBelowTheKernelsRangeAndNoneIsGivenTwice(t *testing.T) {
	given := map[int]bool{}
	for range 1000 { // by chance alone some twenty would be
		port, err := FreePort()
		if err != nil || port < firstPort || port > lastPort || given[port] {
			t.Fatalf("port %d, %v, given before: %v", port, err, given[port])
		}
		given[port] = true
	}
}

func TestAPortIsKeptFromOtherProcessesUntilItsOwnOneEnds(t *testing.T) {
	var port int
	other := exec.Command(os.Args[0], "-test.run=^TestPortHoldingProcess$")
	other.Env = append(os.Environ(), "CLOUDQUEUE_TEST_PORT=1", "TMPDIR="+t.TempDir()) // as scripts/with-brokers gives each its own
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Fatal(err)
	}

	_, while := claim(port)
	if err := errors.Join(in.Close(), other.Wait()); err != nil {
		t.Error(err)
	}
	release, after := claim(port)

	if !errors.Is(while, syscall.EWOULDBLOCK) || after != nil {
		t.Fatalf("port %d while the other process runs: %v, after it: %v", port, while, after)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// TestPortHoldingProcess is no test: it is the other process, which tells its port and ends with its input.
func TestPortHoldingProcess(t *testing.T) {
	if os.Getenv("CLOUDQUEUE_TEST_PORT") == "" {
		return
	}
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(port)
	io.Copy(io.Discard, os.Stdin)
}
