package site_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/wan/pki"
)

// besieged starts nyc and its honest peer sin; ams has no router: the story plays it.
func besieged(t *testing.T) (w *world, nyc, sin *member) {
	t.Helper()
	w = newWorld(t, "ams", "nyc", "sin")
	w.apply(twoOrigins)
	nyc, sin = w.sites["nyc"], w.sites["sin"]
	nyc.declare("orders", "in")
	sin.declare("orders", "")
	nyc.start()
	sin.start()
	sin.bound("cq.out.news")
	eventually(t, "the honest link is up", func() bool { return nyc.linkTo("sin").State == admin.Running })
	return w, nyc, sin
}

// unharmed publishes at sin and wants all of it at nyc, in order, whatever else goes on there.
func unharmed(t *testing.T, sin, nyc *member) {
	t.Helper()
	sin.publish("orders", 1, 100)
	sin.receipted("sin/news", 100)
	if diff := cmp.Diff(numbered(1, 100), nyc.bodies("in")); diff != "" {
		t.Errorf("of sin at nyc (-want +got):\n%s", diff)
	}
	nyc.balanced()
	sin.balanced()
}

// refused is how often status says that something was refused for a reason.
func (m *member) refused(what, reason string) uint64 {
	for _, r := range m.status().Refused {
		if r.What == what && r.Reason == reason {
			return r.Count.Count
		}
	}
	return 0
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

var (
	ordersLane = federation.Lane{Origin: "ams", Route: "orders"}
	newsLane   = federation.Lane{Origin: "sin", Route: "news"}
)

func TestBatchesThatLieAreRefusedAndCountedAndHurtNobody(t *testing.T) {
	w, nyc, sin := besieged(t)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	bomb := encoder.EncodeAll(make([]byte, 256<<20), nil)
	h := w.intrude(t, "ams", nyc)
	h.openLane(ordersLane)
	honest := sealAs(t, ordersLane, 1, 100)
	flipped := append([]byte(nil), honest...)
	flipped[len(flipped)-1] ^= 1
	before := heapInUse()

	for range 50 {
		h.copy(withBody(honest, 1<<20, bomb))
		h.copy(withBody(honest, 16<<20, bomb))
		h.copy(flipped)
		h.copy(honest[:len(honest)-3])
		h.copy(nil)
	}
	eventually(t, "what lies is refused and counted", func() bool { return nyc.refused("copy", "CORRUPT") > 150 })

	if grown := heapInUse() - before; grown > 32<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	// As long as a lie about the same offset waits for its turn, the right batch is a conflict: it is sent again, as a router does.
	eventually(t, "a batch that is right is taken on the same link", func() bool {
		h.copy(honest)
		return nyc.laneIn("ams/orders").Done == 1
	})
	nyc.emptied("in", 1)
	unharmed(t, sin, nyc)
}

// emptied takes n messages out of a queue.
func (m *member) emptied(queue string, n int) {
	m.world.t.Helper()
	for _, message := range m.broker.Snapshot(queue)[:n] {
		m.broker.Remove(queue, message.Position)
	}
}

func TestAPeerMaySendForItsOwnRoutesAlone(t *testing.T) {
	w, nyc, sin := besieged(t)
	h := w.intrude(t, "ams", nyc)
	ofNobody := federation.Lane{Origin: "ams", Route: "unheard-of"}
	member := []federation.Membership{{Destination: federation.Destination{Site: "nyc"}, Join: 1}}

	for _, c := range []struct {
		lane federation.Lane
		want federation.Verdict
	}{{newsLane, federation.NoGrant}, {ofNobody, federation.TopologyOld}} {
		h.say(federation.LaneOpen{Lane: c.lane, Mark: federation.LaneMark{Generation: 1, Shards: 1, Members: member}, FirstRetained: 1})
		if st := await[federation.LaneState](h); st.Verdict != c.want || st.Text == "" {
			t.Errorf("lane %s is answered %s %q, want %s", c.lane, st.Verdict, st.Text, c.want)
		}
		h.copy(sealAs(t, c.lane, 1, 10))
	}
	h.say(federation.Receipt{Lane: newsLane, Generation: 1, Destination: federation.Destination{Site: "nyc"}, Store: h.store, Born: h.born, Join: 1, Done: 1, Counters: federation.Counters{Delivered: 1}})
	h.say(federation.Window{Lane: newsLane, Generation: 1, Destination: federation.Destination{Site: "sin"}, Next: 1, Bytes: 1})
	h.say(federation.SyncReq{Nonce: 1, Lane: newsLane, Generation: 1, Destination: federation.Destination{Site: "nyc"}, Store: h.store, Born: h.born})

	eventually(t, "all of it is counted", func() bool {
		return nyc.refused("lane", "NO_GRANT") == 1 && nyc.refused("lane", "TOPOLOGY_OLD") == 1 && nyc.refused("copy", "NO_GRANT") == 2 && nyc.refused("frame", "about another site") == 3
	})
	unharmed(t, sin, nyc)
}

func TestFramesThatLieCutTheLinkOfTheirPeerAlone(t *testing.T) {
	w, nyc, sin := besieged(t)
	before := heapInUse()
	for range 10 {
		eventually(t, "nyc has seen the end of the link before", func() bool { return nyc.linkTo("ams").Connections == 0 })
		h := w.intrude(t, "ams", nyc)
		h.write(h.control, []byte{0xff, 0xff, 0xff, 0xff, byte(federation.TypeReceipt), 1, 0, 0}) // 4 GiB follow, it says
		select {
		case <-h.qc.Context().Done():
		case <-time.After(time.Minute):
			t.Fatal("the connection is still open")
		}
	}
	if got := nyc.refused("connection", "protocol"); got < 10 {
		t.Errorf("%d counted, want 10", got)
	}
	if grown := heapInUse() - before; grown > 16<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	unharmed(t, sin, nyc)
}

func TestGarbageOnThePortIsCountedAndHurtsNobody(t *testing.T) {
	_, nyc, sin := besieged(t)
	before := heapInUse()

	garbage(t, nyc, 20_000)

	if got := nyc.refused("connection", "packet-not-quic"); got == 0 {
		t.Error("nothing is counted")
	}
	if grown := heapInUse() - before; grown > 16<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	if l := nyc.linkTo("sin"); l.State != admin.Running {
		t.Errorf("the link is %s: %s", l.State, l.Reason)
	}
	unharmed(t, sin, nyc)
}

// certify gives a site a certificate of another authority, name or date; it trusts both authorities.
func (m *member) certify(ca *pki.Authority, as federation.SiteID, life time.Duration, at time.Time) {
	t := m.world.t
	t.Helper()
	certificate, key, err := ca.Issue(as, life, at)
	if err != nil {
		t.Fatal(err)
	}
	m.write("site.crt", string(certificate))
	m.write("site.key", string(key))
	m.write("ca.crt", string(m.world.ca.PEM())+string(ca.PEM()))
}

func authority(t *testing.T, federationName string, at time.Time) *pki.Authority {
	t.Helper()
	ca, err := pki.NewAuthority(federationName, at)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestAWrongCertificateIsToldOnBothSidesWithItsMend(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name    string
		certify func(t *testing.T, ams *member)
		counted string
		atNyc   string // in reason and mend at nyc
	}{
		{"of another authority", func(t *testing.T, ams *member) { ams.certify(authority(t, "acme", now), "ams", time.Hour, now) }, "unknown-authority", "ca.crt"},
		{"that has ended", func(t *testing.T, ams *member) {
			ams.certify(ams.world.ca, "ams", time.Minute, now.Add(-10*time.Minute))
		}, "certificate-expired", "cloudqueue pki issue ams"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "ams", "nyc", "sin")
			w.apply(twoOrigins)
			ams, nyc, sin := w.sites["ams"], w.sites["nyc"], w.sites["sin"]
			nyc.declare("orders", "in")
			sin.declare("orders", "")
			c.certify(t, ams)
			for _, m := range w.sites {
				m.start()
			}
			sin.bound("cq.out.news")

			eventually(t, "both say why, and what to do", func() bool {
				here, there := ams.linkTo("nyc"), nyc.linkTo("ams")
				return here.State == admin.Down && strings.Contains(here.Reason, "certificate") && here.Fix != "" &&
					there.State == admin.Down && strings.Contains(there.Reason+there.Fix, c.atNyc)
			})
			if nyc.refused("connection", c.counted) == 0 {
				t.Errorf("nyc has not counted it: %+v", nyc.status().Refused)
			}
			unharmed(t, sin, nyc)
		})
	}
}
