package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"cloudqueue/topology"
)

// ErrConflict: somebody else applied a version since the plan was made. Read, plan and apply again.
var ErrConflict = errors.New("the topology was changed meanwhile")

// ErrUnknown: the answer of etcd to the transaction was lost, and asking again did not tell. It may be applied.
var ErrUnknown = errors.New("it is not known whether the topology was applied")

// Change is what Apply applies.
type Change struct {
	Document *topology.Document
	// IfVersion is the version that the document was planned against; 0: whatever is there. Another one: ErrConflict.
	IfVersion uint64
	// AtLeast is the lowest version that this apply may get: for an etcd that was wiped while routers run a later one.
	AtLeast uint64
	Accept  topology.Accept
	Author  string
	Comment string
}

// Applied is what Apply did.
type Applied struct {
	topology.Stored
	Plan *topology.Plan
	// Against is the version that Plan compares with; 0: nothing was ever there.
	Against uint64
	// Unchanged tells that the same text was there already; nothing was written.
	Unchanged bool
}

// Plan compares a document with what is in force. The version is what IfVersion of a later Apply wants; 0: nothing was
// ever there. Errors: topology.ErrRefused with topology.Problems about destinations' numbers, and what etcd says.
func (s *Store) Plan(ctx context.Context, document *topology.Document) (*topology.Plan, uint64, error) {
	before, err := s.base(ctx)
	if err != nil {
		return nil, 0, err
	}
	document, _, err = before.number(document)
	if err != nil {
		return nil, before.stored.Version, err
	}
	plan, err := before.plan(document)
	return plan, before.stored.Version, err
}

// base is what a change is compared with and counts on from. When current is missing or damaged, that is the newest
// version of the history: numbers and versions go on.
func (s *Store) base(ctx context.Context) (revised, error) {
	before, err := s.get(ctx)
	if !errors.Is(err, topology.ErrMissing) && !errors.Is(err, ErrDamaged) {
		return before, err
	}
	before.lost = true
	history, err := s.History(ctx, keepHistory)
	if len(history) > 0 {
		before.stored = history[0]
	}
	return before, err
}

func (r revised) number(document *topology.Document) (*topology.Document, topology.Numbers, error) {
	numbered, numbers, err := document.WithNumbers(r.stored.Numbers)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", topology.ErrRefused, err)
	}
	return numbered, numbers, nil
}

func (r revised) plan(document *topology.Document) (*topology.Plan, error) {
	if r.stored.Version == 0 {
		return topology.MakePlan(nil, document), nil
	}
	old, err := r.stored.Open(fmt.Sprintf("version %d", r.stored.Version))
	if err != nil {
		return nil, fmt.Errorf("what is in force cannot be read: %w", err)
	}
	return topology.MakePlan(old, document), nil
}

// Apply puts a document in force, in one transaction that also writes its history entry. Errors: ErrConflict,
// ErrUnknown, ErrTooLarge, those of topology.Plan.Check, topology.ErrRefused with topology.Problems about destinations'
// numbers, and whatever etcd says, when nothing was written.
func (s *Store) Apply(ctx context.Context, change Change) (Applied, error) {
	before, err := s.base(ctx)
	if err != nil {
		return Applied{}, err
	}
	if change.IfVersion != 0 && change.IfVersion != before.stored.Version {
		return Applied{}, fmt.Errorf("%w: planned against version %d, in force is %d", ErrConflict, change.IfVersion,
			before.stored.Version)
	}
	document, numbers, err := before.number(change.Document)
	if err != nil {
		return Applied{}, err
	}
	plan, err := before.plan(document)
	if err != nil {
		return Applied{}, err
	}
	if !before.lost && before.stored.Digest() == document.Digest() && before.stored.Version >= change.AtLeast {
		return Applied{before.stored, plan, before.stored.Version, true}, nil
	}
	if err := plan.Check(change.Accept); err != nil {
		return Applied{Plan: plan, Against: before.stored.Version}, err
	}
	version, err := s.nextVersion(ctx, before, change.AtLeast)
	if err != nil {
		return Applied{Plan: plan, Against: before.stored.Version}, err
	}
	next := topology.Stored{Version: version, Source: document.Source(), Numbers: numbers, Author: change.Author,
		Comment: change.Comment, Applied: time.Now().UTC().Truncate(time.Millisecond)}
	return Applied{Stored: next, Plan: plan, Against: before.stored.Version}, s.write(ctx, before, next)
}

// nextVersion is one more than the highest that is known: in an etcd that was wiped, the routers' reports still tell.
func (s *Store) nextVersion(ctx context.Context, before revised, atLeast uint64) (uint64, error) {
	version := max(before.stored.Version+1, atLeast)
	if !before.lost {
		return version, nil
	}
	reports, err := s.Reports(ctx)
	for _, r := range reports {
		version = max(version, r.Version+1)
	}
	return version, err
}

func (s *Store) write(ctx context.Context, before revised, next topology.Stored) error {
	value, err := encode(next)
	if err != nil {
		return err
	}
	limited, cancel := s.limited(ctx)
	defer cancel()
	answer, err := s.client.Txn(limited).
		If(clientv3.Compare(clientv3.ModRevision(s.current()), "=", before.modified),
			clientv3.Compare(clientv3.CreateRevision(s.history(next.Version)), "=", 0)).
		Then(s.writes(next.Version, value)...).Commit()
	if err != nil {
		return s.resolve(ctx, next, err)
	}
	if !answer.Succeeded {
		return ErrConflict
	}
	return nil
}

func (s *Store) writes(version uint64, value []byte) []clientv3.Op {
	ops := []clientv3.Op{clientv3.OpPut(s.current(), string(value)), clientv3.OpPut(s.history(version), string(value))}
	if version > keepHistory {
		ops = append(ops, clientv3.OpDelete(s.history(0), clientv3.WithRange(s.history(version-keepHistory+1))))
	}
	return ops
}

// resolve finds out whether a transaction without an answer was carried out. Its history entry tells, for ever.
func (s *Store) resolve(ctx context.Context, next topology.Stored, lost error) error {
	found, err := s.GetVersion(context.WithoutCancel(ctx), next.Version)
	switch {
	case errors.Is(err, topology.ErrMissing):
		return fmt.Errorf("apply version %d: %w (it is not there now; a late arrival is possible: %w)", next.Version,
			lost, ErrUnknown)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnknown, lost)
	case found.Digest() == next.Digest() && found.Author == next.Author && found.Applied.Equal(next.Applied):
		return nil
	}
	return fmt.Errorf("%w: version %d is somebody else's", ErrConflict, next.Version)
}
