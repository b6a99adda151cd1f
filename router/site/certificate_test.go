package site_test

import (
	"testing"
	"time"

	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/wan/pki"
)

func TestACertificateIsToldBeforeItEndsAndWhenItHas(t *testing.T) {
	const day = 24 * time.Hour
	issued := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	authority, err := pki.NewAuthority("acme", issued)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		life, after time.Duration
		want        admin.State
		reason      string
	}{
		"of a year, at first":           {365 * day, time.Hour, admin.Running, ""},
		"of a year, a month before":     {365 * day, 336 * day, admin.Degraded, "the certificate ends at 2027-11-01 12:00 UTC, then every link goes down"},
		"of a year, ended":              {365 * day, 366 * day, admin.Down, "the certificate ended at 2027-11-01 12:00 UTC: peers refuse it and no link comes up"},
		"of a day, at first":            {day, time.Hour, admin.Running, ""},
		"of a day, in its last third":   {day, 17 * time.Hour, admin.Degraded, "the certificate ends at 2026-11-02 12:00 UTC, then every link goes down"},
		"the clock stands before begin": {day, -2 * day, admin.Down, "the certificate begins at 2026-11-01 11:00 UTC, after this machine's clock: peers refuse it"},
	} {
		certificate, key, err := authority.Issue("ams", c.life, issued)
		if err != nil {
			t.Fatal(err)
		}
		id, err := pki.NewIdentity(certificate, key, authority.PEM())
		if err != nil {
			t.Fatal(err)
		}
		got := site.Certificate(id, issued.Add(c.after))
		if got.State != c.want || got.Reason != c.reason || (got.Fix == "") != got.State.Healthy() {
			t.Errorf("%s: %+v, want %s: %q", name, got, c.want, c.reason)
		}
	}
}
