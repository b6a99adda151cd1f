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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// exists says whether a process that runs, or is a zombie, has this id.
func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// waitGone waits for the end of a process that is not our child.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); exists(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// waitState waits until the kernel gives a process this state: R, S, T …
func waitState(t *testing.T, pid int, want string) {
	t.Helper()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(rest, want) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// readPID waits for a process id in a file.
func readPID(t *testing.T, path string) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
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
	polite := shell(t, "trap 'exit 0' TERM; echo trapped; while :; do sleep 0.05; done")
	deaf := shell(t, "trap '' TERM; echo trapped; while :; do sleep 0.05; done")
	for polite.Log(100) == "" || deaf.Log(100) == "" {
		time.Sleep(time.Millisecond)
	}

	if err := polite.Stop(short(t)); err != nil {
		t.Errorf("polite: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := deaf.Stop(soon); !errors.Is(err, context.DeadlineExceeded) || deaf.Running() {
		t.Errorf("deaf: %v, running %v; want an error that says it was killed", err, deaf.Running())
	}
}

func TestAnEndWithAnotherCodeThan0IsNoCleanStop(t *testing.T) {
	unwell := shell(t, "trap 'echo no room; exit 3' TERM; echo trapped; while :; do sleep 0.05; done")
	crashed := shell(t, "echo out of memory; exit 2")
	killed := shell(t, "while :; do sleep 0.05; done")
	for unwell.Log(100) == "" {
		time.Sleep(time.Millisecond)
	}
	<-crashed.Done()
	killed.Kill()

	if err := unwell.Stop(short(t)); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no room") {
		t.Errorf("unwell: %v; want its code and its log", err)
	}
	if err := crashed.Stop(short(t)); err == nil || !strings.Contains(err.Error(), "exit status 2") {
		t.Errorf("crashed before: %v; want its code", err)
	}
	if err := killed.Stop(short(t)); err != nil {
		t.Errorf("killed by us: %v, want nil", err)
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
	p := shell(t, "i=0; while :; do i=$((i + 1)); echo $i > "+beat+"; done") // in the shell itself: a child is not paused
	read := func() string { b, _ := os.ReadFile(beat); return string(b) }
	for read() == "" {
		time.Sleep(time.Millisecond)
	}

	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	waitState(t, p.PID(), "T")
	before := read()
	time.Sleep(200 * time.Millisecond) // what it would beat in, a thousand times
	if after := read(); after != before {
		t.Error("it went on while paused")
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); read() == before; time.Sleep(time.Millisecond) {
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
