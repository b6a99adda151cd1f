package router

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
	"cloudqueue/topology"
)

// story is a router of one site with a store in memory and fakes around it, in virtual time.
type story struct {
	t      *testing.T
	disk   *memstore.Disk
	spool  *spool.Spool
	broker *fakeBroker
	source *fakeTopology
	peers  *fakePeers
	router *Router
	stop   context.CancelFunc
	ended  chan error
	closed bool
}

// twoRoutes gives both sites something to send to the other.
const twoRoutes = `
federation: acme
sites:
  ams: {listen: ["127.0.0.1:1"]}
  nyc: {listen: ["127.0.0.1:2"]}
routes:
  orders:
    from: {site: ams, exchange: orders, keys: ["#"]}
    to: [{site: nyc}]
  events:
    from: {site: nyc, exchange: events, keys: ["#"]}
    to: [{site: ams}]
`

var (
	orders = federation.Lane{Origin: "ams", Route: "orders"}
	events = federation.Lane{Origin: "nyc", Route: "events"}
	atAms  = federation.Destination{Site: "ams"}
	atNyc  = federation.Destination{Site: "nyc"}
)

// inStory runs a story about the router of ams.
func inStory(t *testing.T, do func(t *testing.T, s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{t: t, disk: memstore.New(memstore.Options{})}
		s.start()
		do(t, s)
		s.end()
	})
}

func (s *story) start() {
	s.t.Helper()
	store, err := s.disk.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	if s.spool, err = spool.Open(s.t.Context(), store, spool.Config{}); err != nil {
		s.t.Fatal(err)
	}
	s.broker, s.source, s.peers = newFakeBroker(), &fakeTopology{snapshots: make(chan topology.Snapshot, 1)}, &fakePeers{}
	s.router, err = New(Config{Federation: "acme", Site: "ams", Spool: s.spool, Broker: s.broker, Peers: s.peers, Topology: s.source, Properties: plainProperties{}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	storing, stopStore := context.WithCancel(context.Background())
	s.stop, s.ended, s.closed = stop, make(chan error, 1), false
	stored := make(chan error, 1)
	go func() { stored <- s.spool.Run(storing) }()
	go func() {
		err := s.router.Run(ctx)
		s.disk.SetFault(nil) // how a store closes is its own story
		stopStore()
		s.ended <- errors.Join(err, ignoreCanceled(<-stored), s.spool.Close(context.Background()))
	}()
	s.apply(twoRoutes)
	synctest.Wait()
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s *story) apply(text string) {
	s.t.Helper()
	doc, err := topology.Parse("topology.yaml", []byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	s.source.snapshots <- topology.Snapshot{Version: 1, Document: doc}
	synctest.Wait()
}

// end stops the router and tells how long that took.
func (s *story) end() time.Duration {
	s.t.Helper()
	if s.closed {
		return 0
	}
	s.closed = true
	began := time.Now()
	s.stop()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("router: %v", err)
		}
	case <-time.After(time.Minute):
		s.disk.SetFault(nil)
		s.t.Error("the router does not stop within a minute")
		<-s.ended
	}
	return time.Since(began)
}

// link brings a link to nyc up.
func (s *story) link() *fakeLink {
	l := &fakeLink{peer: "nyc", store: federation.StoreID{2}}
	s.router.Up(l)
	synctest.Wait()
	return l
}

// opened is a link on which nyc has opened lane orders from offset 1.
func (s *story) opened() *fakeLink {
	l := s.link()
	s.router.Control(l, federation.LaneState{Lane: orders, KnownGeneration: s.router.out[orders].generation(),
		Destinations: []federation.DestState{{Destination: atNyc, NextWanted: 1, Window: 4 << 20}}})
	synctest.Wait()
	return l
}

// begun is a link on which nyc has opened lane events, and the SYNC of ams is answered: its journal begins at 1.
func (s *story) begun(gen federation.Generation) *fakeLink {
	l := s.link()
	s.router.Control(l, federation.LaneOpen{Lane: events, Mark: federation.LaneMark{Generation: gen, Shards: 1, Members: []federation.Membership{{Destination: atAms, Join: 1}}}, FirstRetained: 1})
	synctest.Wait()
	s.router.Control(l, federation.Sync{Lane: events, Generation: gen, Destination: atAms, Join: 1, FirstRetained: 1, FirstStore: true})
	synctest.Wait()
	time.Sleep(journalPause)
	synctest.Wait()
	return l
}

// publish lets the local broker hand over a message of lane orders.
func (s *story) publish(bodies ...string) {
	c := s.broker.consumer("cq.out.orders")
	for _, body := range bodies {
		c.give(body)
	}
	synctest.Wait()
}

// copyOf seals bodies as one batch of lane events, as nyc would.
func (s *story) copyOf(gen federation.Generation, first federation.Offset, bodies ...string) federation.Copy {
	s.t.Helper()
	return federation.Copy{Sidecar: federation.Sidecar{Bitmap: 1}, Batch: s.sealed(gen, first, federation.NoTTL, bodies...)}
}

func (s *story) sealed(gen federation.Generation, first federation.Offset, ttl time.Duration, bodies ...string) []byte {
	s.t.Helper()
	return s.sealedIn(1, gen, first, ttl, bodies...)
}

// sealedIn seals as a store of nyc in one of its epochs.
func (s *story) sealedIn(epoch federation.Epoch, gen federation.Generation, first federation.Offset, ttl time.Duration, bodies ...string) []byte {
	s.t.Helper()
	coder, err := federation.NewCoder()
	if err != nil {
		s.t.Fatal(err)
	}
	entries := make([]federation.Entry, len(bodies))
	for i, body := range bodies {
		entries[i] = federation.Entry{TTL: ttl, Message: federation.Message{Exchange: "events", RoutingKey: "k", Body: []byte(body)}}
	}
	h := federation.Header{Lane: events, Generation: gen, First: first, SealEpoch: epoch, SealedAt: time.Now(), Destinations: []federation.Destination{atAms}}
	b, err := federation.Seal(h, entries, federation.CodecZstd, coder)
	if err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
}

// verdicts collects the answers to copies.
type verdicts struct {
	mu   sync.Mutex
	list []federation.Verdict
}

func (v *verdicts) answer(verdict federation.Verdict, _ time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, verdict)
}

