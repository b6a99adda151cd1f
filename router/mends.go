package router

import (
	"fmt"

	"cloudqueue/federation"
)

// Commands that texts say to type, whole: words in capitals are filled in by the admin. They are for this site's router, unless the
// words before them say whose they are.
const (
	resealCommand = "cloudqueue spool reseal --why REASON --yes"
	newIDCommand  = "cloudqueue spool new-id"
	voidCommand   = "cloudqueue spool void LANE FIRST-LAST --reason corrupt --yes"
	detachCommand = "cloudqueue spool void LANE FIRST-LAST --reason detach --to SITE --yes"
)

// resealFix is for the site whose store is older than what others have seen of it.
const resealFix = "this site's store was put back to an older state: stop its router and run: " + resealCommand

// originResealFix is resealFix, said at a destination.
const originResealFix = "the origin's store was put back to an older state: stop the origin's router and run at the origin: " + resealCommand

// voidOf abandons offsets of a lane at its origin.
func voidOf(lane federation.Lane, span federation.Span, reason string) string {
	return fmt.Sprintf("cloudqueue spool void %s %d-%d --reason %s --yes", lane, span.First, span.Last, reason)
}

// detachOf abandons what a lane has stored for a destination that will not take it.
func detachOf(lane federation.Lane, dest federation.SiteID) string {
	return fmt.Sprintf("cloudqueue spool void %s FIRST-LAST --reason detach --to %s --yes", lane, dest)
}

// copyFix is what helps a destination against what it refuses or is refused; verdictFix is the origin's.
func copyFix(v federation.Verdict) string {
	switch v {
	case federation.Conflict:
		return originResealFix
	case federation.Corrupt:
		return "abandon the batch at the origin: " + voidCommand
	}
	return verdictFix(v)
}

// fencedFix is for the site that fences a peer: what to type is the peer's to say.
const fencedFix = "the peer's status says what to type there"
