package localbroker

import (
	"bytes"
	"fmt"

	"cloudqueue/federation"
	"cloudqueue/localbroker/amqpwire"
)

// window holds what one incarnation of a publisher has sent and the broker has not answered, by the numbers that the
// broker counts (from 1). It is pure. It is full when the oldest unanswered is len(slots) back, however many behind it
// are answered.
type window struct {
	slots []slot
	first uint64 // oldest unanswered
	next  uint64 // next to be sent
}

type slot struct {
	message  federation.Message
	outcome  func(federation.Outcome)
	answered bool
	returned bool // verdict is the return; the confirm is still to come
	doubtful bool // a return may have been meant for it
	verdict  federation.Outcome
}

// settled is an outcome that is to be told.
type settled struct {
	outcome func(federation.Outcome)
	result  federation.Outcome
}

func newWindow(size int) window { return window{slots: make([]slot, size), first: 1, next: 1} }

func (w *window) full() bool { return w.next-w.first == uint64(len(w.slots)) }

func (w *window) at(number uint64) *slot { return &w.slots[number%uint64(len(w.slots))] }

// add counts a message out. The window is not full.
func (w *window) add(m federation.Message, outcome func(federation.Outcome)) {
	*w.at(w.next) = slot{message: m, outcome: outcome}
	w.next++
}

// confirm takes basic.ack or basic.nack and appends what it settles.
func (w *window) confirm(number uint64, multiple, ack bool, out []settled) ([]settled, error) {
	if multiple && number == 0 {
		number = w.next - 1 // all
	}
	if number >= w.next || number == 0 {
		return out, fmt.Errorf("the broker confirmed publish %d of %d", number, w.next-1)
	}
	from := number
	if multiple {
		from = w.first
	}
	for n := max(from, w.first); n <= number; n++ {
		if s := w.at(n); !s.answered {
			out = append(out, s.settle(s.confirmed(ack)))
		}
	}
	for w.first < w.next && w.at(w.first).answered {
		w.first++
	}
	return out, nil
}

func (s *slot) confirmed(ack bool) federation.Outcome {
	switch {
	case !ack:
		return federation.Outcome{Kind: federation.Nacked}
	case s.returned:
		return s.verdict
	case s.doubtful:
		return federation.Outcome{Kind: federation.Unknown, Code: federation.CodeNoRoute,
			Text: "a return that may have been this one's"}
	}
	return federation.Outcome{Kind: federation.Confirmed}
}

func (s *slot) settle(result federation.Outcome) settled {
	told := settled{s.outcome, result}
	*s = slot{answered: true}
	return told
}

// matchReturn notes a return, whose confirm follows. A return carries no number, so it is recognised by what it brings
// back: all of its bytes; if the broker has changed those, x-cq-id; if there is none, exchange and key. When several
// unanswered ones could be meant, none of them may be taken for delivered: each ends Unknown.
func (w *window) matchReturn(in *content) error {
	meant := w.candidates(in, func(m *federation.Message) bool {
		return bytes.Equal(m.Properties, in.properties) && bytes.Equal(m.Body, in.body)
	})
	if id := amqpwire.ID(in.properties); len(meant) == 0 && id != "" {
		meant = w.candidates(in, func(m *federation.Message) bool { return amqpwire.ID(m.Properties) == id })
	}
	if len(meant) == 0 {
		meant = w.candidates(in, func(*federation.Message) bool { return true })
	}
	switch len(meant) {
	case 0:
		return fmt.Errorf("the broker returned a message that is not outstanding: %d %s", in.code, in.text)
	case 1:
		meant[0].returned = true
		meant[0].verdict = federation.Outcome{Kind: federation.Returned, Code: in.code, Text: in.text}
	default:
		for _, s := range meant {
			s.doubtful = true
		}
	}
	return nil
}

func (w *window) candidates(in *content, same func(*federation.Message) bool) (found []*slot) {
	for n := w.first; n < w.next; n++ {
		s := w.at(n)
		if !s.answered && !s.returned && s.message.Exchange == in.exchange && s.message.RoutingKey == in.key &&
			same(&s.message) {
			found = append(found, s)
		}
	}
	return found
}

// end settles everything unanswered when the channel is over. One that was returned is in no queue whatever else
// happened. If it was a refused publish that closed the channel and only one other was unanswered, that is the refused
// one.
func (w *window) end(why closing, out []settled) []settled {
	var open []*slot
	for n := w.first; n < w.next; n++ {
		s := w.at(n)
		switch {
		case s.answered:
		case s.returned:
			out = append(out, s.settle(s.verdict))
		default:
			open = append(open, s)
		}
	}
	result := federation.Outcome{Kind: federation.Unknown, Code: why.code, Text: why.text}
	if len(open) == 1 && why.refusal() {
		result.Kind = federation.Refused
	}
	for _, s := range open {
		out = append(out, s.settle(result))
	}
	w.first = w.next
	return out
}

// refusal tells whether the broker closed the channel because of one message (soft errors of AMQP 0-9-1 section 1.1),
// or over one the connection, which nobody else used (hard errors, from 500 on).
func (c closing) refusal() bool {
	if c.cause != 0 && c.cause != amqpwire.BasicPublish {
		return false
	}
	if c.hard {
		return c.apart && c.code >= federation.CodeHard
	}
	return federation.OverPublish(c.code)
}
