// Package crashdisk is a directory on a disk in memory that can crash: it implements localdir.Files and gives, at any
// moment, every directory that a power cut at this moment could leave behind.
//
//	disk := crashdisk.New(64 << 20)
//	disk.Before = func(op crashdisk.Op) error {        // called before each operation that changes something
//		for image := range disk.Crashes() { … }        // each is a disk of its own, as found after the power came back
//		return nil                                     // an error fails the operation without effect
//	}
//
// What a crash may do is what POSIX permits, not what a certain file system does: each unsynced change of a name
// (create, rename, remove) happened or not, alone; the unsynced tail of a file is there, is not, is cut anywhere, or
// has its length but other bytes. A Sync that failed makes nothing durable, and neither does any later Sync of the same
// file, although that one answers nil (what Linux does: the dirty pages are marked clean).
//
// It does not crash what was synced (that is corruption, another test), and it knows no subdirectories.
package crashdisk

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"

	"cloudqueue/router/spool/localdir"
)

// Disk is the directory. Its hooks may be set before the disk is used; they are called without a lock held, in the
// goroutine of the operation.
type Disk struct {
	// Before is called before each operation that changes something; its error fails the operation without effect.
	Before func(Op) error
	// After is called after each operation that changes something; its error is the operation's, which had its effect.
	After func(Op) error
	// Outcome says what a crash took away, when Crashes made the disk; empty: nothing.
	Outcome string

	mu       sync.Mutex        // guards everything below, and the inodes
	names    map[string]*inode // as a process sees the directory
	synced   map[string]*inode // as it was at the last Sync that succeeded
	changes  []change          // what happened to names since
	locked   bool
	lastID   uint64
	capacity uint64
}

// inode is a file: content up to durable survives every crash.
type inode struct {
	id      uint64
	content []byte
	durable int
	writes  []int // ends of the unsynced writes
	failed  bool  // a Sync failed: no later one makes anything durable
	// allocated: the content is space that nobody reads
	allocated bool
}

// change is one step of the directory: a name that gets a file (nil: none), and for a rename a second one.
type change []step

type step struct {
	name string
	file *inode
}

// New makes an empty directory on a disk of so many bytes.
func New(capacity uint64) *Disk {
	return &Disk{names: map[string]*inode{}, synced: map[string]*inode{}, capacity: capacity}
}

// SetCapacity changes the disk's size: a write over it fails with ENOSPC, having written what fits.
func (d *Disk) SetCapacity(capacity uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = capacity
}

// Op is an operation that changes something.
type Op struct {
	Kind OpKind
	Name string // the file; empty for SyncNames
	Size int    // bytes of a Write
}

// OpKind tells what an operation does.
type OpKind string

// Kinds of operations.
const (
	Create    OpKind = "create"
	Write     OpKind = "write"
	Sync      OpKind = "sync"
	SyncNames OpKind = "sync names"
	Rename    OpKind = "rename"
	Remove    OpKind = "remove"
)

// do runs one operation between its hooks. A failed Before of a Sync is told to the operation by refused.
func (d *Disk) do(op Op, effect func() error) error {
	if d.Before != nil {
		if err := d.Before(op); err != nil {
			return err
		}
	}
	d.mu.Lock()
	err := effect()
	d.mu.Unlock()
	if err == nil && d.After != nil {
		err = d.After(op)
	}
	return err
}

// Path names the disk for people.
func (d *Disk) Path() string { return "crashdisk" }

// Lock takes the disk; a crash frees it.
func (d *Disk) Lock() (func() error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, localdir.ErrLocked
	}
	d.locked = true
	return d.unlock, nil
}

func (d *Disk) unlock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locked = false
	return nil
}

// List gives the names, sorted.
func (d *Disk) List() ([]localdir.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var infos []localdir.FileInfo
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		infos = append(infos, d.names[name].info(name))
	}
	return infos, nil
}

// Stat gives one name.
func (d *Disk) Stat(name string) (localdir.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.find("stat", name)
	if err != nil {
		return localdir.FileInfo{}, err
	}
	return file.info(name), nil
}

func (f *inode) info(name string) localdir.FileInfo {
	return localdir.FileInfo{Name: name, Size: int64(len(f.content)), Regular: true,
		ID: localdir.FileID{Device: 1, Inode: f.id}}
}

// find needs the lock.
func (d *Disk) find(op, name string) (*inode, error) {
	file := d.names[name]
	if file == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return file, nil
}

// Create makes an empty file.
func (d *Disk) Create(name string) (localdir.File, error) {
	var file *inode
	err := d.do(Op{Kind: Create, Name: name}, func() error {
		if d.names[name] != nil {
			return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
		}
		d.lastID++
		file = &inode{id: d.lastID}
		d.apply(change{{name, file}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &handle{disk: d, name: name, file: file}, nil
}

// apply needs the lock.
func (d *Disk) apply(c change) {
	for _, s := range c {
		set(d.names, s)
	}
	d.changes = append(d.changes, c)
}

func set(names map[string]*inode, s step) {
	if s.file == nil {
		delete(names, s.name)
		return
	}
	names[s.name] = s.file
}

// Rename replaces one name by another.
func (d *Disk) Rename(from, to string) error {
	return d.do(Op{Kind: Rename, Name: to}, func() error {
		file, err := d.find("rename", from)
		if err != nil {
			return err
		}
		d.apply(change{{from, nil}, {to, file}})
		return nil
	})
}

// Remove takes a name away.
func (d *Disk) Remove(name string) error {
	return d.do(Op{Kind: Remove, Name: name}, func() error {
		if _, err := d.find("remove", name); err != nil {
			return err
		}
		d.apply(change{{name, nil}})
		return nil
	})
}

// Sync makes the names durable.
func (d *Disk) Sync() error {
	return d.do(Op{Kind: SyncNames}, func() error {
		d.synced, d.changes = maps.Clone(d.names), nil
		return nil
	})
}

// Space tells what the disk has left. The names cost nothing.
func (d *Disk) Space() (free, total uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free(), d.capacity, nil
}

// free needs the lock.
func (d *Disk) free() uint64 { return d.capacity - min(d.used(), d.capacity) }

// used needs the lock.
func (d *Disk) used() (n uint64) {
	for _, file := range d.names {
		n += uint64(len(file.content))
	}
	return n
}

// Flip turns bits of a stored byte: corruption, which no crash does.
func (d *Disk) Flip(name string, offset int, mask byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.find("flip", name)
	if err != nil {
		return err
	}
	if offset < 0 || offset >= len(file.content) {
		return fmt.Errorf("flip %s: offset %d is outside its %d bytes", name, offset, len(file.content))
	}
	file.content = slices.Clone(file.content) // images share the bytes
	file.content[offset] ^= mask
	return nil
}

// errFull is what a write over the capacity gives.
var errFull = &fs.PathError{Op: "write", Path: "crashdisk", Err: syscall.ENOSPC}
