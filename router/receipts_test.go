package router

import (
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool/memstore"
)

func TestTheNewestQuestionOfADestinationIsAnswered(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")
		gen := s.router.out[orders].generation()
		ask := func(nonce uint64) {
			s.router.Control(l, federation.SyncReq{Nonce: nonce, Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.UnixMilli(1), ToOrigin: true})
		}

		s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Delay: time.Second} })
		ask(1)
		synctest.Wait() // the store is being written
		ask(2)
		s.router.Control(l, federation.Receipt{Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.UnixMilli(1), Join: 1, Done: 1,
			Counters: federation.Counters{Delivered: 1}})
		time.Sleep(time.Minute)

		told := framesOf[federation.Sync](l)
		if len(told) == 0 || told[len(told)-1].Nonce != 2 {
			t.Errorf("answers %+v", told)
		}
	})
}
