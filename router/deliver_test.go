package router

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

// bodies are "m1" … "mN".
func bodies(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("m%d", i+1)
	}
	return out
}

// unflagged strips stars and repeats: the first appearances.
func unflagged(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, b := range list {
		if b = strings.TrimSuffix(b, "*"); !seen[b] {
			seen[b] = true
			out = append(out, b)
		}
	}
	return out
}

func TestARefusedMessageIsFoundAmongWhatWasSentBeforeItsChannelWasClosed(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.poison = "m100"
		v := &verdicts{}

		s.router.Copy(l, s.copyOf(7, 1, bodies(300)...), v.answer)
		time.Sleep(time.Minute)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Verdict{federation.OK}, v.all()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if got := len(unflagged(s.broker.bodies())); got != 299 {
			t.Errorf("%d messages appeared, want 299", got)
		}
		if parked := s.spool.Parked(); len(parked) != 1 || parked[0].ID.Offset != 100 || parked[0].Reason != ReasonRefused {
			t.Errorf("parked: %+v", parked)
		}
	})
}

// RabbitMQ says 406 of a message over its max_message_size; other brokers say 311.
func TestAMessageThatClosesItsChannelAsTooLargeIsFoundAndParked(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.poison, s.broker.code = "m10", federation.CodeTooLarge

		s.router.Copy(l, s.copyOf(7, 1, bodies(20)...), (&verdicts{}).answer)
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := len(unflagged(s.broker.bodies())); got != 19 {
			t.Errorf("%d messages appeared, want 19", got)
		}
		if parked := s.spool.Parked(); len(parked) != 1 || parked[0].ID.Offset != 10 || parked[0].Reason != ReasonTooLarge {
			t.Errorf("parked: %+v", parked)
		}
	})
}

func TestReceiptsAndJournalGoOnDuringAnAlarm(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.silent = true
		v, later := &verdicts{}, &verdicts{}
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), v.answer)
		synctest.Wait()
		end := s.broker.setAlarm()
		s.router.Copy(l, s.copyOf(7, 3, "c"), later.answer)
		synctest.Wait()

		s.broker.publishers[0].answer() // what it had taken before
		time.Sleep(2 * journalPause)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Verdict{federation.OK}, v.all()); diff != "" {
			t.Errorf("answers during the alarm (-want +got):\n%s", diff)
		}
		if receipts := framesOf[federation.Receipt](l); len(receipts) == 0 || receipts[len(receipts)-1].Done != 2 {
			t.Errorf("receipts during the alarm: %+v", receipts)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := s.router.InLanes()[0]; got.State != "held" || got.Reason == "" || got.Fix == "" {
			t.Errorf("lane during the alarm %+v", got.Condition)
		}
		s.broker.mu.Lock()
		s.broker.silent = false
		s.broker.mu.Unlock()
		end()
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c"}, s.broker.bodies()); diff != "" {
			t.Errorf("appeared (-want +got):\n%s", diff)
		}
		if got := s.router.InLanes()[0]; got.State != "running" || len(later.all()) != 1 {
			t.Errorf("lane after the alarm %+v, answers %v", got.Condition, later.all())
		}
	})
}

func TestALaneThatWaitsForConfirmsDuringAnAlarmIsHeldVisibly(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.silent = true
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), (&verdicts{}).answer)
		synctest.Wait()

		s.broker.setAlarm() // both were handed over before it was known
		time.Sleep(2 * time.Second)
		synctest.Wait()

		if got := s.router.InLanes()[0]; got.State != "held" || got.Reason == "" || got.Fix == "" {
			t.Errorf("lane during the alarm %+v", got.Condition)
		}
	})
}

func TestALaneIsHeldVisiblyDuringAnAlarmAlsoWhileCopiesKeepComing(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.setAlarm()
		for n := range federation.Offset(100) {
			s.router.Copy(l, s.copyOf(7, n+1, "a"), (&verdicts{}).answer)
			time.Sleep(20 * time.Millisecond)
			synctest.Wait()
		}

		if got := s.router.InLanes()[0]; got.State != "held" || got.Reason == "" || got.Fix == "" {
			t.Errorf("lane during the alarm %+v", got.Condition)
		}
	})
}

func TestOnlyWhatMayHaveBeenSentIsFlaggedAfterALostChannel(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.silent = true
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), (&verdicts{}).answer)
		synctest.Wait()
		end := s.broker.setAlarm()
		s.router.Copy(l, s.copyOf(7, 3, "c", "d"), (&verdicts{}).answer)
		synctest.Wait()

		s.broker.mu.Lock()
		s.broker.silent = false
		s.broker.mu.Unlock()
		s.broker.publishers[0].lose()
		end()
		time.Sleep(time.Second)
		synctest.Wait()

		if diff := cmp.Diff([]string{"a*", "b*", "c", "d"}, s.broker.bodies()); diff != "" {
			t.Errorf("appeared (-want +got):\n%s", diff)
		}
		if got := s.router.InLanes()[0]; got.Counters.Flagged != 2 {
			t.Errorf("counters %+v", got.Counters)
		}
	})
}

func TestEveryRepeatOfAHeldCopyIsAnswered(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		v := &verdicts{}
		for range maxAnswers + 1 {
			s.router.Copy(l, s.copyOf(7, 2, "b"), v.answer)
		}
		synctest.Wait()

		s.router.Copy(l, s.copyOf(7, 1, "a"), v.answer)
		time.Sleep(2 * journalPause)
		synctest.Wait()

		want := []federation.Verdict{federation.WindowShut, federation.OK, federation.OK, federation.OK, federation.OK, federation.OK}
		if diff := cmp.Diff(want, v.all()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

func TestWellCompressedBatchesAreNotAllDecodedAtOnce(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.silent = true
		large := strings.Repeat("0", 12<<20)
		for i := range 6 {
			s.router.Copy(l, s.copyOf(7, federation.Offset(i+1), large), (&verdicts{}).answer)
		}
		time.Sleep(time.Second)
		synctest.Wait()

		if got := len(s.broker.publishers[0].open); got != 2 {
			t.Errorf("%d messages of 12 MiB are with the broker, want 2", got)
		}
		s.broker.mu.Lock()
		s.broker.silent = false
		s.broker.mu.Unlock()
		s.broker.publishers[0].answer()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := len(s.broker.bodies()); got != 6 {
			t.Errorf("%d messages appeared, want 6", got)
		}
	})
}

func TestAnIdleLaneIsRunningOnceItHasItsChannel(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.begun(7)

		if got := s.router.InLanes()[0]; got.State != "running" {
			t.Errorf("lane %+v", got.Condition)
		}
	})
}

func TestACrashFlagsAtMostWhatTheLaneDeliversInASecond(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		const perSecond = 400
		last := federation.Offset(0)
		for range 10 * perSecond / 4 { // ten seconds, four messages every 10 ms
			s.router.Copy(l, s.copyOf(7, last+1, "a", "b", "c", "d"), (&verdicts{}).answer)
			last += 4
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()

			if ahead := s.router.InLanes()[0].Reserved - min(last, s.router.InLanes()[0].Reserved); ahead > perSecond*5/4 {
				t.Fatalf("at %d: %d offsets are reserved and not received", last, ahead)
			}
		}
	})
}
