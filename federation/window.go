package federation

import (
	"slices"
	"sort"
)

// PositionWindow says which batches of a lane may be on their way to a destination, or wait there. It is kept on both
// sides of a link: the receiver answers WINDOW to what is not admissible, the sender does not send it.
//
//	     finished │ next                bytes
//	──────────────┼───────────┬───────────────────────────┬──────────▶ offsets
//	     Behind   │ always    │ admissible while the held │  Shut
//	              │ admissible│ ones take ≤ bytes         │
//
// Next is the first offset that is not finished at the destination (done + 1). The batch that holds it is always
// admissible, and when there is no room a batch is taken by shedding ones further away: so early data can never block
// what is missing (design section 7). Memory is at most bytes + one batch. One goroutine at a time may use it.
type PositionWindow struct {
	next  Offset
	bytes int
	used  int         // bytes of held, without the batch that holds next; only the first can hold it
	held  []heldBatch // ascending, none overlaps another
}

type heldBatch struct {
	span Span
	size int
}

// Admission is a window's word on a batch.
type Admission uint8

// Words of a window.
const (
	// Admitted: it counts as held until Advance passes it or Drop gives it up.
	Admitted Admission = iota
	// Held: a batch with the same offsets is held. Nothing changed; the frame is answered when that one is.
	Held
	// Behind: all of it is finished. Whether it is a duplicate or a CONFLICT is JournalState.Judge's to say.
	Behind
	// Shut: answer WINDOW.
	Shut
)

// NewPositionWindow makes a window of so many bytes beyond next.
func NewPositionWindow(next Offset, bytes int) *PositionWindow {
	return &PositionWindow{next: next, bytes: bytes}
}

// Offer takes a batch of size bytes into the window if it is admissible. Shed are held batches, all further away, that
// had to make room: their frames are answered WINDOW. (They are not acked yet, so nothing is lost.)
func (w *PositionWindow) Offer(span Span, size int) (a Admission, shed []Span) {
	if span.Last < w.next {
		return Behind, nil
	}
	i, overlap := w.find(span)
	if overlap && w.held[i].span == span {
		return Held, nil
	}
	if overlap {
		return Shut, nil // two branches of a lane: the held one is judged first
	}
	if !w.isNext(span) && !w.roomAbove(span, size) {
		return Shut, nil
	}
	w.insert(i, span, size)
	return Admitted, w.shed(span)
}

// Fits tells whether a sender may send the batch: it is next, or takes its place in the bytes beyond. What is held
// already fits.
func (w *PositionWindow) Fits(span Span, size int) bool {
	i, overlap := w.find(span)
	if overlap {
		return w.held[i].span == span
	}
	return w.isNext(span) || w.used+size <= w.bytes
}

// Put records that the batch was sent.
func (w *PositionWindow) Put(span Span, size int) {
	if i, overlap := w.find(span); !overlap && span.Last >= w.next {
		w.insert(i, span, size)
	}
}

// Drop gives up the held batch with these offsets, if there is one: its frame was answered, or the sender will send it
// again.
func (w *PositionWindow) Drop(span Span) {
	if i, overlap := w.find(span); overlap && w.held[i].span == span {
		w.remove(i)
	}
}

// Advance moves next forward, never back, and lets go of what is wholly below it.
func (w *PositionWindow) Advance(next Offset) {
	if next <= w.next {
		return
	}
	w.used += w.exempt()
	w.next = next
	gone := 0
	for gone < len(w.held) && w.held[gone].span.Last < next {
		w.used -= w.held[gone].size
		gone++
	}
	w.held = w.held[gone:] // not moved down: a window of small batches advances by one of thousands
	w.used -= w.exempt()
}

// Reset begins again at next with nothing held: after a rewind, or with a new connection.
func (w *PositionWindow) Reset(next Offset) {
	w.next, w.held, w.used = next, w.held[:0], 0
}

// SetBytes changes how much is admissible beyond next. What is held stays.
func (w *PositionWindow) SetBytes(n int) { w.bytes = n }

// Next is the first offset that is not finished.
func (w *PositionWindow) Next() Offset { return w.next }

// First is the lowest held batch; false when none is held.
func (w *PositionWindow) First() (Span, bool) {
	if len(w.held) == 0 {
		return Span{}, false
	}
	return w.held[0].span, true
}

// At is the held batch that holds an offset; false when none does.
func (w *PositionWindow) At(n Offset) (Span, bool) {
	if i, holds := w.find(Span{n, n}); holds {
		return w.held[i].span, true
	}
	return Span{}, false
}

// Contiguous is the last offset from n on, at most limit, up to which everything is held; n − 1 when n is not.
func (w *PositionWindow) Contiguous(n, limit Offset) Offset {
	i, holds := w.find(Span{n, n})
	if !holds {
		return n - 1
	}
	last := w.held[i].span.Last
	for i++; i < len(w.held) && last < limit && w.held[i].span.First == last+1; i++ {
		last = w.held[i].span.Last
	}
	return min(last, limit)
}

// Bytes is what is admissible beyond next, as a WINDOW frame tells it.
func (w *PositionWindow) Bytes() int { return w.bytes }

// Used is how many of the bytes are taken.
func (w *PositionWindow) Used() int { return w.used }

func (w *PositionWindow) isNext(span Span) bool { return span.First <= w.next && w.next <= span.Last }

// roomAbove tells whether the batch fits when everything held beyond it is shed.
func (w *PositionWindow) roomAbove(span Span, size int) bool {
	if w.used+size <= w.bytes {
		return true
	}
	used := w.used + size
	for i := len(w.held) - 1; i >= 0 && used > w.bytes && w.held[i].span.First >= span.First; i-- {
		used -= w.held[i].size
	}
	return used <= w.bytes
}

// shed drops the furthest batches, none of them at or below span, until the window is within its bytes.
func (w *PositionWindow) shed(span Span) (shed []Span) {
	for w.used > w.bytes {
		last := len(w.held) - 1
		if w.held[last].span.First <= span.First {
			return shed
		}
		shed = append(shed, w.held[last].span)
		w.remove(last)
	}
	return shed
}

// find gives the index of the first held batch that ends at or above the span's first offset, and whether it overlaps
// the span.
func (w *PositionWindow) find(span Span) (i int, overlap bool) {
	i = sort.Search(len(w.held), func(i int) bool { return w.held[i].span.Last >= span.First })
	return i, i < len(w.held) && w.held[i].span.First <= span.Last
}

func (w *PositionWindow) insert(i int, span Span, size int) {
	w.held = slices.Insert(w.held, i, heldBatch{span, size})
	if !w.isNext(span) {
		w.used += size
	}
}

func (w *PositionWindow) remove(i int) {
	if h := w.held[i]; !w.isNext(h.span) {
		w.used -= h.size
	}
	if i == 0 {
		w.held = w.held[1:]
		return
	}
	w.held = slices.Delete(w.held, i, i+1)
}

// exempt is the size of the held batch that holds next, 0 without one: it takes nothing of the bytes.
func (w *PositionWindow) exempt() int {
	if len(w.held) > 0 && w.isNext(w.held[0].span) {
		return w.held[0].size
	}
	return 0
}
