package crashdisk

import (
	"fmt"
	"hash/maphash"
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
			label := base.lostChanges(subset)
			if !base.eachTail(names, slices.Sorted(maps.Keys(names)), label, yield) {
				return
			}
		}
	}
}

// lostChanges says which changes of names a subset leaves out.
func (d *Disk) lostChanges(subset int) (label string) {
	for i, c := range d.changes {
		if subset>>i&1 == 0 {
			label += fmt.Sprintf("the change of %s is lost; ", c[len(c)-1].name)
		}
	}
	return label
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
			frozen[f] = &inode{id: f.id, content: f.content[:len(f.content):len(f.content)], durable: f.durable, writes: slices.Clone(f.writes), failed: f.failed, allocated: f.allocated}
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
func (d *Disk) eachTail(names map[string]*inode, left []string, label string, yield func(*Disk) bool) bool {
	if len(left) == 0 {
		return yield(d.image(names, label))
	}
	file := names[left[0]]
	defer func() { names[left[0]] = file }()
	for _, tail := range file.tails() {
		names[left[0]] = &inode{id: file.id, content: tail.content, durable: len(tail.content)}
		l := label
		if tail.what != "" {
			l += fmt.Sprintf("%s has %d durable bytes and %s; ", left[0], file.durable, tail.what)
		}
		if !d.eachTail(names, left[1:], l, yield) {
			return false
		}
	}
	return true
}

// image makes a disk of names that are all durable. A file of which the crash undid the removal had its space: what was written to that is
// there too, on a disk that is so much larger.
func (d *Disk) image(names map[string]*inode, label string) *Disk {
	disk := New(d.capacity)
	disk.Outcome, disk.lastID = label, d.lastID
	disk.names, disk.synced = maps.Clone(names), maps.Clone(names)
	disk.capacity = max(disk.capacity, disk.used())
	return disk
}

var digestSeed = maphash.MakeSeed()

// Digest tells, within a process, whether the same files with the same bytes stand on two disks.
func (d *Disk) Digest() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var h maphash.Hash
	h.SetSeed(digestSeed)
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		f := d.names[name]
		fmt.Fprintf(&h, "%q %v %d\n", name, f.allocated, len(f.content))
		_, _ = h.Write(f.content)
	}
	return h.Sum64()
}

// tail is one state of a file's unsynced bytes: what is said of it, and the whole content with it.
type tail struct {
	what    string
	content []byte
}

// tails gives the contents that a crash may leave of a file: the durable bytes, then of the unsynced ones nothing, a part
// that ends at a sector, at a write, or at an odd place in one, everything, everything but one sector, or as many zeros or
// bytes of garbage.
func (f *inode) tails() []tail {
	n := len(f.content) - f.durable
	if n == 0 {
		return []tail{{"", f.keep(0)}}
	}
	if f.allocated {
		return []tail{{fmt.Sprintf("all %d others", n), f.keep(n)}, {fmt.Sprintf("0 of %d others", n), f.keep(0)}}
	}
	tails := []tail{{fmt.Sprintf("all %d others", n), f.keep(n)}, {fmt.Sprintf("%d zeros", n), f.spoil(0, n, 0)}, {fmt.Sprintf("%d bytes of garbage", n), f.spoil(0, n, 0xa5)}}
	for _, cut := range f.cuts() {
		tails = append(tails, tail{fmt.Sprintf("%d of %d others", cut, n), f.keep(cut)})
	}
	for _, at := range sectors(n) {
		end := min(at+sector, n)
		if end-at < n { // else it is all of them
			tails = append(tails, tail{fmt.Sprintf("%d others, of which %d to %d are zeros", n, at, end-1), f.spoil(at, end, 0)})
		}
	}
	return tails
}

// cuts are the lengths at which the tail may end before its end.
func (f *inode) cuts() []int {
	n := len(f.content) - f.durable
	cuts := append([]int{0}, sectors(n)...)
	start := 0
	for _, end := range f.writes {
		end -= f.durable
		cuts = append(cuts, start+1, (start+end)/2, end-1, end)
		start = end
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	return slices.DeleteFunc(cuts, func(cut int) bool { return cut >= n })
}

// maxSectors bounds what is tried of a long tail (chosen: all of what the tests write at a time).
const maxSectors = 64

// sectors are the places where the sectors of n bytes begin; of many, evenly spread ones.
func sectors(n int) (places []int) {
	count := (n + sector - 1) / sector
	step := (count + maxSectors - 1) / maxSectors
	for i := 0; i < count; i += step {
		places = append(places, i*sector)
	}
	return places
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
