package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// storePlace is where a store is; the rest is known only when the router's file told it.
type storePlace struct {
	dir     string
	home    spool.Home // of the router's file
	quota   uint64
	segment uint64
	timeout time.Duration // of a write
}

func (p storePlace) url() string { return "file://" + p.dir }

// findStore takes the store's URL, or without one the store of the router's file.
func (a *app) findStore(url string) (storePlace, error) {
	if url != "" {
		dir, what := site.StoreDir(url)
		if what != "" {
			return storePlace{}, fail(exitUsage, "write for example file:///var/lib/cloudqueue/spool", "%s: %s", url,
				what)
		}
		return storePlace{dir: dir, timeout: a.timeout}, nil
	}
	config, err := site.ReadConfig(a.configPath)
	if errors.Is(err, os.ErrNotExist) {
		return storePlace{}, fail(exitUsage, "name the store's URL, or the router's file with --config", "%w", err)
	}
	if err != nil {
		return storePlace{}, err
	}
	place := placeOf(config)
	place.timeout = a.timeout
	return place, nil
}

// findOwnStore is findStore for what changes the store: one of the router's file must be that router's.
func (a *app) findOwnStore(ctx context.Context, url string) (storePlace, error) {
	place, err := a.findStore(url)
	if err != nil || url != "" { // who names a store means that one
		return place, err
	}
	return place, place.checkHome(ctx)
}

// checkHome refuses a store of another site with spool.ErrOtherHome.
func (p storePlace) checkHome(ctx context.Context) error {
	segments, err := site.OpenHome(ctx, p.dir, p.home)
	if err == nil {
		err = segments.Close()
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", p.dir, err)
	}
	return nil
}

// space is what the store's disk has left, and its size.
func (p storePlace) space(ctx context.Context) (free, total uint64, err error) {
	segments, err := localdir.Open(p.dir)
	if err != nil {
		return 0, 0, err
	}
	free, total, err = segments.Space(ctx)
	return free, total, errors.Join(err, segments.Close())
}

func placeOf(config *site.Config) storePlace {
	return storePlace{dir: config.Store.Dir, home: config.Home(), quota: config.Store.Quota,
		segment: config.Store.SegmentSize}
}

// read opens the store without a claim and without changing it, also while a router has it.
func (p storePlace) read(ctx context.Context, use func(*spool.Spool) error) error {
	segments, err := localdir.Open(p.dir)
	if err != nil {
		return err
	}
	sp, err := spool.OpenReadOnly(ctx, segments, spool.Config{SegmentSize: int64(p.segment), Quota: p.quota})
	if err != nil {
		return err // the spool has closed the store
	}
	return errors.Join(use(sp), sp.Close(ctx))
}

// acceptCorrupt claims the store, abandons what is corrupt in it by an admin's word, and says what that was.
func (p storePlace) acceptCorrupt(ctx context.Context, word spool.Word) (lost []*spool.CorruptError, err error) {
	if lost, err = p.corrupt(ctx); err != nil || len(lost) == 0 {
		return nil, err
	}
	segments, err := localdir.Open(p.dir)
	if err != nil {
		return nil, err
	}
	sp, err := spool.Open(ctx, segments, spool.Config{SegmentSize: int64(p.segment), Quota: p.quota, Accept: &word})
	if err != nil {
		return nil, err
	}
	ran := make(chan error, 1)
	go func() { ran <- sp.Run(ctx) }()
	bounded, cancel := context.WithTimeout(ctx, p.timeout) // Run has the context without: the two are about at once
	defer cancel()
	err = sp.Commit(bounded, spool.AuditRecord{Who: word.Who, What: lostText(lost), At: time.Now()})
	if err := errors.Join(err, sp.Close(bounded), <-ran); err != nil {
		return nil, fail(exitFailed, "look at its disk, then see with cloudqueue spool ls what is still corrupt",
			"%s: what was abandoned may not be on the disk: %w", p.dir, err)
	}
	return lost, nil
}

// maxAudit is the limit of what an audit says (spool.AuditRecord).
const maxAudit = 4096

// lostText is the audit of what was abandoned: the word itself is in the log already, this is what it came to.
func lostText(lost []*spool.CorruptError) string {
	text := "abandoned:"
	for _, c := range lost {
		text += fmt.Sprintf(" segment %d at byte %d, groups %d to %d: %s;", c.Segment, c.Offset, c.LSN, c.Last, c.What)
	}
	return text[:min(len(text), maxAudit)]
}

// corrupt lists what is corrupt in the store. A store of which nothing can be served says only its first stretch.
func (p storePlace) corrupt(ctx context.Context) (found []*spool.CorruptError, err error) {
	err = p.read(ctx, func(sp *spool.Spool) error {
		found = sp.Corrupt()
		return nil
	})
	var first *spool.CorruptError
	if errors.As(err, &first) {
		return []*spool.CorruptError{first}, nil
	}
	return found, err
}
