// Package memstore is a store in memory: for tests and the simulation. It loses what a disk may lose, and fails as a
// disk may fail.
//
//	Disk ── what survives: segments with the bytes that were made durable, and those that were not yet
//	  └─ Open ── Store, the spool.Segments of one process; one at a time may hold the claim
//
//	Kill      ends the process: its Store fails from then on, the Disk keeps every byte, also those at risk
//	PowerOff  ends the process and what was not durable: each byte of it is kept, zero, or lost, as the given source says
//	States    lists every legal outcome of a power failure, for crash enumeration
//	SetFault  makes operations slow, or fail with no effect, a part or all of it; SetFull takes the space away
//	Clone     copies the Disk as it stands: a store that is put back later (rewound), or used twice (cloned)
package memstore

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"sync"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// Disk is what survives a process. Its methods may be called at once.
type Disk struct {
	mu       sync.Mutex // guards all below; never held while a fault makes an operation wait
	identity spool.Identity
	files    map[uint64]*file
	holder   *Store // whose claim counts; nil when nobody holds the store
	ops      int
	dieAt    int
	unsure   []change // what the operation that died may have done
	fault    func(Op) Fault
	capacity uint64
	aside    uint64 // of the capacity, set aside until there is no other space
	align    int
}

// file is a segment.
type file struct {
	data   []byte
	synced int // bytes that are durable
}

// change is a create or a remove that may have happened.
type change struct {
	number uint64
	file   *file // as it stands when the segment exists
}

// Options of a Disk. Zero values are the defaults.
type Options struct {
	Home      spool.Home // zero: site ams of federation acme
	Born      time.Time  // zero: now
	Capacity  uint64     // bytes; 0: 1 TiB
	Alignment int        // 0: 8
}

// New makes an initialised, empty Disk with an identity of its own.
func New(o Options) *Disk {
	if o.Home == (spool.Home{}) {
		o.Home = spool.Home{Site: "ams", Federation: "acme"}
	}
	if o.Born.IsZero() {
		o.Born = time.Now()
	}
	if o.Capacity == 0 {
		o.Capacity = 1 << 40
	}
	if o.Alignment == 0 {
		o.Alignment = 8
	}
	d := &Disk{files: make(map[uint64]*file), capacity: o.Capacity, align: o.Alignment}
	d.identity = spool.Identity{Home: o.Home, Store: newStoreID(), Born: o.Born.Truncate(time.Millisecond)}
	return d
}

func newStoreID() (id federation.StoreID) {
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return id
}

// Open gives the Segments of a process that starts. Before Claim it can only read.
func (d *Disk) Open() (spool.Segments, error) { return &Store{disk: d}, nil }

// NewID gives the store a new identity, as `cloudqueue spool new-id` does. Nobody may hold it.
func (d *Disk) NewID(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.identity.Former = append(d.identity.Former, d.identity.Store)
	d.identity.Store, d.identity.Born = newStoreID(), now.Truncate(time.Millisecond)
}

// Clone copies the Disk as it stands, with what is at risk. Nobody holds the copy.
func (d *Disk) Clone() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &Disk{identity: d.identity, files: make(map[uint64]*file, len(d.files)), capacity: d.capacity, aside: d.aside,
		align: d.align}
	c.identity.Former = append([]federation.StoreID(nil), d.identity.Former...)
	for n, f := range d.files {
		c.files[n] = f.clone()
	}
	return c
}

func (f *file) clone() *file { return &file{bytes.Clone(f.data), f.synced} }

// Kill ends the process that holds the store. All that it wrote is still there; what was not made durable is still at
// risk.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holder, d.dieAt = nil, 0
}

// PowerOff ends the process, and decides with choose what becomes of the bytes that are not durable: of n of them
// choose(n) are kept, the rest is lost. nil: all are lost.
func (d *Disk) PowerOff(choose func(n int) int) {
	d.Kill()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		kept := 0
		if choose != nil {
			kept = min(max(choose(len(f.data)-f.synced), 0), len(f.data)-f.synced)
		}
		f.data = f.data[:f.synced+kept]
		f.synced = len(f.data)
	}
}

// Segment gives a copy of a segment's bytes, nil when there is none.
func (d *Disk) Segment(number uint64) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[number]; f != nil {
		return bytes.Clone(f.data)
	}
	return nil
}

// SetSegment replaces a segment's bytes, all durable; nil removes it: for tests that do harm.
func (d *Disk) SetSegment(number uint64, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if data == nil {
		delete(d.files, number)
		return
	}
	d.files[number] = &file{bytes.Clone(data), len(data)}
}

// Numbers lists the segments, in no order.
func (d *Disk) Numbers() []uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	numbers := make([]uint64, 0, len(d.files))
	for n := range maps.Keys(d.files) {
		numbers = append(numbers, n)
	}
	return numbers
}

// String tells the sizes of the segments, for failures of tests.
func (d *Disk) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := fmt.Sprintf("epoch %d", d.identity.Epoch)
	for n, f := range d.files {
		s += fmt.Sprintf(", segment %d: %d bytes, %d durable", n, len(f.data), f.synced)
	}
	return s
}
