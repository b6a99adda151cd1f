package parts

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of /proc/PID/stat: USER_HZ, which is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// Usage is what a process has used so far. Children that it waited for are not in it.
type Usage struct {
	CPU         time.Duration // user and system, in steps of 10 ms
	ResidentMax int64         // bytes, the most so far
}

// ReadUsage reads the usage of any process of this machine from /proc.
func ReadUsage(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	cpu, err := parseCPU(string(stat))
	if err != nil {
		return Usage{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	return Usage{CPU: cpu, ResidentMax: parseHighWater(string(status))}, nil
}

// parseCPU adds utime and stime: fields 14 and 15. The name, field 2, may hold spaces and ends at the last parenthesis.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%d fields after the name, want at least 13", len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("utime: %w", err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("stime: %w", err)
	}
	return time.Duration(user+system) * clockTick, nil
}

// parseHighWater reads the line VmHWM; a process without memory of its own (a zombie) has none.
func parseHighWater(status string) int64 {
	_, rest, ok := strings.Cut(status, "VmHWM:")
	if !ok {
		return 0
	}
	var kilobytes int64
	fmt.Sscan(rest, &kilobytes) // 0 if it is no number
	return kilobytes << 10
}
