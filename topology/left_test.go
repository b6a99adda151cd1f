package topology_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// keyed is a document whose route orders has these keys.
func keyed(exchange string, keys ...string) string {
	return route(fmt.Sprintf("    from: {site: ams, exchange: %s, keys: ['%s']}\n", exchange, strings.Join(keys, "', '")) + to)
}

func orders(exchange string, keys ...string) federation.Source {
	return federation.Source{Queue: "cq.out.orders", Exchange: exchange, Keys: keys}
}

func TestKeysThatAreTakenOutWhileTheRouterIsDownAreToBeUnbound(t *testing.T) {
	for _, origin := range []topology.Origin{topology.OriginEtcd, topology.OriginFile} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			source := newFakeSource(origin)
			source.hold(version(origin), keyed("e", "a", "b", "c"))
			first := start(t, source, dir, nil)
			if got := first.next().Left; len(got) != 0 {
				t.Errorf("%s: left at the beginning: %v", origin, got)
			}
			first.stop()

			source.hold(2*version(origin), keyed("e", "b"))
			second := start(t, source, dir, nil)
			if diff := cmp.Diff([]federation.Source{orders("e", "a", "c")}, second.next().Left); diff != "" { // the copy on disk was replaced before it was taken
				t.Errorf("%s: left after a restart (-want +got):\n%s", origin, diff)
			}
			second.stop()

			third := start(t, source, dir, nil)
			if diff := cmp.Diff([]federation.Source{orders("e", "a", "c")}, third.next().Left); diff != "" {
				t.Errorf("%s: left after one more restart (-want +got):\n%s", origin, diff)
			}
		})
	}
}

// version is 0 for a source without versions.
func version(origin topology.Origin) uint64 {
	if origin == topology.OriginEtcd {
		return 1
	}
	return 0
}

func TestWhatIsLeftFollowsEveryChangeOfARoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, keyed("e", "a", "b"))
		f := start(t, source, t.TempDir(), nil)
		f.next()
		for i, step := range []struct {
			what, src string
			want      []federation.Source
		}{
			{"another exchange", keyed("f", "a"), []federation.Source{orders("e", "a", "b")}},
			{"one key is back", keyed("e", "a"), []federation.Source{orders("e", "b"), orders("f", "a")}},
			{"the route is gone", sites, []federation.Source{orders("e", "b"), orders("f", "a"), orders("e", "a")}},
			{"it is back with another key", keyed("e", "c"), []federation.Source{orders("e", "b"), orders("f", "a"), orders("e", "a")}},
			{"all are back", keyed("e", "a", "b", "c"), []federation.Source{orders("f", "a")}},
			{"it takes from somebody else's queue", route("    from: {site: ams, queue: theirs}\n" + to), []federation.Source{orders("f", "a"), orders("e", "a", "b", "c")}},
		} {
			source.hold(uint64(i)+2, step.src)
			if diff := cmp.Diff(merged(step.want), f.next().Left); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.what, diff)
			}
		}
	})
}

// merged puts the keys of one exchange together, in their order.
func merged(all []federation.Source) []federation.Source {
	var out []federation.Source
next:
	for _, s := range all {
		for i := range out {
			if out[i].Exchange == s.Exchange {
				out[i].Keys = append(out[i].Keys, s.Keys...)
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

func TestBindingsOfOtherSitesAreNotLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := sites + "routes:\n  far:\n    from: {site: nyc, exchange: e, keys: ['%s']}\n    to: [{site: ams}]\n"
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, fmt.Sprintf(far, "a"))
		f := start(t, source, t.TempDir(), nil)
		f.next()

		source.hold(2, fmt.Sprintf(far, "b"))

		if got := f.next().Left; len(got) != 0 {
			t.Errorf("left: %v", got)
		}
	})
}

func TestTheOldestBindingsOfAQueueAreForgottenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := func(from int) []string {
			all := make([]string, 600)
			for i := range all {
				all[i] = fmt.Sprint("k", from+i)
			}
			return all
		}
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, keyed("e", keys(0)...))
		f := start(t, source, t.TempDir(), nil)
		f.next()
		source.hold(2, keyed("e", keys(600)...))
		f.next()

		source.hold(3, keyed("e", "a"))

		got := f.next().Left
		if len(got) != 1 || len(got[0].Keys) != 1000 || got[0].Keys[0] != "k200" || got[0].Keys[999] != "k1199" {
			t.Errorf("left: %v", got)
		}
	})
}
