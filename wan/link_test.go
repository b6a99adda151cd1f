package wan

import (
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

func TestLinkComesUpOnceOnBothSides(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()

		for _, s := range []*site{ams, nyc} {
			if ups, downs := s.handler.counts(); ups != 1 || downs != 0 {
				t.Errorf("%s: up %d times, down %d times, want once and never", s.name, ups, downs)
			}
		}
		for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
			status := s.status(peer)
			if status.State != StateRunning || len(status.Connections) != 2 || status.Hello.Router != string(peer.name)+"-1" {
				t.Errorf("%s: %+v, want running with two connections", s.name, status)
			}
		}
	})
}

func TestCopiesArriveInOrderAndAreAnswered(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		all := batches(t, testLane(1), 50, 1000)
		answers := newLedger()

		answers.copyAll(t, ams.link(nyc), 1, all)
		sleep(time.Second)

		copies, _, _ := nyc.handler.snapshot()
		var got, want []string
		for i, c := range copies {
			got = append(got, string(c.Batch))
			if c.Sidecar.Bitmap != 1 || c.Number != uint64(i+1) {
				t.Errorf("copy %d: number %d, sidecar %+v", i, c.Number, c.Sidecar)
			}
		}
		for _, b := range all {
			want = append(want, string(b.Bytes()))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		counts, err := answers.tally()
		if diff := cmp.Diff(map[federation.Verdict]int{federation.OK: 50}, counts); diff != "" || err != nil {
			t.Errorf("answers: %v (-want +got):\n%s", err, diff)
		}
		if s := ams.status(nyc); s.Sent.Frames != 50 || s.Queued != 0 || s.Unanswered != 0 || s.Verdicts["OK"] != 50 {
			t.Errorf("status %+v, want 50 sent and answered", s)
		}
	})
}
