package crashdisk

import (
	"iter"
	"maps"
	"slices"
)

// sector is the unit in which a disk writes: a tail may have lost any of its sectors.
const sector = 512

// Crashes gives every directory that a power cut at this moment could leave, each as a disk of its own without hooks:
// every subset of the unsynced changes of names, times every state of every unsynced tail. It takes the state when it is
// called; the disk may go on meanwhile.
func (d *Disk) Crashes() iter.Seq[*Disk] {
	base := d.snapshot()
	return func(yield func(*Disk) bool) {
		for subset := range 1 << len(base.changes) {
			names := base.namesAfter(subset)
			if !eachTail(names, slices.Sorted(maps.Keys(names)), base.image, yield) {
				return
			}
		}
	}
}

// snapshot copies everything but names; the bytes are shared, as nobody changes written bytes.
func (d *Disk) snapshot() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	frozen := map[*inode]*inode{}
	freeze := func(f *inode) *inode {
		if f == nil {
			return nil
		}
		if frozen[f] == nil {
			frozen[f] = &inode{id: f.id, content: f.content[:len(f.content):len(f.content)], durable: f.durable, writes: slices.Clone(f.writes), failed: f.failed}
		}
		return frozen[f]
	}
	base := New(d.capacity)
	base.lastID = d.lastID
	for name, f := range d.synced {
		base.synced[name] = freeze(f)
	}
	for _, c := range d.changes {
		var steps change
		for _, s := range c {
			steps = append(steps, step{s.name, freeze(s.file)})
		}
		base.changes = append(base.changes, steps)
	}
	return base
}

// namesAfter applies the changes whose bit is set to the synced names.
func (d *Disk) namesAfter(subset int) map[string]*inode {
	names := maps.Clone(d.synced)
	for i, c := range d.changes {
		if subset>>i&1 == 0 {
			continue
		}
		for _, s := range c {
			set(names, s)
		}
	}
	return names
}

// eachTail yields one image for each combination of the tails of the files left.
func eachTail(names map[string]*inode, left []string, image func(map[string]*inode) *Disk, yield func(*Disk) bool) bool {
	if len(left) == 0 {
		return yield(image(names))
	}
	file := names[left[0]]
	for _, content := range file.tails() {
		names[left[0]] = &inode{id: file.id, content: content, durable: len(content)}
		if !eachTail(names, left[1:], image, yield) {
			return false
		}
	}
	names[left[0]] = file
	return true
}

// image makes a disk of names that are all durable.
func (d *Disk) image(names map[string]*inode) *Disk {
	disk := New(d.capacity)
	disk.lastID = d.lastID
	disk.names, disk.synced = maps.Clone(names), maps.Clone(names)
	return disk
}

// tails gives the contents that a crash may leave of a file: the durable bytes, then of the unsynced ones nothing, a part
// that ends at a write, in the middle of a write or at a sector, everything, or everything with one end lost, with zeros or
// with other bytes in its place.
func (f *inode) tails() [][]byte {
	tail := f.content[f.durable:]
	contents := [][]byte{f.keep(len(tail))}
	if len(tail) == 0 {
		return contents
	}
	for _, n := range f.cuts() {
		contents = append(contents, f.keep(n))
	}
	lost := min(sector, len(tail))
	return append(contents,
		f.spoil(0, len(tail), 0), f.spoil(0, lost, 0), f.spoil(len(tail)-lost, len(tail), 0), f.spoil(0, len(tail), 0xa5))
}

// cuts are the lengths at which the tail may end before its end.
func (f *inode) cuts() []int {
	cuts := []int{0}
	start := 0
	for _, end := range f.writes {
		n := end - f.durable
		cuts = append(cuts, start+1, (start+n)/2, n-1, n)
		start = n
	}
	for n := sector; n < len(f.content)-f.durable && n <= 2*sector; n += sector {
		cuts = append(cuts, n)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	return slices.DeleteFunc(cuts, func(n int) bool { return n >= len(f.content)-f.durable })
}

func (f *inode) keep(n int) []byte {
	return f.content[: f.durable+n : f.durable+n]
}

func (f *inode) spoil(from, to int, fill byte) []byte {
	content := slices.Clone(f.content)
	for i := f.durable + from; i < f.durable+to; i++ {
		content[i] = fill
	}
	return content
}

// Survivor is the disk when the process that uses it is killed and the power stays: everything written is there, and what
// was not synced is still at risk. The lock is free, the hooks are gone, and the dead process cannot reach it.
func (d *Disk) Survivor() *Disk {
	base := d.snapshot()
	base.names = base.namesAfter(1<<len(base.changes) - 1)
	return base
}
