package backlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/sim/load"
)

// perBatch is the messages of a batch: half a mebibyte of 1 KiB bodies, what an origin under load seals.
const perBatch = 512

// Stored is what Fill left in a store.
type Stored struct {
	Messages uint64
	Bytes    int64 // of batches
}

// Fill puts at least size bytes of batches of one lane into the store in dir, which nobody may hold and which knows nothing of the
// lane. The batches are for one destination and not compressed, so that their bytes are the stored bytes.
func Fill(ctx context.Context, dir string, lane federation.Lane, to federation.Destination, size int64) (stored Stored, err error) {
	store, err := localdir.Open(dir)
	if err != nil {
		return stored, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	log, err := spool.Open(ctx, store, spool.Config{})
	if err != nil {
		return stored, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- log.Run(running) }()
	defer func() {
		err = errors.Join(err, log.Close(ctx))
		stop()
		if run := <-ended; !errors.Is(run, context.Canceled) {
			err = errors.Join(err, run)
		}
	}()
	f, err := newFiller(log, lane, to)
	if err != nil {
		return stored, err
	}
	return f.fill(ctx, size)
}

// filler makes the records of one lane.
type filler struct {
	log        *spool.Spool
	lane       federation.Lane
	to         federation.Destination
	generation federation.Generation
	coder      *federation.Coder
	bodies     *load.Generator
	entries    []federation.Entry
}

func newFiller(log *spool.Spool, lane federation.Lane, to federation.Destination) (*filler, error) {
	coder, err := federation.NewCoder()
	if err != nil {
		return nil, err
	}
	f := &filler{log: log, lane: lane, to: to, coder: coder, bodies: load.NewGenerator(seed, 1024), entries: make([]federation.Entry, perBatch)}
	f.generation = federation.Generation(log.Identity().Born.UnixMilli())
	return f, nil
}

// seed is of the bodies.
const seed = 1

// fill submits one batch after the other; the spool's queue holds the filler back. The last one is waited for: the log
// is durable as a prefix.
func (f *filler) fill(ctx context.Context, size int64) (Stored, error) {
	var stored Stored
	if err := f.log.Commit(ctx, f.begin()); err != nil {
		return stored, fmt.Errorf("begin lane %s: %w", f.lane, err)
	}
	for {
		batch, err := f.batch(federation.Offset(stored.Messages + 1))
		if err != nil {
			return stored, err
		}
		ticket, err := f.log.Submit(ctx, spool.BatchRecord{Batch: batch})
		if err != nil {
			return stored, fmt.Errorf("append at %d: %w", batch.Header.First, err)
		}
		stored.Messages += perBatch
		stored.Bytes += int64(len(batch.Bytes()))
		if stored.Bytes >= size {
			return stored, ticket.Wait(ctx)
		}
	}
}

// begin is the lane's first mark: its generation, and its destination from the first offset on.
func (f *filler) begin() spool.Record {
	mark := federation.LaneMark{Generation: f.generation, Shards: 1, Members: []federation.Membership{{Destination: f.to, Join: 1}}}
	return spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkLane, Lane: f.lane}, Value: mark.Encode()}
}

// batch seals the messages from offset first on: message n of the lane has index n.
func (f *filler) batch(first federation.Offset) (*federation.Batch, error) {
	now := time.Now().Truncate(time.Millisecond)
	for i := range f.entries {
		body := f.bodies.Append(nil, load.Event{Lane: f.lane.String(), Index: uint64(first) + uint64(i), Sent: now})
		f.entries[i] = federation.Entry{TTL: federation.NoTTL, Message: federation.Message{
			Exchange: string(f.lane.Route), RoutingKey: "stored", Properties: persistent, Body: body,
		}}
	}
	header := federation.Header{Generation: f.generation, First: first, SealEpoch: f.log.Identity().Epoch, SealedAt: now,
		Lane: f.lane, Destinations: []federation.Destination{f.to}}
	return federation.Seal(header, f.entries, federation.CodecNone, f.coder)
}

// persistent are AMQP properties with delivery-mode 2 alone: its flag is bit 12.
var persistent = []byte{0x10, 0x00, 2}
