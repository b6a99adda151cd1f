package router

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

func TestParkNamesReadAsTheyAreWritten(t *testing.T) {
	for _, id := range []spool.ParkID{
		{Lane: orders, Generation: 1764534000000, Offset: 12, Destination: atNyc},
		{Lane: orders, Generation: 1, Offset: 1, Destination: federation.Destination{Site: "nyc", Target: 47}},
	} {
		got, err := ParseParkName(ParkName(id))
		if err != nil {
			t.Errorf("%s: %v", ParkName(id), err)
		}
		if diff := cmp.Diff(id, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ParkName(id), diff)
		}
	}
}

func TestAParkNameThatIsNoneIsRefusedWithAnExample(t *testing.T) {
	for _, name := range []string{"", "ams/orders", "ams/orders@1:2", "ams/orders@1>nyc", "ams/orders:2>nyc", "ams@1:2>nyc", "ams/orders@x:2>nyc", "ams/orders@1:x>nyc",
		"ams/orders@1:2>nyc:x", "ams/orders@1:2>nyc:999", "ams/orders@-1:2>nyc"} {
		_, err := ParseParkName(name)
		var bad *admin.Error
		if !errors.As(err, &bad) || bad.Code != admin.BadRequest || !strings.Contains(bad.Fix, ">nyc', in quotes") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestEverythingThatAConfigurationLacksIsSaidAtOnce(t *testing.T) {
	_, err := New(Config{BatchEntries: -1, BatchBytes: federation.MaxRawBatch + 1})

	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"(Site)", "(BatchEntries)", "(BatchBytes)", "the spool", "the broker", "the peers", "the topology", "the properties"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in:\n%v", part, err)
		}
	}
}
