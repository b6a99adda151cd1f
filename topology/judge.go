package topology

import (
	"errors"
	"fmt"
	"slices"
)

// Refusal tells why what the source holds is not in force.
type Refusal struct {
	Version  uint64
	Digest   [32]byte
	Why      string
	Fix      string
	Problems Problems // of a document that is not valid
}

// consider gives what the source holds to the router, or refuses it; the one in force stays then.
func (f *Follower) consider(stored Stored) {
	if f.same(stored) && f.begun == nil {
		f.nowConfirmed(f.cfg.Source.Origin())
		return
	}
	document, refusal := f.judge(stored)
	if refusal != nil {
		refusal.Version, refusal.Digest = stored.Version, stored.Digest()
		f.nowRefused(*refusal)
		return
	}
	gone, forgotten := goneRoutes(f.current, document, f.cfg.Site)
	for _, r := range forgotten {
		f.cfg.Logger.Error("removed route forgotten", "site", f.cfg.Site, "lane", r.Lane.String(), "err",
			"too many are gone: what is left of it in stores is not delivered before it is put back")
	}
	f.give(Snapshot{Version: stored.Version, Digest: stored.Digest(), Document: document, Origin: f.cfg.Source.Origin(),
		Gone: gone, Left: leftBindings(slices.Concat(f.current.bindings(f.cfg.Site), f.begun), document, f.cfg.Site)})
	f.begun = nil // what follows knows it from this snapshot
}

func (f *Follower) same(stored Stored) bool {
	return f.current != nil && f.current.Version == stored.Version && f.current.Digest == stored.Digest()
}

func (f *Follower) judge(stored Stored) (*Document, *Refusal) {
	if refusal := f.judgeVersion(stored); refusal != nil {
		return nil, refusal
	}
	document, err := stored.Open(f.cfg.Source.Name())
	if err != nil {
		refusal := &Refusal{Why: "the document is not valid: " + err.Error(),
			Fix: "mend the document; `cloudqueue topology validate` shows the same problems"}
		errors.As(err, &refusal.Problems)
		return nil, refusal
	}
	if document.federation != f.cfg.Federation {
		return nil, &Refusal{Why: fmt.Sprintf("the document is of the federation %s, this router of %s",
			document.federation, f.cfg.Federation),
			Fix: "write federation: " + f.cfg.Federation + " in the document, or the other name in the router's file"}
	}
	if _, ok := document.Site(f.cfg.Site); !ok {
		return nil, &Refusal{Why: fmt.Sprintf("the document has no site %s", f.cfg.Site),
			Fix: "stop this router if its site leaves and `cloudqueue books` shows nothing to send, " +
				"or put the site back"}
	}
	return document, f.judgePlan(document)
}

// judgeVersion refuses what was written before the one in force: an etcd that was wiped or put back to a backup.
func (f *Follower) judgeVersion(stored Stored) *Refusal {
	if f.current == nil || f.current.Version == 0 || stored.Version == 0 || f.same(stored) {
		return nil
	}
	fix := fmt.Sprintf("cloudqueue topology apply --at-least %d FILE, with the document that shall be in force",
		f.current.Version+1)
	switch {
	case stored.Version < f.current.Version:
		return &Refusal{Why: fmt.Sprintf("version %d is older than version %d, which is in force: "+
			"the source was wiped or rolled back", stored.Version, f.current.Version), Fix: fix}
	case stored.Version == f.current.Version:
		return &Refusal{Why: fmt.Sprintf("version %d has another digest than the one in force", stored.Version),
			Fix: fix}
	}
	return nil
}

// judgePlan refuses what this version cannot do. What strands was accepted by `topology apply` before it came into
// etcd; a plain file must say so itself.
func (f *Follower) judgePlan(document *Document) *Refusal {
	if f.current == nil {
		return nil
	}
	fromEtcd := f.cfg.Source.Origin() == OriginEtcd
	err := MakePlan(f.current.Document, document).Check(Accept{Stranding: fromEtcd, MassRemoval: fromEtcd})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRefused):
		return &Refusal{Why: err.Error(), Fix: "put the document back " +
			"to what is in force, and change it in a way that the text above names"}
	}
	return &Refusal{Why: err.Error(), Fix: fmt.Sprintf(
		"accept-stranding: [%s] in the document, if that is meant", shortDigest(f.current.Digest))}
}
