package wan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"
)

// world is some sites on one network, with one authority.
type world struct {
	t         testing.TB
	net       *network
	authority *pki.Authority
}

// inWorld runs a story in virtual time.
func inWorld(t *testing.T, delay time.Duration, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { story(newWorld(t, delay)) })
}

func newWorld(t testing.TB, delay time.Duration) *world {
	t.Helper()
	authority, err := pki.NewAuthority("example", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, newNetwork(delay), authority}
}

// site is one router's end: an endpoint and a handler that remembers.
type site struct {
	w        *world
	name     federation.SiteID
	host     string
	cfg      Config
	endpoint *Endpoint
	handler  *recorder
	cancel   context.CancelFunc
	stopped  chan error
	resolver *net.Resolver // nil: the system's
}

// site makes a site without starting it, so that a story can change its configuration.
func (w *world) site(name federation.SiteID, host string) *site {
	w.t.Helper()
	id := w.identity(w.authority, name, 0)
	s := &site{w: w, name: name, host: host, handler: &recorder{greeting: federation.OK}}
	hello := federation.Hello{Router: string(name) + "-1", Store: federation.StoreID{1, name[0]}, Born: time.Now().Truncate(time.Millisecond), Epoch: 1, LastLSN: 1, Boot: federation.BootID{1, name[0]}}
	s.cfg = Config{Federation: "example", Site: name, Identity: func() *pki.Identity { return id }, Hello: func() federation.Hello { return hello }, Handler: s.handler}
	return s
}

func (w *world) identity(a *pki.Authority, name federation.SiteID, life time.Duration) *pki.Identity {
	w.t.Helper()
	certificate, key, err := a.Issue(name, life, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	id, err := pki.NewIdentity(certificate, key, append(w.authority.PEM(), a.PEM()...))
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// start opens the endpoint and links it with peers; it stops at the end of the test at the latest.
func (s *site) start(peers ...Peer) *site {
	s.w.t.Helper()
	if s.cfg.Conn = nil; s.cfg.Listen == "" {
		s.cfg.Conn = s.w.net.listen(s.host)
	}
	e, err := New(s.cfg)
	if err != nil {
		s.w.t.Fatal(err)
	}
	if s.resolver != nil {
		e.resolver = s.resolver
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.endpoint, s.cancel, s.stopped = e, cancel, make(chan error, 1)
	e.SetPeers(peers)
	go func() { s.stopped <- e.Run(ctx) }()
	s.w.t.Cleanup(s.stop)
	return s
}

// stop is a stop without a drain. It may be called twice.
func (s *site) stop() {
	s.w.t.Helper()
	s.cancel()
	if err := <-s.stopped; err != nil {
		s.w.t.Errorf("%s: Run: %v", s.name, err)
	}
	s.stopped <- nil
}

// peer is the entry of s in another site's list.
func (s *site) peer() Peer {
	return Peer{Site: s.name, Addresses: []string{hostAddress(s.host)}, Dial: true, PeerDials: true}
}

// passive is the same for a peer that cannot be dialled.
func (s *site) passive() Peer { return Peer{Site: s.name} }

// link is the link to a peer, which must be up.
func (s *site) link(peer *site) *Link {
	s.w.t.Helper()
	if l := s.endpoint.peer(peer.name).current(); l != nil {
		return l
	}
	s.w.t.Fatalf("%s has no link to %s: %+v", s.name, peer.name, s.status(peer))
	return nil
}

func (s *site) status(peer *site) LinkStatus {
	s.w.t.Helper()
	for _, l := range s.endpoint.Status() {
		if l.Peer == peer.name {
			return l
		}
	}
	s.w.t.Fatalf("%s has no peer %s", s.name, peer.name)
	return LinkStatus{}
}

// pair gives two sites with a link that is up, ams dialling.
func (w *world) pair() (ams, nyc *site) {
	w.t.Helper()
	ams, nyc = w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
	nyc.start(ams.passive())
	ams.start(nyc.peer())
	sleep(time.Second)
	return ams, nyc
}

// sleep lets time pass, and everything that is due at its end happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// recorder is a handler that remembers what it was told.
type recorder struct {
	mu       sync.Mutex
	greeting federation.Verdict
	greet    func(ctx context.Context, h federation.Hello) (federation.Verdict, federation.Refusal) // instead of greeting
	hold     bool                                                                                   // copies are not answered
	verdict  func(c federation.Copy) federation.Verdict                                             // nil: OK
	ending   func()                                                                                 // what Down does first
	events   []string
	hellos   []federation.Hello
	ups      []*Link
	downs    []error
	copies   []federation.Copy
	answers  []answerFunc // of held copies
	frames   []federation.Frame
}

func (r *recorder) Greet(ctx context.Context, h federation.Hello) (federation.Verdict, federation.Refusal) {
	r.mu.Lock()
	greet, greeting := r.greet, r.greeting
	r.hellos = append(r.hellos, h)
	r.mu.Unlock()
	if greet != nil {
		return greet(ctx, h)
	}
	return greeting, federation.Refusal{Why: "as the test wants", Mend: "do so"}
}

func (r *recorder) Up(l *Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ups = append(r.ups, l)
	r.events = append(r.events, "up "+string(l.Peer()))
}

func (r *recorder) Down(l *Link, reason error) {
	r.mu.Lock()
	ending := r.ending
	r.mu.Unlock()
	if ending != nil {
		ending()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downs = append(r.downs, reason)
	r.events = append(r.events, "down "+string(l.Peer()))
}

func (r *recorder) Copy(l *Link, c federation.Copy, answer func(federation.Verdict, time.Duration)) {
	r.mu.Lock()
	r.copies = append(r.copies, c)
	hold, verdict := r.hold, federation.OK
	if hold {
		r.answers = append(r.answers, answer)
	}
	if r.verdict != nil {
		verdict = r.verdict(c)
	}
	r.mu.Unlock()
	if !hold {
		answer(verdict, 0)
	}
}

func (r *recorder) Control(l *Link, f federation.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
}

// snapshot copies what can be compared.
func (r *recorder) snapshot() (copies []federation.Copy, frames []federation.Frame, events []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]federation.Copy(nil), r.copies...), append([]federation.Frame(nil), r.frames...), append([]string(nil), r.events...)
}

func (r *recorder) set(change func(r *recorder)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *recorder) lastDown() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.downs) == 0 {
		return errors.New("was never down")
	}
	return r.downs[len(r.downs)-1]
}

