package federation

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Extension fields stand at the end of a structure, up to its end, in ascending order of tag, each tag at most once:
//
//	 ┌────────────┬───────────────┬──────────────┐
//	 │ tag varint │ length varint │ length bytes │ …
//	 └────────────┴───────────────┴──────────────┘
//
//	field    size          valid                        a reader does with a bad one
//	tag      1–10 varint   greater than the one before  refuses: ErrCorrupt
//	length   1–10 varint   what is left of the structure  refuses: ErrCorrupt
//	value    length bytes  by tag                       refuses: ErrCorrupt
//
// A tag that the reader does not know: odd (critical) is refused with ErrUnknownCritical; even is kept and written
// again as it was. (docs/design.md section 13.)

// Tags in a batch header. They are kept in Header.Extensions.
const (
	TagDictionary uint64 = 1 // critical, reserved: no reader of version 1 has dictionaries, so it refuses
	TagSignature  uint64 = 2
	TagTrace      uint64 = 4
	TagDeadline   uint64 = 6
)

// tlvs takes extension fields up to the end. Values are copies: they outlive the input.
func (r *reader) tlvs() []TLV {
	var list []TLV
	for len(r.b) > 0 && r.err == nil {
		t := TLV{Tag: r.varint()}
		t.Value = bytes.Clone(r.sized())
		if n := len(list); n > 0 && list[n-1].Tag >= t.Tag {
			r.corrupt("extension %d after extension %d", t.Tag, list[n-1].Tag)
		}
		if r.err != nil {
			return nil
		}
		list = append(list, t)
	}
	return list
}

// extensions takes extension fields up to the end, none of which the caller knows.
func (r *reader) extensions() []TLV { return r.unknown(r.tlvs()) }

// unknown gives back the list when none of it is critical.
func (r *reader) unknown(list []TLV) []TLV {
	for _, t := range list {
		if t.Critical() {
			r.fail(fmt.Errorf("%w: extension %d", ErrUnknownCritical, t.Tag))
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// takeTLV removes the extension with the tag from the list and gives its value.
func takeTLV(list *[]TLV, tag uint64) (value []byte, ok bool) {
	for i, t := range *list {
		if t.Tag == tag {
			*list = slices.Delete(*list, i, i+1)
			return t.Value, true
		}
	}
	return nil, false
}

// tlvs writes extension fields in the order of their tags.
func (w *writer) tlvs(list []TLV) {
	list = inOrder(list)
	for i, t := range list {
		if i > 0 && list[i-1].Tag == t.Tag {
			w.fail("extension %d twice", t.Tag)
			return
		}
		w.varint(t.Tag)
		w.sized(t.Value)
	}
}

// inOrder gives the list in the order of its tags, a copy if it is not.
func inOrder(list []TLV) []TLV {
	byTag := func(a, b TLV) int { return cmp.Compare(a.Tag, b.Tag) }
	if !slices.IsSortedFunc(list, byTag) {
		list = slices.Clone(list)
		slices.SortFunc(list, byTag)
	}
	return list
}

func tlvsSize(list []TLV) int {
	n := 0
	for _, t := range list {
		n += varintSize(t.Tag) + varintSize(uint64(len(t.Value))) + len(t.Value)
	}
	return n
}
