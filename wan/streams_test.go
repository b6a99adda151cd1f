package wan

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
	"github.com/quic-go/quic-go"
)

// place is a data stream of a link, as it is on the wire.
type place struct {
	connection int
	class      uint8
	stream     quic.StreamID
}

// wire is what a peer sees come in, by stream and in its order.
type wire struct {
	t     *testing.T
	mu    sync.Mutex // each stream is read by itself
	lanes map[place]map[federation.Lane][]federation.Offset
}

// watch reads all data streams of a rogue's connection until it ends.
func (w *wire) watch(r *rogue, connection int) {
	for {
		s, err := r.qc.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go w.read(s, connection)
	}
}

func (w *wire) read(s *quic.Stream, connection int) {
	frames := newFrameReader(s, readBuffer, federation.MaxCopyFrame)
	preamble, err := frames.preamble()
	if err != nil {
		return
	}
	at := place{connection, preamble.Class, s.StreamID()}
	for {
		f, _, err := frames.next()
		if err != nil {
			return
		}
		batch, err := federation.ParseBatch(f.(federation.Copy).Batch)
		if err != nil {
			w.t.Errorf("%+v: %v", at, err)
			return
		}
		w.saw(at, batch.Header)
	}
}

func (w *wire) saw(at place, h federation.Header) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lanes[at] == nil {
		w.lanes[at] = map[federation.Lane][]federation.Offset{}
	}
	w.lanes[at][h.Lane] = append(w.lanes[at][h.Lane], h.First)
}

// homes are the streams that carried each lane of a class.
func (w *wire) homes(class uint8) map[federation.Lane][]place {
	w.mu.Lock()
	defer w.mu.Unlock()
	homes := map[federation.Lane][]place{}
	for at, lanes := range w.lanes {
		for lane := range lanes {
			if at.class == class {
				homes[lane] = append(homes[lane], at)
			}
		}
	}
	return homes
}

// watched gives ams a link of two connections with a rogue, and what comes in there.
func (w *world) watched(t *testing.T) (ams *site, seen *wire) {
	ams = w.site("ams", "10.0.0.1").start(Peer{Site: "nyc"})
	seen = &wire{t: t, lanes: map[place]map[federation.Lane][]federation.Offset{}}
	for i, host := range []string{"10.0.0.2", "10.0.0.3"} {
		r := w.rogue("nyc", host)
		r.connection = uint8(i)
		r.connect(ams)
		go r.beat()
		go seen.watch(r, i)
	}
	return ams, seen
}

func TestLanesSpreadOverTheStreamsOfTheirClassAndEachStaysOnOne(t *testing.T) {
	inWorld(t, 5*time.Millisecond, func(w *world) {
		const lanes, batchesEach, classes = 61, 6, 3 // an odd number: a stream that is chosen in turn would be another one each time
		ams, seen := w.watched(t)
		link := ams.link(&site{name: "nyc"})
		answers := newLedger()
		sealed := make([][]*federation.Batch, lanes)
		for i := range sealed {
			sealed[i] = batches(t, testLane(i), batchesEach, 100)
		}
		for n := range batchesEach {
			for i := range sealed {
				answers.copyAll(t, link, uint8(i%classes), sealed[i][n:n+1])
			}
		}
		sleep(2 * time.Second)

		for class := range uint8(classes) {
			homes := seen.homes(class)
			if want := (lanes + classes - 1 - int(class)) / classes; len(homes) != want {
				t.Errorf("class %d: %d lanes came, want %d", class, len(homes), want)
			}
			for lane, at := range homes {
				if len(at) != 1 {
					t.Errorf("lane %s came on %d streams: %+v", lane, len(at), at)
				}
				if diff := cmp.Diff([]federation.Offset{1, 2, 3, 4, 5, 6}, seen.lanes[at[0]][lane]); diff != "" {
					t.Errorf("lane %s (-want +got):\n%s", lane, diff)
				}
			}
			seen.wantSpread(class, homes)
		}
	})
}

// wantSpread checks that a class has its streams on both connections, and that each carries a fair share of the lanes.
func (w *wire) wantSpread(class uint8, homes map[federation.Lane][]place) {
	w.t.Helper()
	carried, ofConnection := map[place]int{}, map[int]int{}
	for _, at := range homes {
		for _, one := range at {
			if carried[one]++; carried[one] == 1 {
				ofConnection[one.connection]++
			}
		}
	}
	if diff := cmp.Diff(map[int]int{0: streamsPerClass, 1: streamsPerClass}, ofConnection); diff != "" {
		w.t.Errorf("class %d: streams by connection (-want +got):\n%s", class, diff)
	}
	for at, n := range carried {
		if n < 2 || n > len(homes)/2 {
			w.t.Errorf("class %d: %+v carries %d of %d lanes", class, at, n, len(homes))
		}
	}
}
