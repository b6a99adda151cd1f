package memstore

import (
	"fmt"
	"time"

	"cloudqueue/router/spool"
)

// OpKind is what an operation does to the store.
type OpKind string

// Operations that change a store.
const (
	OpClaim  OpKind = "claim"
	OpCreate OpKind = "create"
	OpWrite  OpKind = "write"
	OpSync   OpKind = "sync"
	OpRemove OpKind = "remove"
)

// Op is one operation.
type Op struct {
	Kind    OpKind
	Segment uint64
	Bytes   int // of a write
	Number  int // counted from 1 over all openings of the Disk
}

// Fault is what happens to an operation. Its zero value lets it pass.
type Fault struct {
	Delay time.Duration // before anything
	Err   error         // what the caller is told
	// with Err: the share of the effect that happens, 0 to 1; what is no write happens at more than 0
	Effect float64
}

// SetFault lets f decide about every operation; nil lets them pass. f may be called at once from several goroutines.
func (d *Disk) SetFault(f func(Op) Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// SetCapacity changes how many bytes the disk has.
func (d *Disk) SetCapacity(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = n
}

// do runs one operation of s: effect does a share of it, with mu held.
func (d *Disk) do(s *Store, op Op, needs int, effect func(share float64)) error {
	fault, err := d.begin(s, &op)
	if err != nil {
		return err
	}
	if fault.Delay > 0 {
		time.Sleep(fault.Delay)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(s, op.Kind); err != nil {
		return err
	}
	if op.Number == d.dieAt {
		d.holder = nil
		effect(dying)
		return fmt.Errorf("%s of segment %d: the process died", op.Kind, op.Segment)
	}
	if fault.Err != nil {
		if fault.Effect > 0 {
			effect(fault.Effect)
		}
		return fmt.Errorf("%s of segment %d: %w", op.Kind, op.Segment, fault.Err)
	}
	if uint64(needs) > d.free() {
		d.aside = 0
	}
	if free := d.free(); uint64(needs) > free {
		effect(float64(free) / float64(needs))
		return fmt.Errorf("%s of segment %d: %w", op.Kind, op.Segment, spool.ErrNoSpace)
	}
	effect(1)
	return nil
}

// dying is the share of an effect of which nobody knows how much happens.
const dying = -1

func (d *Disk) begin(s *Store, op *Op) (Fault, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(s, op.Kind); err != nil {
		return Fault{}, err
	}
	d.ops++
	op.Number = d.ops
	if d.fault == nil {
		return Fault{}, nil
	}
	return d.fault(*op), nil
}

// check tells whether s may still change the store.
func (d *Disk) check(s *Store, kind OpKind) error {
	switch {
	case kind == OpClaim && d.holder == nil:
		return nil
	case kind == OpClaim:
		return spool.ErrHeld
	case d.holder != s && s.claimed:
		return fmt.Errorf("%s: %w", kind, spool.ErrFenced)
	case d.holder != s:
		return fmt.Errorf("%s without a claim: %w", kind, spool.ErrFenced)
	}
	return nil
}

func (d *Disk) free() uint64 {
	used := d.aside
	for _, f := range d.files {
		used += uint64(len(f.data))
	}
	return d.capacity - min(d.capacity, used)
}
