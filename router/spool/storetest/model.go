package storetest

import (
	"fmt"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"

	"pgregory.net/rapid"
)

// testModel lets rapid drive a spool and the oracle with the same random commits, forgetting, reopenings and, on a
// Machine, kills, and compares all that they hold after each.
func testModel(t *testing.T, factory func(t *testing.T) Place) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{t: t, place: factory(t), oracle: newOracle(), next: make(map[string]federation.Offset)}
		m.s = open(t, m.place, crashConfig())
		defer func() { m.s.abandon() }()
		rt.Repeat(map[string]func(*rapid.T){
			"":       m.checkSome,
			"commit": m.commit,
			"forget": m.forget,
			"reopen": m.reopen,
			"kill":   m.kill,
		})
		m.oracle.check(t, m.s)
	})
}

// model is the state of one run.
type model struct {
	t      *testing.T
	place  Place
	s      *session
	oracle *oracle
	next   map[string]federation.Offset // next offset, by lane
}

var modelLanes = []string{"orders", "stock", "audit"}

// commit draws one to four records.
func (m *model) commit(rt *rapid.T) {
	var records []spool.Record
	parked := m.oracle.after(len(m.oracle.commits)).parks
	for range rapid.IntRange(1, 4).Draw(rt, "records") {
		name := rapid.SampledFrom(modelLanes).Draw(rt, "lane")
		switch rapid.IntRange(0, 4).Draw(rt, "kind") {
		case 0, 1:
			count := rapid.IntRange(1, 5).Draw(rt, "entries")
			first := m.next[name] + 1
			records = append(records, batchRecord(m.t, name, first, count, rapid.IntRange(0, 900).Draw(rt, "size")))
			m.next[name] = first + federation.Offset(count) - 1
		case 2:
			records = append(records, markRecord(name, rapid.StringN(0, 20, 80).Draw(rt, "value")))
		case 3:
			p := parkRecord(name, federation.Offset(rapid.IntRange(1, 9).Draw(rt, "offset")),
				rapid.IntRange(0, 600).Draw(rt, "size"))
			if _, twice := parked[p.ID()]; !twice {
				records = append(records, p)
				parked[p.ID()] = p
			}
		case 4:
			for id := range parked {
				records = append(records, spool.UnparkRecord{Park: id, Outcome: "redriven", Who: "model",
					At: time.UnixMilli(1).UTC()})
				delete(parked, id)
				break
			}
		}
	}
	m.s.commit(m.oracle.next(records...)...)
	m.oracle.acked++
}

func (m *model) forget(rt *rapid.T) {
	name := rapid.SampledFrom(modelLanes).Draw(rt, "lane")
	if m.next[name] == 0 {
		return
	}
	upTo := federation.Offset(rapid.Uint64Range(0, uint64(m.next[name])).Draw(rt, "up to"))
	m.oracle.forgotten[name] = max(m.oracle.forgotten[name], upTo)
	m.s.Forget(lane(name), born, upTo)
}

func (m *model) reopen(*rapid.T) {
	m.s.close()
	m.again()
}

// kill ends the process between two commits, with the power if the place can lose it.
func (m *model) kill(*rapid.T) {
	machine, ok := m.place.(Machine)
	if !ok {
		m.reopen(nil)
		return
	}
	m.s.abandon()
	machine.Kill()
	m.again()
}

// again opens the place; what was forgotten is forgotten again, as a router does from its receipts.
func (m *model) again() {
	m.s = open(m.t, m.place, crashConfig())
	m.oracle.check(m.t, m.s)
	for name, upTo := range m.oracle.forgotten {
		m.s.Forget(lane(name), born, upTo)
	}
}

// checkSome looks at what is cheap; reopening looks at everything.
func (m *model) checkSome(rt *rapid.T) {
	if v, _ := m.s.Mark(markKey("seq")); len(m.oracle.commits) > 0 && string(v) != fmt.Sprint(len(m.oracle.commits)) {
		rt.Fatalf("mark seq is %q after %d commits", v, len(m.oracle.commits))
	}
	for name, next := range m.next {
		from := m.oracle.forgotten[name] + 1
		if from > next {
			continue
		}
		b, err := m.s.Read(m.s.ctx, lane(name), born, from)
		if err != nil || b.Header.First > from || b.Header.Last() < from {
			rt.Fatalf("read %s from %d: %v, %v", name, from, b, err)
		}
	}
}
