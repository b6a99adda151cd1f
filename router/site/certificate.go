package site

import (
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/wan/pki"
)

// warnBefore is when a certificate's end is told (chosen: a month for one that is renewed by hand once a year), but not
// before the last third of its life, so that one of a day does not warn from its first hour on.
const warnBefore = 30 * 24 * time.Hour

// Certificate judges the dates of a site's own certificate: down when peers refuse it, degraded when it ends soon.
func Certificate(id *pki.Identity, now time.Time) admin.Condition {
	end, begin := id.NotAfter(), id.NotBefore()
	warn := end.Add(-min(warnBefore, end.Sub(begin)/3))
	switch {
	case now.Before(begin):
		return admin.Condition{State: admin.Down, Reason: "the certificate begins at " + dateText(begin) + ", after this machine's clock: peers refuse it",
			Fix: "set the clock, or issue a certificate anew"}
	case !now.Before(end):
		return admin.Condition{State: admin.Down, Reason: "the certificate ended at " + dateText(end) + ": peers refuse it and no link comes up", Since: end, Fix: renew(id.Site())}
	case !now.Before(warn):
		return admin.Condition{State: admin.Degraded, Reason: "the certificate ends at " + dateText(end) + ", then every link goes down", Since: warn, Fix: renew(id.Site())}
	}
	return admin.Condition{State: admin.Running}
}

func dateText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func renew(name federation.SiteID) string {
	return fmt.Sprintf("cloudqueue pki issue %s --dir AUTHORITY --out FOLDER, then put the files in the place of the old ones: the router takes them within 10 s", name)
}

// listener is where peers reach this router, with the certificate that it shows them.
func (s service) listener() admin.Listener {
	id := s.site.identity.Identity()
	condition := Certificate(id, time.Now())
	if files := admin.FromPart(s.site.identity.State()); condition.State != admin.Down && !files.State.Healthy() {
		condition = files
	}
	return admin.Listener{Condition: s.since(condition), Address: s.site.endpoint.Addr().String(), Certificate: "site " + string(id.Site()),
		CertificateExpires: id.NotAfter(), HalfOpen: s.site.endpoint.HalfOpen()}
}
