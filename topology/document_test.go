package topology_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

func parse(t *testing.T, src string) *topology.Document {
	t.Helper()
	d, err := topology.Parse("t", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func parseFile(t *testing.T, path string) *topology.Document {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(src))
}

func TestSmallExampleGivesOneLane(t *testing.T) {
	d := parseFile(t, "../docs/topology-small.yaml")

	want := []topology.Route{{
		ID: "orders", Name: "orders", Lane: federation.Lane{Origin: "ams", Route: "orders"},
		Source:       federation.Source{Queue: "cq.out.orders", Exchange: "orders", Keys: []string{"orders.#"}},
		Destinations: []topology.RouteDestination{{Destination: federation.Destination{Site: "nyc"}}},
		Class:        "normal", ClassIndex: 1, MaxMessageSize: 15 << 20, MaxHops: 8, OnUnroutable: "park",
	}}
	got := d.RoutesFrom("ams")
	want[0].Digest = got[0].Digest
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes from ams (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, d.RoutesTo("nyc")); diff != "" {
		t.Errorf("routes to nyc (-want +got):\n%s", diff)
	}
	if got := d.RoutesFrom("nyc"); got != nil {
		t.Errorf("routes from nyc: %v, want none", got)
	}
	wantPeers := []topology.Peer{{Site: "nyc"}}
	if diff := cmp.Diff(wantPeers, d.Peers("ams")); diff != "" {
		t.Errorf("peers of ams (-want +got):\n%s", diff)
	}
	wantPeers = []topology.Peer{{Site: "ams", Listen: []string{"ams.example.net:7443"}, Dials: true}}
	if diff := cmp.Diff(wantPeers, d.Peers("nyc")); diff != "" {
		t.Errorf("peers of nyc (-want +got):\n%s", diff)
	}
	if len(d.Warnings()) != 0 {
		t.Errorf("warnings: %v", d.Warnings())
	}
}

func TestThreeSitesExampleGivesEveryKindOfRoute(t *testing.T) {
	d := parseFile(t, "../docs/topology-three-sites.yaml")

	var got []string
	for _, r := range d.Routes() {
		for _, to := range r.Destinations {
			exchange, key := to.Address(&federation.Message{Exchange: "e", RoutingKey: "k"})
			got = append(got, strings.Join([]string{r.Lane.String(), r.Source.Queue, to.String(), exchange, key, r.Class}, " "))
		}
	}
	want := []string{
		"ams/orders cq.out.orders nyc e k urgent",
		"ams/orders cq.out.orders sin:1  orders-in urgent",
		"nyc/audit cq.out.audit ams e k normal",
		"nyc/audit cq.out.audit sin e k normal",
		"sin/telemetry telemetry ams:1 telemetry-in apac bulk",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	if d.Federation() != "acme" || len(d.Warnings()) != 0 {
		t.Errorf("federation %q, warnings %v", d.Federation(), d.Warnings())
	}
}

// The worked example is the target of the format: everything in it that is not understood is named as a later version's.
func TestWorkedExampleNeedsOnlyWhatALaterVersionBrings(t *testing.T) {
	src, err := os.ReadFile("../docs/topology-example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = topology.Parse("topology-example.yaml", src)

	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, "later version") && !strings.Contains(line, "in this version") {
			t.Errorf("the example has a plain mistake: %s", line)
		}
	}
}

func TestRouteFromSeveralSitesLeavesOutTheOriginItself(t *testing.T) {
	d := parse(t, sites+`routes:
  all:
    from: {sites: {region: us}, queue: q}
    to: [{site: ams}, {site: nyc, queue: in}]
`)
	var got []string
	for _, r := range d.Routes() {
		for _, to := range r.Destinations {
			got = append(got, r.Lane.String()+" "+to.String())
		}
	}
	want := []string{"edge/all ams", "edge/all nyc:1", "nyc/all ams"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lanes and destinations (-want +got):\n%s", diff)
	}
}

func TestWithoutLinksEveryPairThatCanReachEachOtherIsLinked(t *testing.T) {
	d := parse(t, sites+"  far: {}\n")

	var got []string
	for _, l := range d.Links() {
		got = append(got, string(l.Between[0]+"-"+l.Between[1]))
	}
	want := []string{"ams-edge", "ams-far", "ams-nyc", "edge-nyc", "far-nyc"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if peers := d.Peers("edge"); len(peers) != 2 || !peers[0].Dials {
		t.Errorf("peers of edge: %+v, want ams and nyc, which it dials", peers)
	}
}

func TestBothEndsOfAOneWayLinkArePeers(t *testing.T) {
	d := parse(t, route(from+to)+"links:\n  - {between: [ams, nyc], one-way: true, bandwidth: 400Mbit, cost: 10}\n")

	for site, want := range map[federation.SiteID]topology.Peer{
		"ams": {Site: "nyc", Listen: []string{"nyc.example.net:7443"}, Dials: true},
		"nyc": {Site: "ams", Listen: []string{"ams.example.net:7443"}, Dials: true},
	} {
		if diff := cmp.Diff([]topology.Peer{want}, d.Peers(site)); diff != "" {
			t.Errorf("%s sees (-want +got):\n%s", site, diff)
		}
	}
}

func TestClassesOfTheDocumentFollowTheBuiltInOnesByName(t *testing.T) {
	d := parse(t, route(from+to+"    class: gold\n")+"classes: {silver: {}, gold:, bulk: {}}\n")

	if diff := cmp.Diff([]string{"urgent", "normal", "bulk", "gold", "silver"}, d.Classes()); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	if got := d.Routes()[0].ClassIndex; got != 3 {
		t.Errorf("index of gold: %d, want 3", got)
	}
}

func TestWarningsTellWhatIsLegalAndDoesNothing(t *testing.T) {
	d := parse(t, route(from+to)+`links:
  - {between: [ams, nyc], bandwidth: 400Mbit}
  - {between: [ams, edge], cost: 5}
classes: {gold: {}}
`)
	want := []string{
		"t:4:9: sites.edge: no route starts or ends at edge",
		"t:10:38: links[0].bandwidth: bandwidth and cost of links are shown only: limits and paths over several links come with a later version",
		"t:11:5: links[1]: no route uses the link of ams and edge",
		"t:12:17: classes.gold: no route has the class gold",
	}
	if diff := cmp.Diff(want, strings.Split(d.Warnings().Error(), "\n")); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestRouteKeepsItsIDAndItsDigestWhenItIsRenamed(t *testing.T) {
	before := parse(t, route(from+to))
	after := parse(t, sites+"routes:\n  new-orders:\n    id: orders\n"+from+to)

	b, a := before.Routes()[0], after.Routes()[0]
	if a.Name != "new-orders" || a.ID != b.ID || a.Lane != b.Lane || a.Source.Queue != b.Source.Queue || a.Digest != b.Digest {
		t.Errorf("renamed route %+v, want the id, lane, queue and digest of %+v", a, b)
	}
	if changed := parse(t, route(from+to+"    class: bulk\n")).Routes()[0]; changed.Digest == b.Digest {
		t.Error("another class has the same digest")
	}
}

func TestSourceIsKeptByteForByte(t *testing.T) {
	src := "# comment\r\n" + strings.ReplaceAll(route(from+to), "\n", "\r\n")
	d := parse(t, src)

	if got := string(d.Source()); got != src {
		t.Errorf("source %q, want %q", got, src)
	}
}
