package check

import (
	"fmt"
	"strconv"
	"strings"
)

// ID is what the header x-cq-id says: lane, generation, offset.
type ID struct {
	Lane       string
	Generation uint64
	Offset     uint64
}

// ParseID reads lane@generation:offset.
func ParseID(s string) (ID, error) {
	lane, numbers, ok := strings.Cut(s, "@")
	generation, offset, ok2 := strings.Cut(numbers, ":")
	if !ok || !ok2 {
		return ID{}, fmt.Errorf("x-cq-id %q: want lane@generation:offset", s)
	}
	g, err := strconv.ParseUint(generation, 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("x-cq-id %q: generation: %w", s, err)
	}
	o, err := strconv.ParseUint(offset, 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("x-cq-id %q: offset: %w", s, err)
	}
	return ID{Lane: lane, Generation: g, Offset: o}, nil
}

// String gives what ParseID reads, or "without x-cq-id".
func (id ID) String() string {
	if id == (ID{}) {
		return "without x-cq-id"
	}
	return fmt.Sprintf("%s@%d:%d", id.Lane, id.Generation, id.Offset)
}

// after says whether id comes later in its lane than other.
func (id ID) after(other ID) bool {
	if id.Generation != other.Generation {
		return id.Generation > other.Generation
	}
	return id.Offset > other.Offset
}
