package embedded

import "sort"

// delivery is a message in a client's hands that waits for its ack.
type delivery struct {
	tag      uint64
	entry    *entry // nil once settled
	queue    *queue
	consumer *consumer // nil after basic.get
}

// unsettled holds a channel's deliveries in order of tag. Settled ones leave holes until those before them are settled
// too, so that the usual order of acks costs no search.
type unsettled struct {
	list  []delivery
	head  int // everything before is settled
	count int
}

func (u *unsettled) add(d delivery) {
	u.list = append(u.list, d)
	u.count++
}

// find returns the place of a tag, or false when it is unknown or settled.
func (u *unsettled) find(tag uint64) (int, bool) {
	rest := u.list[u.head:]
	i := sort.Search(len(rest), func(i int) bool { return rest[i].tag >= tag })
	if i == len(rest) || rest[i].tag != tag || rest[i].entry == nil {
		return 0, false
	}
	return u.head + i, true
}

// take removes one delivery, or with multiple all up to and including it, and appends them to into. Tag 0 with multiple
// means all there are. ok is false, and nothing is taken, when the tag is unknown.
func (u *unsettled) take(into []delivery, tag uint64, multiple bool) (taken []delivery, ok bool) {
	first, last := u.head, len(u.list)-1
	if tag != 0 || !multiple {
		if last, ok = u.find(tag); !ok {
			return into, false
		}
	}
	if !multiple {
		first = last
	}
	for i := first; i <= last; i++ {
		if u.list[i].entry != nil {
			into = append(into, u.list[i])
			u.list[i].entry = nil
			u.count--
		}
	}
	u.trim()
	return into, true
}

// restore puts back deliveries that were taken (tx.rollback).
func (u *unsettled) restore(taken []delivery) {
	live := append([]delivery(nil), taken...)
	for _, d := range u.list[u.head:] {
		if d.entry != nil {
			live = append(live, d)
		}
	}
	sort.Slice(live, func(i, j int) bool { return live[i].tag < live[j].tag })
	*u = unsettled{list: live, count: len(live)}
}

func (u *unsettled) trim() {
	for u.head < len(u.list) && u.list[u.head].entry == nil {
		u.list[u.head] = delivery{}
		u.head++
	}
	if u.head == len(u.list) {
		u.list, u.head = u.list[:0], 0
	} else if u.head >= 1024 && u.head > len(u.list)/2 {
		n := copy(u.list, u.list[u.head:])
		clear(u.list[n:])
		u.list, u.head = u.list[:n], 0
	}
}
