package main

import (
	"fmt"
	"strings"
)

func (m *Model) bname(s *State, b int) string {
	t := s.Tab[b]
	if t.N == 0 {
		return "?"
	}
	var x []string
	for i := uint8(0); i < t.N; i++ {
		f := ""
		if t.Dup>>i&1 != 0 {
			f = "*"
		}
		x = append(x, fmt.Sprintf("%d=m%d%s", t.First+i, t.Msg[i], f))
	}
	return fmt.Sprintf("b%d[%s]", b, strings.Join(x, " "))
}

func dset(d uint8) string {
	return [...]string{"{}", "{D1}", "{D2}", "{D1,D2}"}[d&3]
}

func (m *Model) frname(s *State, f uint8) string {
	t := ""
	if frTry(f) > 0 {
		t = fmt.Sprintf(" try %d", frTry(f))
	}
	return fmt.Sprintf("%s for %s%s", m.bname(s, frBatch(f)), dset(frDests(f)), t)
}

// Describe puts a step into words; s is the state before it, t after it.
func (m *Model) Describe(s, t *State, a Action) string {
	d := int(a.A)
	switch a.K {
	case aSeal:
		return fmt.Sprintf("O seals %s for %s", m.bname(t, int(t.NTab)-1), dset(t.Member))
	case aCommit:
		return "O: Commit returns nil"
	case aAmqpAck:
		return "O acks to the source queue everything it may"
	case aSend:
		return fmt.Sprintf("%s sends %s to %s", nodeName[links[a.A].from], m.frname(s, a.B), nodeName[links[a.A].to])
	case aTakeFrame:
		return fmt.Sprintf("%s takes %s, answers OK", nodeName[links[a.A].to], m.frname(s, a.B))
	case aTakeAck:
		return fmt.Sprintf("%s gets the ack of %s from %s", nodeName[links[a.A].from], m.frname(s, a.B), nodeName[links[a.A].to])
	case aRelaySync:
		return fmt.Sprintf("R%d: HANDED durable", d+1)
	case aRelayCommit:
		return fmt.Sprintf("R%d: COPY durable", d+1)
	case aAsk:
		x := t.D[d].Ans
		w := "your store is new"
		if x.First != 0 {
			w = "first contact"
		}
		return fmt.Sprintf("D%d (store %d) asks SYNC, O answers: join %d, last assigned %d, receipted %d, %s", d+1, s.D[d].Store, x.Join, x.Last, x.Rcpt.Done, w)
	case aAdopt:
		return fmt.Sprintf("D%d takes the answer: done %d, reserved %d", d+1, t.D[d].Done, t.D[d].Res)
	case aPublish, aRepublish:
		i := 0
		for i < 2 && t.D[d].Sock[i+1] != 0 {
			i++
		}
		w := ""
		if t.D[d].Sock[i]&1 != 0 {
			w = " flagged"
		}
		if a.K == aRepublish {
			w += " (again)"
		}
		return fmt.Sprintf("D%d publishes %d of %s%s, reserved %d", d+1, a.B, m.bname(s, int(a.C)), w, t.D[d].Res)
	case aSkipParked:
		return fmt.Sprintf("D%d passes %d, it is parked", d+1, a.B)
	case aBroker:
		return fmt.Sprintf("D%d's broker: %s", d+1, [...]string{"takes the publish and confirms", "nacks", "returns the message (poison)", "takes the publish, the confirm is lost"}[a.B])
	case aOldBroker:
		return fmt.Sprintf("D%d's broker takes a publish from the dead process's socket", d+1)
	case aOldEnds:
		return fmt.Sprintf("D%d's broker ends the dead process's channel", d+1)
	case aPark:
		return fmt.Sprintf("D%d: PARK durable", d+1)
	case aJournal:
		return fmt.Sprintf("D%d: done %d durable", d+1, t.D[d].Done)
	case aReserve:
		return fmt.Sprintf("D%d: reserved %d durable", d+1, t.D[d].Res)
	case aReceipt:
		return fmt.Sprintf("O gets receipt %d of D%d", t.Rcpt[d].Done, d+1)
	case aHold:
		return fmt.Sprintf("O HOLDS the lane to D%d: it says done %d", d+1, s.D[d].Done)
	case aReseal:
		return fmt.Sprintf("an admin RESEALS D%d, new store %d", d+1, t.D[d].Store)
	case aCopyD:
		return fmt.Sprintf("a COPY of D%d's store is taken: done %d", d+1, s.D[d].Done)
	case aRestoreD:
		return fmt.Sprintf("D%d's store is PUT BACK to the copy: done %d, reserved %d", d+1, t.D[d].Done, t.D[d].Res)
	case aOldReceipt:
		return fmt.Sprintf("O gets late receipt %d of D%d's former store", t.Rcpt[d].Done, d+1)
	case aExpire:
		return fmt.Sprintf("D%d: offset %d has expired", d+1, a.B)
	case aRepair, aSpurious:
		return fmt.Sprintf("O: no progress, SYNC says D%d done %d; rewinds, try %d", d+1, s.D[d].Done, t.Try[d])
	case aCrashO:
		w := ""
		if a.A == 1 {
			w = "; redelivered ones come behind"
		}
		if a.B == 1 {
			w += "; the group of the failed Commit turns up"
		}
		return fmt.Sprintf("O CRASHES, starts again: next offset %d%s", t.Next, w)
	case aCrashR:
		return fmt.Sprintf("R%d CRASHES, starts again", d+1)
	case aCrashD:
		return fmt.Sprintf("D%d CRASHES, starts again: done %d, reserved %d", d+1, t.D[d].Done, t.D[d].Res)
	case aLossR:
		return fmt.Sprintf("R%d LOSES ITS DISK", d+1)
	case aLossD:
		return fmt.Sprintf("D%d LOSES ITS DISK, new store %d", d+1, t.D[d].Store)
	case aRemount:
		return fmt.Sprintf("D%d's FORMER DISK is mounted again, store %d", d+1, t.D[d].Store)
	case aSnap:
		return "a SNAPSHOT of O's store is taken"
	case aRestore:
		return fmt.Sprintf("O's store is PUT BACK to the snapshot: next offset %d, epoch %d", t.Next, t.Ep)
	case aLink:
		return fmt.Sprintf("connection %s-%s BREAKS", nodeName[links[a.A].from], nodeName[links[a.A].to])
	case aPath:
		return fmt.Sprintf("path of D%d becomes %s", d+1, pathName[a.B])
	case aEdit:
		if a.B == 1 {
			return fmt.Sprintf("route edit: D%d joins from %d", d+1, t.Join[d])
		}
		return fmt.Sprintf("route edit: D%d leaves after %d", d+1, t.Leave[d])
	case aChannel:
		return "O's AMQP channel dies, unacked messages are redelivered"
	case aCommitFail:
		return fmt.Sprintf("O: Commit fails, sealed bytes thrown away, channel dies, next offset %d", t.Next)
	case aStop:
		return fmt.Sprintf("D%d stops cleanly, starts again: reserved %d", d+1, t.D[d].Res)
	}
	return fmt.Sprint(a)
}

// Explain prints a trace in readable form.
func (m *Model) Explain(r Result) string {
	var w strings.Builder
	s := m.initial()
	n := 0
	play := func(list []Action) {
		for _, a := range list {
			if a.K >= aCrashO || a.K == aExpire || a.K == aOldReceipt {
				s.Bud = m.Bud
			}
			t := m.apply(s, a)
			n++
			if n == 60 {
				fmt.Fprintf(&w, "  ... and so on\n")
			}
			if n >= 60 {
				s = t
				continue
			}
			fmt.Fprintf(&w, "  %2d. %s\n", n, m.Describe(&s, &t, a))
			s = t
		}
	}
	play(r.Trace)
	if len(r.Tail) > 0 {
		if r.V.What == cIso {
			s.Dead = 1
			fmt.Fprintf(&w, "  -- D1's broker goes down for ever; no other faults from here on --\n")
		} else {
			fmt.Fprintf(&w, "  -- from here on no faults --\n")
		}
		play(r.Tail)
	}
	fmt.Fprintf(&w, "  => %s: %s\n", checkName[r.V.What], r.V.Text)
	return w.String()
}