func (r *recorder) counts() (ups, downs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ups), len(r.downs)
}

// ledger remembers the answers that a sender got, by batch.
type ledger struct {
	mu      sync.Mutex
	answers map[federation.BatchName][]federation.Verdict
}

func newLedger() *ledger {
	return &ledger{answers: map[federation.BatchName][]federation.Verdict{}}
}

func (l *ledger) answer(b *federation.Batch) answerFunc {
	return func(v federation.Verdict, _ time.Duration) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.answers[b.Header.Name()] = append(l.answers[b.Header.Name()], v)
	}
}

// tally counts the answers; the error names a batch that was answered more than once.
func (l *ledger) tally() (map[federation.Verdict]int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[federation.Verdict]int{}
	for name, all := range l.answers {
		if len(all) != 1 {
			return nil, fmt.Errorf("%s was answered %v", name, all)
		}
		counts[all[0]]++
	}
	return counts, nil
}

// batches seals batches of size bytes for a lane, from offset 1 on.
func batches(t testing.TB, lane federation.Lane, count, size int) []*federation.Batch {
	t.Helper()
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*federation.Batch, count)
	for i := range all {
		h := federation.Header{Lane: lane, Generation: 1, First: federation.Offset(i + 1), SealEpoch: 1, SealedAt: time.Now().Truncate(time.Millisecond),
			Destinations: []federation.Destination{{Site: "nyc"}}}
		entry := federation.Entry{TTL: federation.NoTTL, Message: federation.Message{Exchange: "orders", RoutingKey: "a", Properties: []byte{0, 0}, Body: make([]byte, size)}}
		if all[i], err = federation.Seal(h, []federation.Entry{entry}, federation.CodecNone, coder); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func testLane(i int) federation.Lane {
	return federation.Lane{Origin: "ams", Route: federation.RouteID(fmt.Sprintf("orders-%d", i))}
}

// copyAll sends batches and notes their answers.
func (l *ledger) copyAll(t testing.TB, link *Link, class uint8, all []*federation.Batch) {
	t.Helper()
	for _, b := range all {
		if err := link.Copy(context.Background(), class, b.Header.Lane, federation.Sidecar{Bitmap: 1}, b, l.answer(b)); err != nil {
			t.Fatal(err)
		}
	}
}
