package localdir_test

import (
	"errors"
	"sync"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/crashdisk"
	"cloudqueue/router/spool/storetest"
)

// machine is a disk in memory on which a process may die at any operation.
type machine struct {
	mu    sync.Mutex // guards what follows
	disk  *crashdisk.Disk
	ops   int
	dieAt int
	dead  bool
}

var _ storetest.Machine = (*machine)(nil)

var errDead = errors.New("this process has died")

// newMachine attaches to a disk that nobody uses yet.
func newMachine(disk *crashdisk.Disk) *machine {
	m := &machine{}
	m.attach(disk)
	return m
}

func (m *machine) attach(disk *crashdisk.Disk) {
	disk.Before, disk.After = m.before, m.after
	m.disk = disk
}

func (m *machine) Open() (spool.Segments, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = false
	return localdir.OpenFiles(m.disk)
}

func (m *machine) Ops() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops
}

func (m *machine) DieAt(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dieAt = n
}

// before counts, and lets a sync die without effect: what it would have made durable stays at risk, so that both outcomes
// are among the states.
func (m *machine) before(op crashdisk.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	m.ops++
	if m.ops == m.dieAt && (op.Kind == crashdisk.Sync || op.Kind == crashdisk.SyncNames) {
		m.dead = true
		return errDead
	}
	return nil
}

// after lets any other operation die when it has had its effect, which is not durable yet.
func (m *machine) after(crashdisk.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ops == m.dieAt {
		m.dead = true
	}
	if m.dead {
		return errDead
	}
	return nil
}

func (m *machine) States(yield func(label string, state storetest.Machine) bool) {
	for image := range m.disk.Crashes() {
		if !yield(image.Outcome, newMachine(image)) {
			return
		}
	}
}

// Kill leaves the dead process its own disk, and gives the next one a disk with the same bytes at risk.
func (m *machine) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attach(m.disk.Survivor())
	m.dieAt = 0
}
