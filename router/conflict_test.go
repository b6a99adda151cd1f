package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

// branch is a batch of lane events, generation 7 unless it says otherwise, as a store of nyc in one of its epochs seals it.
func (s *story) branch(epoch federation.Epoch, first federation.Offset, bodies ...string) federation.Copy {
	s.t.Helper()
	return federation.Copy{Sidecar: federation.Sidecar{Bitmap: 1}, Batch: s.sealedIn(epoch, 7, first, federation.NoTTL, bodies...)}
}

// refusals is how often something was refused for a reason, with what status says to type.
func (s *story) refusals(what string, v federation.Verdict) (count uint64, fix string) {
	for _, r := range s.router.Refusals() {
		if r.What == what && r.Reason == v.String() {
			return r.Count.Count, r.Fix
		}
	}
	return 0, ""
}

func TestAnotherBranchOfALaneIsAnsweredConflictCountedAndNeverPublished(t *testing.T) {
	tests := []struct {
		name   string
		before func(s *story) []federation.Copy // taken first
		branch func(s *story) federation.Copy
		want   []string // published in all
	}{
		{"of offsets that are done, sealed later",
			func(s *story) []federation.Copy { return []federation.Copy{s.branch(2, 1, "a", "b")} },
			func(s *story) federation.Copy { return s.branch(3, 1, "A", "B") }, []string{"a", "b"}},
		{"of offsets that are done, sealed earlier",
			func(s *story) []federation.Copy { return []federation.Copy{s.branch(2, 1, "a", "b")} },
			func(s *story) federation.Copy { return s.branch(1, 1, "A", "B") }, []string{"a", "b"}},
		{"that overlaps what is done",
			func(s *story) []federation.Copy { return []federation.Copy{s.branch(2, 1, "a", "b")} },
			func(s *story) federation.Copy { return s.branch(3, 2, "B", "C") }, []string{"a", "b"}},
		{"of what follows, sealed earlier",
			func(s *story) []federation.Copy { return []federation.Copy{s.branch(2, 1, "a", "b")} },
			func(s *story) federation.Copy { return s.branch(1, 3, "C") }, []string{"a", "b"}},
		{"of what waits, with other bytes",
			func(s *story) []federation.Copy { return []federation.Copy{s.branch(2, 2, "b")} },
			func(s *story) federation.Copy { return s.branch(2, 2, "B") }, nil},
		{"of an older generation",
			func(s *story) []federation.Copy { return []federation.Copy{s.branch(2, 1, "a", "b")} },
			func(s *story) federation.Copy { return s.copyOf(6, 3, "C") }, []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				l := s.begun(7)
				for _, c := range tt.before(s) {
					s.router.Copy(l, c, func(federation.Verdict, time.Duration) {})
				}
				time.Sleep(time.Second)
				synctest.Wait()
				before, v := s.router.InLanes()[0], &verdicts{}

				s.router.Copy(l, tt.branch(s), v.answer)
				time.Sleep(time.Second)
				synctest.Wait()

				if diff := cmp.Diff([]federation.Verdict{federation.Conflict}, v.all()); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.want, s.broker.bodies()); diff != "" {
					t.Errorf("published (-want +got):\n%s", diff)
				}
				if after := s.router.InLanes()[0]; after.Done != before.Done || after.WindowMessages != before.WindowMessages {
					t.Errorf("lane %+v, before %+v", after, before)
				}
				if n, fix := s.refusals("copy", federation.Conflict); n != 1 || fix != originResealFix {
					t.Errorf("%d counted, with %q", n, fix)
				}
			})
		})
	}
}

func TestABranchThatCameBeforeItsTurnIsAnsweredConflictWhenItsTurnComes(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l, v := s.begun(7), &verdicts{}
		s.router.Copy(l, s.branch(1, 2, "B"), v.answer) // nothing tells yet that it is of another branch
		s.router.Copy(l, s.branch(2, 1, "a"), func(federation.Verdict, time.Duration) {})
		time.Sleep(time.Second)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Verdict{federation.Conflict}, v.all()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		s.router.Copy(l, s.branch(2, 2, "b"), func(federation.Verdict, time.Duration) {})
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b"}, s.broker.bodies()); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
		if n, _ := s.refusals("copy", federation.Conflict); n != 1 {
			t.Errorf("%d counted", n)
		}
	})
}

func TestAConflictHoldsTheLaneAtItsOriginWithWhatToTypeAndForgetsNothing(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")

		l.answerOf(0)(federation.Conflict, 0)
		synctest.Wait()

		lane := s.router.OutLanes()[0]
		got := lane.Destinations[0]
		if got.State != federation.StateHeld || got.Reason != "nyc answers CONFLICT" || got.Fix != resealFix {
			t.Errorf("lane %+v", got.Condition)
		}
		if n, fix := s.refusals("answer", federation.Conflict); n != 1 || !strings.Contains(fix, "cloudqueue spool reseal") {
			t.Errorf("%d counted, with %q", n, fix)
		}
		if got.Receipted != 0 || lane.StoredMessages != 1 || len(s.stored(orders, 1)) != 1 {
			t.Errorf("the lane holds %d messages, receipted to %d", lane.StoredMessages, got.Receipted)
		}
		time.Sleep(time.Minute) // it is sent again and again, and stays in sight
		synctest.Wait()
		if got := s.router.OutLanes()[0].Destinations[0]; got.State != federation.StateHeld || len(l.sent()) < 2 {
			t.Errorf("after a minute %+v, sent %v", got.Condition, l.sent())
		}
	})
}
