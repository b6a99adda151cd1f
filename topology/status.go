package topology

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// Status is what a Follower says of itself.
type Status struct {
	Source string // its name
	Origin Origin // OriginEtcd or OriginFile

	Version   uint64 // of the document in force
	Digest    [32]byte
	From      Origin    // its origin: OriginEtcd, OriginFile or OriginLastGood; "": none is in force
	Since     time.Time // since when it is in force
	Contact   time.Time // when the source last answered
	Trouble   string    // why the source does not answer; "" when it does
	TroubleAt time.Time // since when
	Missing   bool      // the trouble is that the source holds no topology: a wiped etcd

	Refused   *Refusal // what the source holds and is not in force
	RefusedAt time.Time

	Applied       uint64 // version that the router runs
	AppliedDigest [32]byte
	CopyTrouble   string // why the copy on disk is not what runs

	Undone   string    // what the router could not do of the document in force, and tries again
	UndoneAt time.Time // since when
}

// Status gives a copy.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Part is the status as one line for `status`.
func (s Status) Part() federation.PartState {
	switch {
	case s.Refused != nil:
		return federation.PartState{State: federation.StateHeld, Reason: s.Refused.Why, Fix: s.Refused.Fix,
			Since: s.RefusedAt}
	case s.From == "" && s.Trouble != "":
		reason, fix := s.sourceTrouble("cloudqueue topology apply FILE")
		return federation.PartState{State: federation.StateWaiting, Reason: "no topology yet: " + reason, Fix: fix,
			Since: s.TroubleAt}
	case s.From == "":
		return federation.PartState{State: federation.StateWaiting, Reason: "no topology yet"}
	case s.Undone != "":
		return federation.PartState{State: federation.StateHeld,
			Reason: "not all of the topology is carried out: " + s.Undone,
			Fix:    "mend what the reason names; it is tried again by itself", Since: s.UndoneAt}
	case s.CopyTrouble != "":
		return federation.PartState{State: federation.StateDegraded,
			Reason: "the last good copy is not written: " + s.CopyTrouble, Fix: "make room or mend the data folder",
			Since: s.Since}
	case s.Trouble != "":
		reason, fix := s.sourceTrouble(fmt.Sprintf(
			"apply it again: cloudqueue topology apply --at-least %d FILE", s.Version+1))
		return federation.PartState{State: federation.StateDegraded,
			Reason: "the last good topology is in force: " + reason, Fix: fix, Since: s.TroubleAt}
	}
	return federation.PartState{State: federation.StateRunning, Since: s.Since}
}

// sourceTrouble says what is wrong with the source. An etcd that holds nothing is mended by an apply, one that is away
// is not.
func (s Status) sourceTrouble(apply string) (reason, fix string) {
	const mendFile = "or mend topology.file in the router's file"
	switch {
	case s.Missing && s.Origin == OriginFile:
		return "there is no file " + s.Source, "put it there, " + mendFile
	case s.Missing:
		return s.Source + " holds none", apply
	case s.Origin == OriginFile:
		return s.Source + " cannot be read: " + s.Trouble, "make it readable for the router's user, " + mendFile
	}
	return s.Source + " cannot be reached: " + s.Trouble,
		"see that etcd runs and answers there (etcdctl endpoint health), " +
			"or mend etcd in the router's file; the router asks again by itself"
}

func (f *Follower) update(change func(*Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.status)
}

func (f *Follower) nowRunning(s Snapshot) {
	f.update(func(status *Status) {
		status.Version, status.Digest, status.From, status.Since = s.Version, s.Digest, s.Origin, time.Now()
		status.Refused = nil
	})
	f.cfg.Logger.Info("topology accepted", "site", f.cfg.Site, "version", s.Version, "digest", shortDigest(s.Digest),
		"origin", s.Origin)
}

// nowConfirmed notes that the source holds what is in force.
func (f *Follower) nowConfirmed(origin Origin) {
	f.update(func(status *Status) { status.From, status.Refused = origin, nil })
}

func (f *Follower) nowRefused(r Refusal) {
	var repeated bool
	f.update(func(status *Status) {
		repeated = status.Refused != nil && status.Refused.Digest == r.Digest && status.Refused.Version == r.Version
		if !repeated {
			status.RefusedAt = time.Now()
		}
		status.Refused = &r
	})
	if !repeated {
		f.cfg.Logger.Error("topology refused", "site", f.cfg.Site, "version", r.Version, "digest",
			shortDigest(r.Digest), "err", r.Why)
	}
}

// sourceLost notes why the source does not answer; "nothing is there" is such a reason, never a deletion.
func (f *Follower) sourceLost(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("no answer in time") // the source's own limit may be shorter than ours
	}
	var first bool
	f.update(func(status *Status) {
		if first = status.Trouble == ""; first {
			status.TroubleAt = time.Now()
		}
		status.Trouble, status.Missing = err.Error(), errors.Is(err, ErrMissing)
	})
	if first {
		f.cfg.Logger.Warn("topology source lost", "site", f.cfg.Site, "err", err)
	}
}

func (f *Follower) sourceBack() {
	var was bool
	f.update(func(status *Status) {
		was = status.Trouble != ""
		status.Trouble, status.Missing, status.Contact = "", false, time.Now()
	})
	if was {
		f.cfg.Logger.Info("topology source back", "site", f.cfg.Site)
	}
}

func (f *Follower) lastGoodBad(err error) {
	f.update(func(status *Status) { status.CopyTrouble = err.Error() })
	f.cfg.Logger.Error("last good topology unreadable", "site", f.cfg.Site, "err", err)
}

func (f *Follower) nowApplied(s Snapshot, err error) {
	f.update(func(status *Status) {
		status.Applied, status.AppliedDigest, status.CopyTrouble, status.Undone = s.Version, s.Digest, "", ""
		if err != nil {
			status.CopyTrouble = err.Error()
		}
	})
	select {
	case f.reportNow <- struct{}{}:
	default: // one is pending already
	}
}

// NotApplied tells that the router could not do all that s implies, and tries again.
func (f *Follower) NotApplied(_ Snapshot, why error) {
	f.update(func(status *Status) {
		if status.Undone == "" {
			status.UndoneAt = time.Now()
		}
		status.Undone = why.Error()
	})
}

// report tells the reporter what the router runs, at each change and every ReportInterval, until ctx ends.
func (f *Follower) report(ctx context.Context) {
	if f.cfg.Reporter == nil {
		return
	}
	ticker := time.NewTicker(ReportInterval)
	defer ticker.Stop()
	for {
		f.reportOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.reportNow:
		}
	}
}

func (f *Follower) reportOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ReportInterval)
	defer cancel()
	if err := f.cfg.Reporter.Report(ctx, f.ownReport()); err != nil {
		f.cfg.Logger.Debug("topology not reported", "site", f.cfg.Site, "err", err)
	}
}

func (f *Follower) ownReport() Report {
	s := f.Status()
	r := Report{Site: f.cfg.Site, Router: f.cfg.Router, Version: s.Applied, Digest: fmt.Sprintf("%x", s.AppliedDigest),
		Origin: s.From, Since: s.Since}
	if s.Refused != nil {
		r.Refused = s.Refused.Why
	}
	return r
}
