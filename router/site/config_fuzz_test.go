package site

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology/yamlfile"
)

// FuzzParseConfig: a router file is refused with problems that have a place and words, or gives the same config each time.
func FuzzParseConfig(f *testing.F) {
	for _, source := range []string{
		good,
		good + "listen: 192.0.2.1:7070\nlog: {level: debug}\nstore: {dir: s, quota: 10GiB, segment-size: 16MiB}\n",
		"site: ams\nbroker: {url: \"amqps://h/v\", username: u, password: file:secret}\netcd: {endpoints: [\"http://127.0.0.1:2379\"]}\n",
		"site: [ams\n", "- site\n", "site: ams\nsite: nyc\n",
	} {
		f.Add([]byte(source))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		got, err := ParseConfig("/etc/cloudqueue/router.yaml", source)
		if err != nil {
			checkProblems(t, err)
			return
		}
		again, err := ParseConfig("/etc/cloudqueue/router.yaml", source)
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("the second reading: %v (-first +second):\n%s", err, diff)
		}
	})
}

func checkProblems(t *testing.T, err error) {
	t.Helper()
	var problems yamlfile.Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("error %T is no problem of a file", err)
	}
	for _, p := range problems {
		if p.What == "" || p.Line < 0 || p.Column < 0 {
			t.Errorf("a problem without a place or words: %+v", p)
		}
	}
}
