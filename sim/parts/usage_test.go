package parts

import (
	"os"
	"testing"
	"time"
)

func TestUsageCountsTheCPUTimeOfAProcess(t *testing.T) {
	before, err := ReadUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
	}
	after, err := ReadUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}

	if used := after.CPU - before.CPU; used < 10*time.Millisecond || after.ResidentMax < 1<<20 {
		t.Errorf("used %v of CPU, %d bytes at most; want more than 10ms and 1 MiB", used, after.ResidentMax)
	}
}

func TestUsageReadsNamesWithSpacesAndParentheses(t *testing.T) {
	got, err := parseCPU("7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 100 0 0")

	if err != nil || got != 2*time.Second {
		t.Errorf("got %v, %v; want 2s", got, err)
	}
}
