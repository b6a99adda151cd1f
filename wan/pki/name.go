package pki

import (
	"fmt"
	"net/url"
	"strings"

	"cloudqueue/federation"
)

// scheme and sitePath frame the name of a site: spiffe://<federation>/site/<site>.
const (
	scheme   = "spiffe"
	sitePath = "/site/"
)

// name is what a certificate says of its holder.
type name struct {
	federation string
	site       federation.SiteID
}

func (n name) url() *url.URL {
	return &url.URL{Scheme: scheme, Host: n.federation, Path: sitePath + string(n.site)}
}

func (n name) String() string { return n.url().String() }

// parseName reads a URI SAN. The text must be exactly what url would print: no user, port, query, fragment or escapes.
func parseName(u *url.URL) (name, error) {
	site, ok := strings.CutPrefix(u.Path, sitePath)
	n := name{u.Host, federation.SiteID(site)}
	if !ok || n.String() != u.String() || !federation.ValidName(site) || !federation.ValidName(u.Host) {
		return name{}, fmt.Errorf("%q is not of the form %s://FEDERATION%sSITE", u, scheme, sitePath)
	}
	return n, nil
}

func checkFederation(s string) error {
	if !federation.ValidName(s) {
		return fmt.Errorf("federation %q: want 1 to %d of a-z, 0-9 and '-'", s, federation.MaxName)
	}
	return nil
}

func checkSite(s federation.SiteID) error {
	if !s.Valid() {
		return fmt.Errorf("site %q: want 1 to %d of a-z, 0-9 and '-'", s, federation.MaxName)
	}
	return nil
}
