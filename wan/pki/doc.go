// Package pki is the identity of a site: the certificate that names it, who issued it, and how a peer's is verified.
//
//	authority (ca.crt, ca.key)                         site ams (ams.crt, ams.key, ca.crt)
//	  Create, Open, Issue  ── leaf, P-256 ──────────▶    Files ── Identity ── TLS ──┐
//	                                                                                │ mutual TLS 1.3
//	                                                   site nyc                     │ Verify: chain, dates,
//	                                                     Files ── Identity ── TLS ──┘ exactly one name
//
// A certificate names its site in one URI SAN:
//
//	spiffe://<federation>/site/<site>        for example spiffe://example/site/ams
//
// The form is that of a SPIFFE ID (SPIFFE-ID specification, section 2: trust domain, path), so that any tool that
// issues those can stand in for `cloudqueue pki`. A leaf has exactly one URI SAN; DNS names, IP addresses and the
// common name mean nothing.
//
// Guarantees (G10): a peer is who its certificate says, signed by one of our authorities, within its dates, of our
// federation. What a verified peer may do is not decided here. A private key is written with mode 0600 and never
// logged.
//
// Rotation: Files reads the files again when they change; a handshake uses what is current. The authority file may hold
// several certificates one after the other: add the new authority everywhere, issue new leaves, then remove the old
// one. Live links are verified again by package wan after each change, renewed when a leaf is, and cut at the end of
// their certificate's life.
//
// Not here: revocation lists. Short lives and removing an authority are the means. Start reading at Identity.Verify.
package pki
