package embedded

import (
	"fmt"
	"testing"
)

// checkInvariants recounts what the broker keeps count of. It holds whenever nobody holds the lock.
func checkInvariants(t testing.TB, b *Broker) {
	t.Helper()
	b.mu.Lock()
	defer b.unlock()
	for _, fault := range b.faults() {
		t.Error(fault)
	}
}

func (b *Broker) faults() []string {
	var faults []string
	expect := func(what string, got, want any) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s is %v, counted %v", what, got, want))
		}
	}
	held, unsettled := b.countChannels(expect)
	for name, q := range b.queues {
		count, bytes := 0, int64(0)
		last := map[int]uint64{}
		for lane := range q.ready {
			for i := 0; i < q.ready[lane].count; i++ {
				e := q.ready[lane].at(i)
				count++
				bytes += int64(len(e.body))
				held += e.cost()
				if e.position <= last[lane] {
					faults = append(faults, fmt.Sprintf("queue %s: position %d behind %d", name, e.position, last[lane]))
				}
				last[lane] = e.position
			}
		}
		expect("ready count of "+name, q.readyCount, count)
		expect("ready bytes of "+name, q.readyBytes, bytes)
		expect("unsettled of "+name, q.unsettled, unsettled[q])
		for _, c := range q.consumers {
			expect("queue of "+c.tag, c.queue, q)
			expect("registered "+c.tag, c.channel.consumers[c.tag], c)
		}
		if q.over(q.readyCount, q.readyBytes) && q.options.overflow == overflowDropHead {
			faults = append(faults, "queue "+name+" is over its length")
		}
	}
	bindings, sources := 0, 0
	for _, q := range b.queues {
		for _, n := range q.sources {
			sources += n
		}
	}
	for name, x := range b.exchanges {
		bindings += len(x.bindings)
		for _, bd := range x.bindings {
			if bd.queue != nil {
				sources--
			}
		}
		byKey := 0
		for _, list := range x.byKey {
			byKey += len(list)
		}
		expect("bindings by key of "+name, byKey, len(x.bindings))
	}
	expect("bindings", b.bindings, bindings)
	expect("sources of queues less bindings", sources, 0)
	expect("held bytes", b.held, held)
	return faults
}

// countChannels returns what deliveries and transactions hold.
func (b *Broker) countChannels(expect func(string, any, any)) (held int64, unsettled map[*queue]int) {
	unsettled = map[*queue]int{}
	add := func(d delivery) {
		held += d.entry.cost()
		unsettled[d.queue]++
	}
	for _, c := range b.connections {
		for _, ch := range c.channels {
			byConsumer, count, limited := map[*consumer]int{}, 0, 0
			for _, d := range ch.unsettled.list {
				if d.entry == nil {
					continue
				}
				count++
				add(d)
				byConsumer[d.consumer]++
				if d.consumer != nil {
					limited++
				}
			}
			expect("unsettled of a channel", ch.unsettled.count, count)
			for _, s := range ch.tx.settled {
				for _, d := range s.deliveries {
					add(d)
					byConsumer[d.consumer]++
					if d.consumer != nil {
						limited++
					}
				}
			}
			expect("limited", ch.limited, limited)
			for _, c := range ch.consumers {
				expect("unsettled of "+c.tag, c.unsettled, byConsumer[c])
			}
			for _, p := range ch.tx.messages {
				held += p.message.cost()
			}
		}
	}
	return held, unsettled
}
