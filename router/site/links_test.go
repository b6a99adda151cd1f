package site

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
	"cloudqueue/wan"
	"cloudqueue/wan/pki"
)

func TestWhatALinkRefusedSaysWhatToDo(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	got := link(wan.LinkStatus{Peer: "nyc", Verdicts: map[string]uint64{"OK": 9, "DUP_OK": 1, "NO_GRANT": 2}, LastAnswers: map[string]wan.Occurrence{"NO_GRANT": {At: at}},
		Refused: map[string]uint64{string(pki.Expired): 3}, LastRefused: map[string]wan.Occurrence{string(pki.Expired): {At: at, Detail: "192.0.2.9"}}}).Refused
	want := []admin.Count{
		{Reason: "NO_GRANT", Count: 2, Last: at, Detail: "answered by nyc", Fix: "see the lanes that the link carries"},
		{Reason: string(pki.Expired), Count: 3, Last: at, Detail: "192.0.2.9", Fix: "renew the peer's certificate: cloudqueue pki issue"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}
