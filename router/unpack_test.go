package router

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

// withCodec says another codec in a sealed batch's header (offset 5), with the CRC that this takes (offset 92, of all but itself).
func withCodec(batch []byte, codec byte) []byte {
	b := slices.Clone(batch)
	b[5] = codec
	table := crc32.MakeTable(crc32.Castagnoli)
	length := binary.LittleEndian.Uint16(b[8:])
	binary.LittleEndian.PutUint32(b[92:], crc32.Update(crc32.Checksum(b[:92], table), table, b[96:length]))
	return b
}

// damaged is a batch whose checksums are right and whose digest (offset 56) is not.
func damaged(batch []byte) []byte {
	b := slices.Clone(batch)
	b[56] ^= 1
	return withCodec(b, b[5])
}

// ofFragments seals one fragment of a large message in lane events, as a later version may.
func (s *story) ofFragments(gen federation.Generation) []byte {
	s.t.Helper()
	coder, err := federation.NewCoder()
	if err != nil {
		s.t.Fatal(err)
	}
	e := federation.Entry{Kind: federation.EntryFragment, TTL: federation.NoTTL, Message: federation.Message{Exchange: "events", Body: []byte("half a mess")},
		Fragment: &federation.Fragment{First: 1, Total: 2}}
	h := federation.Header{Lane: events, Generation: gen, First: 1, SealEpoch: 1, SealedAt: time.Now(), Destinations: []federation.Destination{atAms}}
	b, err := federation.Seal(h, []federation.Entry{e}, federation.CodecNone, coder)
	if err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
}

func TestABatchThatThisVersionCannotDeliverIsHeldAtItsOriginAndNeverPublished(t *testing.T) {
	for name, c := range map[string]struct {
		batch func(s *story) []byte
		want  federation.Verdict
	}{
		"fragments":         {func(s *story) []byte { return s.ofFragments(7) }, federation.UnknownCritical},
		"a codec to come":   {func(s *story) []byte { return withCodec(s.copyOf(7, 1, "a").Batch, 3) }, federation.CodecUnknown},
		"not what was sent": {func(s *story) []byte { return damaged(s.copyOf(7, 1, "a").Batch) }, federation.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				l := s.begun(7)
				v := &verdicts{}
				s.router.Copy(l, federation.Copy{Sidecar: federation.Sidecar{Bitmap: 1}, Batch: c.batch(s)}, v.answer)
				time.Sleep(time.Second)
				synctest.Wait()

				if diff := cmp.Diff([]federation.Verdict{c.want}, v.all()); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
				if got := s.broker.bodies(); len(got) != 0 {
					t.Errorf("appeared: %q", got)
				}
				if fix := s.router.InLanes()[0].Fix; strings.Contains(fix, "spool void") != (c.want == federation.Corrupt) {
					t.Errorf("to do: %q", fix)
				}
			})
		})
	}
}

func TestALaneOfAKindThatThisVersionDoesNotDeliverIsAnsweredSo(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.link()
		for _, lane := range []federation.Lane{{Origin: "nyc", Route: "to.ams", Kind: federation.KindAddressed}, {Origin: "nyc", Route: "events", Kind: federation.KindReplay},
			{Origin: "nyc", Route: "events", Shard: 1}} {
			s.router.Control(l, federation.LaneOpen{Lane: lane, Mark: federation.LaneMark{Members: []federation.Membership{{Destination: atAms, Join: 1}}}})
		}
		synctest.Wait()

		var got []federation.Verdict
		for _, st := range framesOf[federation.LaneState](l) {
			got = append(got, st.Verdict)
		}
		if diff := cmp.Diff(slices.Repeat([]federation.Verdict{federation.UnknownCritical}, 3), got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

// A batch is opened without the lane's lock, so it may be given back meanwhile.
func TestABatchThatWasGivenBackWhileItWasOpenedIsNotKept(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.begun(7)
		lane := s.router.in[inKey{events, atAms}]
		b, err := federation.ParseBatch(s.copyOf(7, 1, "a").Batch)
		if err != nil {
			t.Fatal(err)
		}
		gone := &arrival{batch: b}

		if lane.decode(gone) || gone.entries != nil || lane.decoded != 0 {
			t.Errorf("entries %v, %d bytes decoded", gone.entries, lane.decoded)
		}
	})
}

// The lowest offset is missing, so nothing is passed until it comes; then all is, one batch after the other.
func TestAWindowFullOfSmallBatchesIsPassedWhenWhatIsMissingComes(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		v := &verdicts{}
		const last = 3000
		for n := federation.Offset(2); n <= last; n++ {
			s.router.Copy(l, s.copyOf(7, n, "b"), v.answer)
		}
		synctest.Wait()
		if got := s.router.InLanes()[0]; got.Done != 0 {
			t.Fatalf("lane %+v", got)
		}
		s.router.Copy(l, s.copyOf(7, 1, "a"), v.answer)
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := s.router.InLanes()[0]; got.Done != last || len(v.all()) != last || len(s.broker.bodies()) != last {
			t.Errorf("lane %+v, %d answers, %d appeared", got, len(v.all()), len(s.broker.bodies()))
		}
	})
}
