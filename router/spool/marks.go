package spool

import "cloudqueue/federation"

// mark is a mark's value and the LSN of the group in which it was first written.
type mark struct {
	lsn   federation.LSN
	value []byte
}

type keyedMark struct {
	key federation.MarkKey
	mark
}

// markTable merges marks by their own LSN, not by where they were found: the highest wins, of two in one group the
// later.
type markTable struct {
	values map[federation.MarkKey]mark
	// the keys, in no order; those without a lane are under the zero one
	lanes map[federation.Lane][]federation.MarkKey
}

func newMarkTable() markTable {
	return markTable{values: make(map[federation.MarkKey]mark), lanes: make(map[federation.Lane][]federation.MarkKey)}
}

// merge takes m unless a later one is known. It keeps m.value.
func (t markTable) merge(key federation.MarkKey, m mark) {
	old, known := t.values[key]
	if known && m.lsn < old.lsn {
		return
	}
	if !known {
		t.lanes[key.Lane] = append(t.lanes[key.Lane], key)
	}
	t.values[key] = m
}
