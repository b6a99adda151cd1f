package wan

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
	"github.com/quic-go/quic-go"
)

// frameHeader makes the head of a frame that lies.
func frameHeader(length uint32, kind federation.FrameType, critical byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, length)
	return append(b, byte(kind), critical, 0, 0)
}

func (s *site) wantCut(r *rogue, want code) {
	s.w.t.Helper()
	if got := r.closed(time.Second); code(got.ErrorCode) != want || got.ErrorMessage == "" {
		s.w.t.Errorf("closed with %v, want code %d and a text", got, want)
	}
	sleep(time.Second)
	if ups, downs := s.handler.counts(); ups != 1 || downs != 1 {
		s.w.t.Errorf("up %d times, down %d times, want once each", ups, downs)
	}
}

func TestBytesThatAreNoFramesCutTheLink(t *testing.T) {
	for name, c := range map[string]struct {
		data  bool // on a data stream, else on the control stream
		bytes []byte
	}{
		"control frame of 4 GiB":            {false, frameHeader(1<<32-1, federation.TypeReceipt, 1)},
		"control frame over its limit":      {false, frameHeader(federation.MaxControlFrame+1, federation.TypeLaneOpen, 1)},
		"unknown critical control frame":    {false, append(frameHeader(3, 200, 1), 1, 2, 3)},
		"control frame of wrong content":    {false, append(frameHeader(3, federation.TypeAck, 1), 1, 2, 3)},
		"second hello":                      {false, encode(t, federation.Hello{MinVersion: 1, MaxVersion: 1, Site: "ams"})},
		"copy on the control stream":        {false, encode(t, federation.Copy{Number: 1, Batch: []byte("x")})},
		"ack for a stream that is not ours": {false, encode(t, federation.Ack{Stream: 1, Cumulative: 1})},
		"copy of 4 GiB":                     {true, frameHeader(1<<32-1, federation.TypeCopy, 1)},
		"copy over the limit":               {true, frameHeader(federation.MaxCopyFrame+1, federation.TypeCopy, 1)},
		"unknown critical data frame":       {true, frameHeader(0, 200, 1)},
		"control frame on a data stream":    {true, encode(t, federation.Heartbeat{Sent: time.UnixMilli(1)})},
		"copy number 2 first":               {true, encode(t, federation.Copy{Number: 2, Batch: []byte("x")})},
		"copy number 1 twice":               {true, append(encode(t, federation.Copy{Number: 1, Batch: []byte("x")}), encode(t, federation.Copy{Number: 1, Batch: []byte("x")})...)},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").connect(nyc)
				s := r.control
				if c.data {
					s = r.openData()
				}

				r.write(s, c.bytes)

				nyc.wantCut(r, codeProtocol)
				nyc.wantRefused("protocol")
			})
		})
	}
}

func TestASecondControlStreamCutsTheLink(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		r := w.rogue("ams", "10.0.0.1").connect(nyc)
		s, err := r.qc.OpenStream()
		if err != nil {
			t.Fatal(err)
		}

		r.write(s, []byte{byte(federation.StreamControl), 0, 0, 0})

		nyc.wantCut(r, codeProtocol)
	})
}

func TestAStreamThatEndsCutsTheLink(t *testing.T) {
	for name, end := range map[string]func(r *rogue){
		"control stream":    func(r *rogue) { r.control.Close() },
		"data stream":       func(r *rogue) { r.openData().Close() },
		"reset data stream": func(r *rogue) { r.openData().CancelWrite(1) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").connect(nyc)

				end(r)

				nyc.wantCut(r, codeProtocol)
			})
		})
	}
}

func TestUnknownFramesThatAreNotCriticalArePassedOver(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		r := w.rogue("ams", "10.0.0.1").connect(nyc)

		r.write(r.control, append(frameHeader(3, 200, 0), 1, 2, 3))
		r.send(federation.Window{Lane: testLane(1), Generation: 1, Destination: federation.Destination{Site: "nyc"}, Next: 1})
		s := r.openData()
		r.write(s, append(frameHeader(3, 200, 0), 1, 2, 3))
		r.write(s, encode(t, federation.Copy{Number: 1, Batch: []byte("x")}))
		sleep(200 * time.Millisecond)

		copies, frames, _ := nyc.handler.snapshot()
		if len(copies) != 1 || len(frames) != 1 || r.qc.Context().Err() != nil {
			t.Errorf("%d copies and %d frames, closed %v; want one each, open", len(copies), len(frames), r.qc.Context().Err())
		}
	})
}

func TestWhatAPeerSaysMovesNoCursor(t *testing.T) {
	const text = "bye\x1b[2J\r\nall is well"
	for name, end := range map[string]func(r *rogue){
		"in QUIC's close": func(r *rogue) { r.qc.CloseWithError(4, text) },
		"in a DRAIN":      func(r *rogue) { r.send(federation.Drain{Reason: text}) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").connect(nyc)

				end(r)
				sleep(100 * time.Millisecond)

				if got := nyc.endpoint.Status()[0].Reason; !strings.HasSuffix(got, "bye\ufffd[2J\ufffd\ufffdall is well") {
					t.Errorf("reason %q", got)
				}
				r.qc.CloseWithError(0, "")
				sleep(time.Second)
			})
		})
	}
}

func TestAnswersThatAPeerInventsCutTheLink(t *testing.T) {
	const stream = 1 // the first data stream that the accepting side opens
	for name, ack := range map[string]federation.Ack{
		"a number that was not sent":   {Stream: stream, Cumulative: 4},
		"a range beyond what was sent": {Stream: stream, Ranges: []federation.NumberRange{{First: 3, Last: 1 << 60}}},
		"an exception for nothing":     {Stream: stream, Cumulative: 3, Exceptions: []federation.Exception{{Number: 9, Verdict: federation.Full}}},
		"a range a second time":        {Stream: stream, Cumulative: 0, Ranges: []federation.NumberRange{{First: 2, Last: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").connect(nyc)
				answers := newLedger()
				answers.copyAll(t, nyc.endpoint.peer("ams").current(), 1, batches(t, testLane(1), 3, 100))
				r.send(federation.Ack{Stream: stream, Cumulative: 0, Exceptions: []federation.Exception{{Number: 2, Verdict: federation.Full}}})
				sleep(100 * time.Millisecond)

				r.send(ack)

				nyc.wantCut(r, codeProtocol)
				counts, err := answers.tally()
				if diff := cmp.Diff(map[federation.Verdict]int{federation.Full: 1, federation.LinkLost: 2}, counts); diff != "" || err != nil {
					t.Errorf("answers: %v (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

func TestFramesThatNeverEndTakeLittleMemory(t *testing.T) {
	inWorld(t, time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		r := w.rogue("ams", "10.0.0.1").connect(nyc)
		go r.beat()
		before := heap()

		var streams []*quic.Stream
		for range maxStreams - 1 {
			s := r.openData()
			r.write(s, append(frameHeader(federation.MaxEncodedBatch, federation.TypeCopy, 1), 1, 2, 3))
			streams = append(streams, s)
		}
		sleep(2 * time.Second)

		// 32 streams that each claim 16 MiB: 1 MiB each is what their word is good for.
		if grown := heap() - before; grown > int64(len(streams)*(eager+2*readBuffer)) {
			t.Errorf("memory grew by %d KiB", grown>>10)
		}
		if r.qc.Context().Err() != nil {
			t.Error("the link was cut")
		}
	})
}

// heap is the memory in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
