package topology_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
)

func TestARouteThatIsGoneIsRememberedAcrossRestartsUntilItComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		mapped := route(from + "    to: [{site: nyc, exchange: e, routing-key: k}, {site: nyc, queue: q}]\n    on-unroutable: hold\n    on-missing-exchange: {declare: {type: topic}}\n")
		want := parse(t, mapped).Routes()
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, mapped)
		first := start(t, source, dir, nil)
		if got := first.next(); len(got.Gone) != 0 {
			t.Errorf("gone at the beginning: %+v", got.Gone)
		}
		source.hold(2, sites)
		if diff := cmp.Diff(want, first.next().Gone); diff != "" {
			t.Errorf("gone with version 2 (-want +got):\n%s", diff)
		}
		first.stop()

		want[0].Digest = [32]byte{} // what it is compared for is over
		second := start(t, source, dir, nil)
		if diff := cmp.Diff(want, second.next().Gone); diff != "" {
			t.Errorf("gone after a restart (-want +got):\n%s", diff)
		}
		source.hold(3, sites+"routes:\n  other:\n"+from+to)
		if diff := cmp.Diff(want, second.next().Gone); diff != "" {
			t.Errorf("gone with another route (-want +got):\n%s", diff)
		}
		source.hold(4, mapped+"  other:\n"+from+to)
		if got := second.next(); len(got.Gone) != 0 {
			t.Errorf("gone when it is back: %+v", got.Gone)
		}
	})
}

func TestRoutesOfOtherSitesAreNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, sites+"routes:\n  far:\n    from: {site: nyc, queue: q}\n    to: [{site: edge}]\n")
		f := start(t, source, t.TempDir(), nil)
		f.next()

		source.hold(2, sites)

		if got := f.next(); len(got.Gone) != 0 {
			t.Errorf("gone: %+v", got.Gone)
		}
	})
}

func TestTheOwnQueueThatARouteLeavesIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, one)
		f := start(t, source, t.TempDir(), nil)
		f.next()

		source.hold(2, route("    from: {site: ams, queue: theirs}\n"+to))

		if got := f.next().Gone; len(got) != 1 || got[0].Source.Queue != "cq.out.orders" {
			t.Errorf("gone: %+v, want the queue cq.out.orders", got)
		}
		source.hold(3, one)
		if got := f.next().Gone; len(got) != 0 {
			t.Errorf("gone when it is taken from again: %+v", got)
		}
	})
}
