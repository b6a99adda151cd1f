package embedded

// ring is a double-ended queue of entries in order of position.
type ring struct {
	slots []*entry // length is a power of two, or zero
	head  int
	count int
}

func (r *ring) at(i int) *entry { return r.slots[(r.head+i)&(len(r.slots)-1)] }

func (r *ring) set(i int, e *entry) { r.slots[(r.head+i)&(len(r.slots)-1)] = e }

func (r *ring) front() *entry {
	if r.count == 0 {
		return nil
	}
	return r.at(0)
}

func (r *ring) popFront() *entry {
	e := r.at(0)
	r.set(0, nil)
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.count--
	r.shrink()
	return e
}

// insert puts e where its position says. New entries go to the end and requeued ones near the front, so it walks from
// the nearer end.
func (r *ring) insert(e *entry) {
	if r.count == len(r.slots) {
		r.resize(max(8, 2*len(r.slots)))
	}
	at := r.place(e.position)
	if at < r.count-at {
		r.head = (r.head - 1) & (len(r.slots) - 1)
		r.count++
		for i := 0; i < at; i++ {
			r.set(i, r.at(i+1))
		}
	} else {
		r.count++
		for i := r.count - 1; i > at; i-- {
			r.set(i, r.at(i-1))
		}
	}
	r.set(at, e)
}

// place is the number of entries before the position.
func (r *ring) place(position uint64) int {
	low, high := 0, r.count
	if high == 0 || r.at(high-1).position < position {
		return high
	}
	for low < high {
		middle := (low + high) / 2
		if r.at(middle).position < position {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// remove takes out the entry at i.
func (r *ring) remove(i int) *entry {
	e := r.at(i)
	for ; i > 0; i-- {
		r.set(i, r.at(i-1))
	}
	r.popFront()
	return e
}

func (r *ring) shrink() {
	if len(r.slots) > 64 && r.count < len(r.slots)/8 {
		r.resize(len(r.slots) / 2)
	}
}

func (r *ring) resize(size int) {
	slots := make([]*entry, size)
	for i := 0; i < r.count; i++ {
		slots[i] = r.at(i)
	}
	r.slots, r.head = slots, 0
}
