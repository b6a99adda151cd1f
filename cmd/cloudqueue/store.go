package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// storePlace is where a store is; the rest is known only when the router's file told it.
type storePlace struct {
	dir     string
	site    federation.SiteID
	quota   uint64
	segment uint64
}

func (p storePlace) url() string { return "file://" + p.dir }

// findStore takes the store's URL, or without one the store of the router's file.
func (a *app) findStore(url string) (storePlace, error) {
	if url != "" {
		dir, what := site.StoreDir(url)
		if what != "" {
			return storePlace{}, fail(exitUsage, "write for example file:///var/lib/cloudqueue/spool", "%s: %s", url, what)
		}
		return storePlace{dir: dir}, nil
	}
	config, err := site.ReadConfig(a.configPath)
	if errors.Is(err, os.ErrNotExist) {
		return storePlace{}, fail(exitUsage, "name the store's URL, or the router's file with --config", "%w", err)
	}
	if err != nil {
		return storePlace{}, err
	}
	return placeOf(config), nil
}

func placeOf(config *site.Config) storePlace {
	return storePlace{config.Store.Dir, config.Site, config.Store.Quota, config.Store.SegmentSize}
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

// acceptCorrupt claims the store, gives up what is corrupt in it by an admin's word, and says what that was.
func (p storePlace) acceptCorrupt(ctx context.Context, word spool.Word) (given []*spool.CorruptError, err error) {
	if given, err = p.corrupt(ctx); err != nil || len(given) == 0 {
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
	err = sp.Commit(ctx, spool.AuditRecord{Who: word.Who, What: givenText(given), At: time.Now()})
	return given, errors.Join(err, sp.Close(ctx), <-ran)
}

// maxAudit is the limit of what an audit says (spool.AuditRecord).
const maxAudit = 4096

// givenText is the audit of what was given up: the word itself is in the log already, this is what it came to.
func givenText(given []*spool.CorruptError) string {
	text := "given up:"
	for _, c := range given {
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
