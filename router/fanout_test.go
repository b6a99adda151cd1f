package router

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

// toBoth sends lane fan to two sites.
const toBoth = `
federation: acme
sites:
  ams: {listen: ["127.0.0.1:1"]}
  nyc: {listen: ["127.0.0.1:2"]}
  sin: {listen: ["127.0.0.1:3"]}
routes:
  fan:
    from: {site: ams, exchange: fan, keys: ["#"]}
    to: [{site: nyc}, {site: sin}]
`

var fan = federation.Lane{Origin: "ams", Route: "fan"}

// openedBy is a link on which a destination has opened lane fan from offset 1.
func (s *story) openedBy(site federation.SiteID, store federation.StoreID) *fakeLink {
	l := &fakeLink{peer: site, store: store}
	s.router.Up(l)
	synctest.Wait()
	s.router.Control(l, federation.LaneState{Lane: fan, KnownGeneration: s.router.out[fan].generation(),
		Destinations: []federation.DestState{{Destination: federation.Destination{Site: site}, NextWanted: 1, Window: 4 << 20}}})
	synctest.Wait()
	return l
}

func TestABatchForTwoDestinationsIsSealedAndStoredOnceAndBothGetItsBytes(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.apply(toBoth)
		for _, body := range []string{"a", "b", "c"} {
			s.give("fan", "", body)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		stored := s.spool.ExtentsOf(fan)
		if len(stored) != 1 || stored[0].First != 1 || stored[0].Last != 3 {
			t.Fatalf("stored: %+v", stored)
		}

		nyc, sin := s.openedBy("nyc", federation.StoreID{2}), s.openedBy("sin", federation.StoreID{3})

		if diff := cmp.Diff(nyc.sent(), sin.sent()); diff != "" || uint64(len(nyc.sent())) != stored[0].Batches {
			t.Fatalf("%d batches are stored, %d went to nyc (-nyc +sin):\n%s", stored[0].Batches, len(nyc.sent()), diff)
		}
		want := []federation.Destination{atNyc, {Site: "sin"}}
		for i, c := range nyc.copies {
			if diff := cmp.Diff(want, c.batch.Header.Destinations); diff != "" {
				t.Errorf("sealed for (-want +got):\n%s", diff)
			}
			inStore, err := s.spool.Read(t.Context(), fan, s.router.out[fan].generation(), c.batch.Header.First)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(inStore.Bytes(), c.batch.Bytes()) || !bytes.Equal(inStore.Bytes(), sin.copies[i].batch.Bytes()) {
				t.Errorf("batch %d: the store, nyc and sin have other bytes", i)
			}
		}
		if nyc.copies[0].side.Bitmap == sin.copies[0].side.Bitmap {
			t.Errorf("both copies are for the same destination: %b", sin.copies[0].side.Bitmap)
		}
	})
}
