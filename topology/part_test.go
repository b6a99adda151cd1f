package topology_test

import (
	"strings"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

func TestTheStatusTellsAnEmptySourceFromOneThatIsAway(t *testing.T) {
	const etcd, file = topology.OriginEtcd, topology.OriginFile
	for name, c := range map[string]struct {
		origin, from topology.Origin
		missing      bool
		reason, fix  string
	}{
		"etcd is empty at the first start":  {etcd, "", true, "no topology yet: S holds none", "cloudqueue topology apply FILE"},
		"etcd is away at the first start":   {etcd, "", false, "no topology yet: S cannot be reached: T", "see that etcd runs and answers there"},
		"etcd was wiped":                    {etcd, topology.OriginLastGood, true, "the last good topology is in force: S holds none", "apply it again: cloudqueue topology apply --at-least 8 FILE"},
		"etcd is away":                      {etcd, etcd, false, "the last good topology is in force: S cannot be reached: T", "see that etcd runs and answers there"},
		"no file at the first start":        {file, "", true, "no topology yet: there is no file S", "put it there, or mend topology.file"},
		"a file that cannot be read":        {file, "", false, "no topology yet: S cannot be read: T", "make it readable for the router's user"},
		"the file has gone":                 {file, file, true, "the last good topology is in force: there is no file S", "put it there, or mend topology.file"},
		"the file is not readable any more": {file, topology.OriginLastGood, false, "the last good topology is in force: S cannot be read: T", "make it readable for the router's user"},
	} {
		s := topology.Status{Source: "S", Origin: c.origin, From: c.from, Version: 7, Trouble: "T", Missing: c.missing}
		want := map[bool]federation.State{true: federation.StateWaiting, false: federation.StateDegraded}[c.from == ""]
		if got := s.Part(); got.State != want || got.Reason != c.reason || !strings.HasPrefix(got.Fix, c.fix) {
			t.Errorf("%s: %+v, want %s, %q, %q", name, got, want, c.reason, c.fix)
		}
	}
}
