package parts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell starts a shell script as a part.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Command{Name: "part", Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// short bounds what must come soon.
func short(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// exists says whether a process that runs, or is a zombie, has this id.
func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// waitGone waits for the end of a process that is not our child.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); exists(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// readPID waits for a process id in a file.
func readPID(t *testing.T, path string) int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return pid
		}
		if time.Now().After(deadline) {
			t.Fatalf("no process id in %s", path)
		}
	}
}

func TestAPartThatEndsTellsItsExitCodeAndLog(t *testing.T) {
	p := shell(t, "echo said; exit 7")

	code, err := p.ExitCode(short(t))

	if err != nil || code != 7 || p.Log(100) != "said" || p.Running() {
		t.Errorf("exit code %d, %v, log %q, running %v; want 7, nil, said, false", code, err, p.Log(100), p.Running())
	}
}

func TestStopAsksAndThenKills(t *testing.T) {
	polite := shell(t, "trap 'exit 0' TERM; while :; do sleep 0.05; done")
	deaf := shell(t, "trap '' TERM; while :; do sleep 0.05; done")
	time.Sleep(100 * time.Millisecond) // the shells set their traps

	if err := polite.Stop(short(t)); err != nil {
		t.Errorf("polite: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := deaf.Stop(soon); !errors.Is(err, context.DeadlineExceeded) || deaf.Running() {
		t.Errorf("deaf: %v, running %v; want an error that says it was killed", err, deaf.Running())
	}
}

func TestKillEndsThePartsChildrenToo(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := shell(t, "sleep 600 & echo $! > "+pidFile+"; wait")
	child := readPID(t, pidFile)

	p.Kill()

	waitGone(t, child)
}

func TestAPausedPartDoesNothingUntilResumed(t *testing.T) {
	beat := filepath.Join(t.TempDir(), "beat")
	p := shell(t, "while :; do date +%N > "+beat+"; sleep 0.01; done")
	read := func() string { b, _ := os.ReadFile(beat); return string(b) }
	for read() == "" {
		time.Sleep(time.Millisecond)
	}

	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	before := read()
	time.Sleep(200 * time.Millisecond)
	if after := read(); after != before {
		t.Error("it went on while paused")
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); read() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not go on")
		}
	}
}

// TestPartsDieWithTheirParent runs this test binary again as a parent that is killed.
func TestPartsDieWithTheirParent(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	if dir := os.Getenv("PARTS_TEST_PARENT"); dir != "" {
		beParent(t, dir)
	}
	parent := exec.Command(os.Args[0], "-test.run", "^TestPartsDieWithTheirParent$")
	parent.Env = append(os.Environ(), "PARTS_TEST_PARENT="+pidFile, "TMPDIR="+t.TempDir()) // it does not come to clean up
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	part := readPID(t, pidFile)

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()

	waitGone(t, part)
}

func beParent(t *testing.T, pidFile string) {
	p := shell(t, "sleep 600")
	if err := os.WriteFile(pidFile, []byte(fmt.Sprint(p.PID())), 0o600); err != nil {
		t.Fatal(err)
	}
	select {}
}

func TestFreePortsLieBelowTheKernelsRange(t *testing.T) {
	for range 100 {
		port, err := FreePort()
		if err != nil || port < firstPort || port > lastPort {
			t.Fatalf("port %d, %v", port, err)
		}
	}
}
