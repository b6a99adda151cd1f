package memstore

import (
	"fmt"
	"maps"
	"slices"

	"cloudqueue/router/spool/storetest"
)

var _ storetest.Machine = (*Disk)(nil)

// Ops counts the operations that have changed the store.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// DieAt lets the process die during operation n.
func (d *Disk) DieAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dieAt = n
}

// sector is the unit in which States loses bytes in the middle of what is not durable. Chosen: smaller than a real one
// (512), so that one group has several.
const sector = 64

// States lists every outcome of a power failure at this moment: the operation that died happened or not; of one file at
// a time, what is not durable is cut anywhere, or has a sector that is zero or garbage, or only its last sector; the
// other files lose or keep theirs whole.
func (d *Disk) States(yield func(label string, state storetest.Machine) bool) {
	for label, base := range d.unsureStates() {
		if !base.cuts(label, yield) {
			return
		}
	}
}

// unsureStates resolves the create or remove that died.
func (d *Disk) unsureStates() map[string]*Disk {
	states := map[string]*Disk{"": d.Clone()}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.unsure {
		with, without := states[""], states[""].Clone()
		with.files[c.number] = c.file.clone()
		delete(without.files, c.number)
		states = map[string]*Disk{"": with, fmt.Sprintf("segment %d is not there, ", c.number): without}
	}
	return states
}

func (d *Disk) cuts(label string, yield func(string, storetest.Machine) bool) bool {
	numbers := slices.Sorted(maps.Keys(d.files))
	risky := slices.DeleteFunc(slices.Clone(numbers), func(n uint64) bool {
		return d.files[n].synced == len(d.files[n].data)
	})
	if len(risky) == 0 {
		return yield(label+"all was durable", d.with(0, nil, true))
	}
	for _, n := range risky {
		f := d.files[n]
		for what, data := range f.outcomes {
			for _, keep := range keeps(len(risky)) {
				l := fmt.Sprintf("%ssegment %d: %s, the rest kept: %t", label, n, what, keep)
				if !yield(l, d.with(n, data, keep)) {
					return false
				}
			}
		}
	}
	return true
}

// keeps says which outcomes the other files have.
func keeps(risky int) []bool {
	if risky == 1 {
		return []bool{true}
	}
	return []bool{true, false}
}

// with gives the Disk on which segment n holds data and the others keep or lose what was at risk; all of it is durable.
func (d *Disk) with(n uint64, data []byte, keep bool) *Disk {
	c := d.Clone()
	for number, f := range c.files {
		switch {
		case number == n:
			f.data = data
		case !keep:
			f.data = f.data[:f.synced]
		}
		f.synced = len(f.data)
	}
	return c
}

// step is how far the next cut is: every byte near the ends of what is not durable, where headers stand, every 37th
// between. Chosen: prime to every alignment.
func step(fromStart, toEnd int) int {
	if fromStart < 64 || toEnd < 64 {
		return 1
	}
	return 37
}

// outcomes yields what may become of the bytes of f that are not durable.
func (f *file) outcomes(yield func(what string, data []byte) bool) {
	for n := f.synced; n <= len(f.data); n += step(n-f.synced, len(f.data)-n) {
		if !yield(fmt.Sprintf("cut at %d of %d", n, len(f.data)), f.data[:n:n]) {
			return
		}
	}
	for at := f.synced; at < len(f.data); at += sector {
		end := min(at+sector, len(f.data))
		zeroed, garbled, alone := slices.Clone(f.data), slices.Clone(f.data), slices.Clone(f.data)
		clear(zeroed[at:end])
		for i := at; i < end; i++ {
			garbled[i] ^= byte(i*7 + 1)
		}
		clear(alone[f.synced:at])
		clear(alone[end:])
		if !yield(fmt.Sprintf("zeros at %d", at), zeroed) || !yield(fmt.Sprintf("garbage at %d", at), garbled) ||
			!yield(fmt.Sprintf("only the sector at %d", at), alone) {
			return
		}
	}
}
