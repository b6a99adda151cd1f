package parts

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestUsageCountsTheCPUTimeOfAProcess(t *testing.T) {
	before, err := ReadUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	spin(t, 50*time.Millisecond)
	after, err := ReadUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}

	if used := after.CPU - before.CPU; used < 40*time.Millisecond || after.ResidentMax < 1<<20 {
		t.Errorf("used %v of CPU, %d bytes at most; want about 50ms, in steps of 10ms, and 1 MiB", used, after.ResidentMax)
	}
}

// spin uses that much CPU time, however long a busy machine takes to give it.
func spin(t *testing.T, cpu time.Duration) {
	t.Helper()
	used := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			t.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	for start := used(); used()-start < cpu; {
	}
}

func TestUsageReadsNamesWithSpacesAndParentheses(t *testing.T) {
	got, err := parseCPU("7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 100 0 0")

	if err != nil || got != 2*time.Second {
		t.Errorf("got %v, %v; want 2s", got, err)
	}
}
