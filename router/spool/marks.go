package spool

import (
	"bytes"
	"maps"

	"cloudqueue/federation"
)

// mark is a mark's value and the LSN of the group in which it was first written.
type mark struct {
	lsn   federation.LSN
	value []byte
}

type keyedMark struct {
	key federation.MarkKey
	mark
}

// markTable merges marks by their own LSN, not by where they were found: the highest wins, of two in one group the later.
type markTable map[federation.MarkKey]mark

// merge takes m unless a later one is known. It keeps m.value.
func (t markTable) merge(key federation.MarkKey, m mark) {
	if old, ok := t[key]; !ok || m.lsn >= old.lsn {
		t[key] = m
	}
}

// Mark gives the durable value of a mark. The caller may keep and change it. A mark that was submitted counts once its group is durable.
func (s *Spool) Mark(key federation.MarkKey) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.marks[key]
	return bytes.Clone(m.value), ok
}

// Marks gives the durable values of all marks of a kind. The caller may keep and change them.
func (s *Spool) Marks(kind federation.MarkKind) map[federation.MarkKey][]byte {
	found := make(map[federation.MarkKey][]byte)
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, m := range maps.All(s.marks) {
		if key.Kind == kind {
			found[key] = bytes.Clone(m.value)
		}
	}
	return found
}
