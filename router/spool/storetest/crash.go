package storetest

import (
	"fmt"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// crashConfig rolls, cleans and removes segments within a script of a few KB.
func crashConfig() spool.Config {
	return spool.Config{SegmentSize: 4 << 10, Quota: 1 << 20}
}

// Crash lets a short script die at every operation of a machine, looks at every state in which the next process may find the store, and checks that
// what was acknowledged is there, that what is there is a prefix of what was committed, that the next opening finds the same, and
// that a spool can go on. It returns, and logs, the number of states that differ in what stands in the store; fewer than least fail the test.
func Crash(t *testing.T, fresh func(t *testing.T) Machine, least int) int {
	c := &crash{t: t, fresh: fresh, distinct: map[digest]bool{}}
	for n := 1; c.dieAt(n); n++ {
	}
	t.Logf("%d states after a power failure (%d were opened: not all differ), and %d after a second one, at %d operations: all recovered",
		len(c.distinct), c.states, c.twice, c.operations)
	if len(c.distinct) < least {
		t.Errorf("%d states, want at least %d", len(c.distinct), least)
	}
	return len(c.distinct)
}

// Samples of states in which the power fails a second time, and of what that leaves. Chosen: primes, so that every kind of state is met; all of them
// would be some 10 million.
const (
	secondSample = 499
	twiceSample  = 11
)

// crash is one enumeration.
type crash struct {
	t                         *testing.T
	fresh                     func(t *testing.T) Machine
	states, twice, operations int
	distinct                  map[digest]bool
}

// dieAt runs the script so that operation n dies, and checks all states. It tells whether the script had that many operations.
func (c *crash) dieAt(n int) bool {
	m, o := c.fresh(c.t), newOracle()
	m.DieAt(n)
	c.script(m, o, n)
	died := m.Ops() >= n
	c.operations = max(c.operations, n)
	m.States(func(label string, state Machine) bool {
		c.count(state)
		c.checkState(fmt.Sprintf("died at operation %d, %s", n, label), state, o)
		return !c.t.Failed()
	})
	c.killed(n, m, o)
	return died && !c.t.Failed()
}

func (c *crash) count(state Machine) {
	c.states++
	c.distinct[digestOf(state)] = true
}

// script is what a router does in a short life, and in a second one. It ends when the machine dies, in its operation n: also when nobody noticed, in the last
// errands of a life.
func (c *crash) script(m Machine, o *oracle, n int) {
	for life := range 2 {
		s := c.live(m)
		if s == nil {
			return
		}
		first := federation.Offset(life*10 + 1)
		alive := s.step(o, batchRecord(c.t, "orders", first, 2, 40), markRecord("orders", fmt.Sprint("life ", life))) &&
			s.step(o, batchRecord(c.t, "stock", first, 1, 1500), parkRecord("orders", first, 30)) &&
			s.step(o, parkRecord("stock", first, 200), spool.AuditRecord{Who: "admin", What: "life", At: time.UnixMilli(int64(life) + 1).UTC()}) &&
			s.step(o, unparkRecord("orders", first), batchRecord(c.t, "orders", first+2, 3, 900)) &&
			s.pair(o, []spool.Record{batchRecord(c.t, "orders", first+5, 1, 10)}, []spool.Record{batchRecord(c.t, "orders", first+6, 1, 10), markRecord("stock", "x")}) &&
			s.step(o, batchRecord(c.t, "stock", first+1, 1, 1200)) && s.forget(o, "stock", first) &&
			s.step(o, batchRecord(c.t, "orders", first+7, 1, 1200)) && s.forget(o, "orders", first+1) &&
			s.step(o, batchRecord(c.t, "stock", first+2, 1, 700)) &&
			s.step(o, markRecord("orders", "last of its life"))
		if alive && life == 0 {
			alive = s.Close(s.ctx) == nil
		}
		s.abandon()
		if !alive || m.Ops() >= n {
			return
		}
	}
}

// live opens the machine; nil when it died meanwhile.
func (c *crash) live(m Machine) *session {
	s, err := tryOpen(c.t, m, crashConfig())
	if err != nil {
		return nil
	}
	return s
}

// step commits and tells whether the machine is alive. No fault but its death makes a store fail here.
func (s *session) step(o *oracle, records ...spool.Record) bool {
	ticket, err := s.Submit(s.ctx, o.next(records...)...)
	return err == nil && s.await(o, ticket)
}

// pair submits two commits before the first is durable.
func (s *session) pair(o *oracle, a, b []spool.Record) bool {
	first, err := s.Submit(s.ctx, o.next(a...)...)
	if err != nil {
		return false
	}
	second, err := s.Submit(s.ctx, o.next(b...)...)
	return err == nil && s.await(o, first) && s.await(o, second)
}

func (s *session) await(o *oracle, ticket *spool.Ticket) bool {
	look := time.NewTicker(100 * time.Microsecond)
	defer look.Stop()
	for {
		select {
		case <-ticket.Done():
			if ticket.Wait(s.ctx) != nil {
				return false
			}
			o.acked++
			return true
		case <-look.C:
			if s.Health().Err != nil {
				return false
			}
		case <-s.ctx.Done():
			s.t.Errorf("a commit hangs")
			return false
		}
	}
}

// forget forgets, and waits until the store has been idle for a moment: so that removing and cleaning are among the operations.
func (s *session) forget(o *oracle, name string, upTo federation.Offset) bool {
	o.forgotten[name] = upTo
	s.Forget(lane(name), born, upTo)
	s.settle()
	return s.Health().Err == nil
}

// settle waits until nothing was removed for a while. Any wait would be right: it decides only how much is enumerated.
func (s *session) settle() {
	deadline := time.Now().Add(20 * time.Millisecond)
	for used := s.Usage().Used; time.Now().Before(deadline); used = s.Usage().Used {
		time.Sleep(500 * time.Microsecond)
		if s.Usage().Used == used {
			return
		}
	}
}

// checkState opens a state, checks it, goes on in it, and opens it again.
func (c *crash) checkState(label string, m Machine, o *oracle) {
	c.t.Helper()
	if c.states%secondSample == 0 { // a second power failure during the recovery from the first
		c.secondFailure(label, m, o)
	}
	s, err := tryOpen(c.t, m, crashConfig())
	if err != nil {
		c.t.Fatalf("%s: open: %v", label, err)
	}
	k := c.checked(label, s, o)
	s.abandon()
	m.Kill()
	s, err = tryOpen(c.t, m, crashConfig())
	if err != nil {
		c.t.Fatalf("%s: second opening: %v", label, err)
	}
	if again := c.checked(label, s, o); again != k {
		c.t.Fatalf("%s: %d commits at the first opening, %d at the second", label, k, again)
	}
	if err := s.Commit(s.ctx, batchRecord(c.t, "after", 1, 1, 10)); err != nil {
		c.t.Fatalf("%s: commit after the crash: %v", label, err)
	}
	s.abandon()
}

func (c *crash) checked(label string, s *session, o *oracle) int {
	c.t.Helper()
	defer func() {
		if c.t.Failed() {
			c.t.Logf("state: %s\n%s", label, Dump(s.place))
		}
	}()
	return o.check(c.t, s)
}

// secondFailure lets the opening of a state die at every operation, and checks what the power failure leaves then.
func (c *crash) secondFailure(label string, m Machine, o *oracle) {
	for n := 1; n <= 12 && !c.t.Failed(); n++ {
		var state Machine
		m.States(func(_ string, copied Machine) bool { state = copied; return false })
		state.DieAt(n)
		if s := c.live(state); s != nil {
			s.abandon()
		}
		found := 0
		state.States(func(l string, again Machine) bool {
			if found++; found%twiceSample != 0 {
				return true
			}
			c.twice++
			s, err := tryOpen(c.t, again, crashConfig())
			if err != nil {
				c.t.Fatalf("%s, then at operation %d: %s: open: %v", label, n, l, err)
			}
			c.checked(label+", then "+l, s, o)
			s.abandon()
			return !c.t.Failed()
		})
	}
}

// killed checks the other order: the process dies, the next one sees all that was written, and then the power fails, which takes what was never made
// durable. What the process between has shown must stay.
func (c *crash) killed(n int, m Machine, o *oracle) {
	m.Kill()
	s, err := tryOpen(c.t, m, crashConfig())
	if err != nil {
		c.t.Fatalf("killed at operation %d: open: %v", n, err)
	}
	k := c.checked(fmt.Sprintf("killed at operation %d", n), s, o)
	s.abandon()
	m.Kill()
	seen := *o
	seen.acked = max(o.acked, k)
	m.States(func(label string, state Machine) bool {
		c.count(state)
		label = fmt.Sprintf("killed at operation %d, opened, then the power failed: %s", n, label)
		s, err := tryOpen(c.t, state, crashConfig())
		if err != nil {
			c.t.Fatalf("%s: open: %v", label, err)
		}
		c.checked(label, s, &seen)
		s.abandon()
		return !c.t.Failed()
	})
}
