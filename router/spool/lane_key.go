package spool

import (
	"cmp"
	"fmt"

	"cloudqueue/federation"
)

// laneKey is one numbering: a lane and a generation of it.
type laneKey struct {
	lane       federation.Lane
	generation federation.Generation
}

// Lanes, generations and destinations are stored as the keys of marks are: one encoding, one parser, one set of limits.

func appendLaneKey(dst []byte, k laneKey) []byte {
	return federation.AppendMarkKey(dst, federation.MarkKey{Kind: federation.MarkLaneHigh, Lane: k.lane,
		Generation: k.generation})
}

func (f *fields) laneKey() laneKey {
	k := f.key()
	if f.err == nil && k.Kind != federation.MarkLaneHigh {
		f.fail("not the key of a lane")
	}
	return laneKey{k.Lane, k.Generation}
}

func appendParkID(dst []byte, id ParkID) []byte {
	dst = federation.AppendMarkKey(dst, federation.MarkKey{Kind: federation.MarkJournal, Lane: id.Lane,
		Generation: id.Generation, Dest: id.Destination})
	return appendU64(dst, uint64(id.Offset))
}

func (f *fields) parkID() ParkID {
	k := f.key()
	if f.err == nil && k.Kind != federation.MarkJournal {
		f.fail("not the key of a parked message")
	}
	return ParkID{k.Lane, k.Generation, federation.Offset(f.u64()), k.Dest}
}

// validKey refuses, before anything is queued, a key that could not be read back.
func validKey(k federation.MarkKey) error {
	hasLane := k.Kind != federation.MarkPeer && k.Kind != federation.MarkOwner && k.Kind != federation.MarkOpenings
	if hasLane && (!k.Lane.Origin.Valid() || !k.Lane.Route.Valid()) {
		return fmt.Errorf("lane %q: not a name", k.Lane)
	}
	hasDest := k.Kind == federation.MarkJournal || k.Kind == federation.MarkReceipt || k.Kind == federation.MarkDest ||
		k.Kind == federation.MarkPeer
	if hasDest && !k.Dest.Site.Valid() {
		return fmt.Errorf("site %q: not a name", k.Dest.Site)
	}
	return nil
}

// compareLaneKeys orders lanes for listings and footers.
func compareLaneKeys(a, b laneKey) int {
	return cmp.Or(
		cmp.Compare(a.lane.Origin, b.lane.Origin), cmp.Compare(a.lane.Route, b.lane.Route),
		cmp.Compare(a.lane.Kind, b.lane.Kind), cmp.Compare(a.lane.Shard, b.lane.Shard),
		cmp.Compare(a.generation, b.generation))
}
