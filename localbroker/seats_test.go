package localbroker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/embedded"
)

const limitRetry = time.Minute

func lane(n int) federation.Source {
	return federation.Source{Queue: fmt.Sprintf("cq.out.%d", n), Exchange: "orders", Keys: []string{"eu.#"}}
}

// lanes makes one consumer after the other, and gives each the time to get its channel.
func (w *world) lanes(count int) (all []*localbroker.Consumer) {
	w.declareTopic()
	for n := range count {
		all = append(all, w.ours.Consumer(lane(n)))
		synctest.Wait()
	}
	return all
}

// waitsForAChannel checks that a lane says which limit holds it and what raises it.
func (w *world) waitsForAChannel(c *localbroker.Consumer) {
	w.t.Helper()
	said := w.state(c, "held")
	if !strings.Contains(said.Reason, "5 channels") || !strings.Contains(said.Fix, "channel_max") {
		w.t.Errorf("%+v", said)
	}
}

func TestLanesOverTheBrokersChannelsWaitAndLeaveThoseThatRunAlone(t *testing.T) {
	inWorldOf(t, embedded.Limits{ChannelMax: 5}, nil, func(w *world) {
		all := w.lanes(6)
		w.publish("orders", "eu.nl", "1")
		var first []federation.Delivery
		for _, c := range all[:4] {
			first = append(first, w.next(c))
		}
		time.Sleep(5 * time.Minute) // ten checks
		w.publish("orders", "eu.nl", "2")
		for n, c := range all[:4] {
			w.state(c, "running")
			d := w.next(c)
			if string(d.Message.Body) != "2" || d.Tag.Incarnation != first[n].Tag.Incarnation {
				t.Errorf("lane %d: %q of incarnation %d, want 2 of %d", n, d.Message.Body, d.Tag.Incarnation, first[n].Tag.Incarnation)
			}
			w.queue(lane(n).Queue, 0, 2)
		}
		for n, c := range all[4:] {
			w.waitsForAChannel(c)
			w.queue(lane(4+n).Queue, 2, 0) // bound: what is published waits there
		}
	})
}

func TestAsManyLanesAsChannelsStillCheckTheirQueues(t *testing.T) {
	inWorldOf(t, embedded.Limits{ChannelMax: 5}, nil, func(w *world) {
		all := w.lanes(5)
		ch := w.service()
		for n := range 4 {
			must(t, ch.QueueUnbind(lane(n).Queue, "eu.#", "orders", nil))
		}
		time.Sleep(time.Minute)
		w.publish("orders", "eu.nl", "1")
		for _, c := range all[:4] {
			if d := w.next(c); d.Redelivered {
				t.Errorf("%+v", d)
			}
		}
	})
}

func TestALaneOverTheBrokersChannelsTakesTheOneThatIsLeft(t *testing.T) {
	inWorldOf(t, embedded.Limits{ChannelMax: 5}, nil, func(w *world) {
		all := w.lanes(5)
		w.waitsForAChannel(all[4])
		must(t, all[0].Close(w.ctx))
		time.Sleep(limitRetry + time.Second)
		w.state(all[4], "running")
	})
}

func TestALaneThatPausesKeepsItsChannel(t *testing.T) {
	inWorldOf(t, embedded.Limits{ChannelMax: 5}, nil, func(w *world) {
		all := w.lanes(5)
		must(t, all[0].Pause(w.ctx))
		time.Sleep(2 * time.Minute)
		w.waitsForAChannel(all[4])
		all[0].Resume()
		synctest.Wait()
		w.state(all[0], "running")
	})
}

func TestWithoutASpareChannelAMissingExchangeIsStillToldAndMended(t *testing.T) {
	inWorldOf(t, embedded.Limits{ChannelMax: 5}, nil, func(w *world) {
		all := w.lanes(4)
		must(t, w.service().ExchangeDelete("orders", false, false))
		time.Sleep(time.Minute)
		for _, c := range all {
			w.state(c, "held")
		}
		w.declareTopic()
		time.Sleep(time.Minute)
		w.publish("orders", "eu.nl", "1")
		for _, c := range all {
			w.state(c, "running")
			if d := w.next(c); d.Redelivered || d.Tag.Incarnation != 1 {
				t.Errorf("%+v", d)
			}
		}
	})
}