func (v *verdicts) all() []federation.Verdict {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.list)
}

// fakeLink keeps what is sent on it. A blocked one takes nothing, as a peer that does not read.
type fakeLink struct {
	peer  federation.SiteID
	store federation.StoreID
	boot  federation.BootID

	mu      sync.Mutex
	copies  []sentCopy
	frames  []federation.Frame
	refuse  error // of Copy
	blocked bool
}

type sentCopy struct {
	batch  *federation.Batch
	side   federation.Sidecar
	answer Answer
}

func (l *fakeLink) Peer() federation.SiteID { return l.peer }

func (l *fakeLink) Hello() federation.Hello {
	return federation.Hello{Site: l.peer, Store: l.store, Boot: l.boot}
}

func (l *fakeLink) Copy(_ context.Context, _ uint8, _ federation.Lane, side federation.Sidecar, b *federation.Batch, answer Answer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return l.refuse
	}
	l.copies = append(l.copies, sentCopy{b, side, answer})
	return nil
}

func (l *fakeLink) Send(ctx context.Context, f federation.Frame) error {
	l.mu.Lock()
	blocked := l.blocked
	l.mu.Unlock()
	if blocked {
		<-ctx.Done()
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, f)
	return nil
}

// sent are the first offsets of the copies, in their order.
func (l *fakeLink) sent() []federation.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []federation.Offset
	for _, c := range l.copies {
		out = append(out, c.batch.Header.First)
	}
	return out
}

func (l *fakeLink) answerOf(i int) Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.copies[i].answer
}

// framesOf are the frames of one type that were sent, in their order.
func framesOf[F federation.Frame](l *fakeLink) []F {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []F
	for _, f := range l.frames {
		if f, ok := f.(F); ok {
			out = append(out, f)
		}
	}
	return out
}

// fakePeers notes that it was asked to drain.
type fakePeers struct{ drained atomic.Bool }

func (*fakePeers) SetPeers([]topology.Peer, bool) {}

func (p *fakePeers) Drain(context.Context) error {
	p.drained.Store(true)
	return nil
}

// fakeTopology gives snapshots, and refuses to begin or to keep so many of them.
type fakeTopology struct {
	snapshots chan topology.Snapshot

	mu      sync.Mutex
	holds   int
	refuses int
	applied int
	undone  []string
}

func (f *fakeTopology) Snapshots() <-chan topology.Snapshot { return f.snapshots }

func (f *fakeTopology) Begin(context.Context, topology.Snapshot) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds > 0 {
		f.holds--
		return errors.New("the disk is full")
	}
	return nil
}

func (f *fakeTopology) Applied(context.Context, topology.Snapshot) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses > 0 {
		f.refuses--
		return errors.New("the disk is full")
	}
	f.applied++
	return nil
}

func (f *fakeTopology) NotApplied(_ topology.Snapshot, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.undone = append(f.undone, why.Error())
}

// plainProperties show in clear what a message is published with.
type plainProperties struct{}

func (plainProperties) Facts([]byte) (PropertyFacts, error) {
	return PropertyFacts{TTL: federation.NoTTL}, nil
}

func (plainProperties) Deliver(_ []byte, e DeliveryEdit) ([]byte, error) {
	if e.Duplicate {
		return []byte("duplicate"), nil
	}
	return nil, nil
}

func (l *outLane) generation() federation.Generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mark.Generation
}
