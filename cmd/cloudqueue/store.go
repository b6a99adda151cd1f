package main

import (
	"context"
	"errors"
	"os"

	"cloudqueue/federation"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// storePlace is where a store is, and whose it is as far as that is known.
type storePlace struct {
	dir  string
	site federation.SiteID // empty: it was named by its URL
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
	return storePlace{config.Store.Dir, config.Site}, nil
}

// read opens the store without a claim and without changing it, also while a router has it.
func (p storePlace) read(ctx context.Context, use func(*spool.Spool) error) error {
	segments, err := localdir.Open(p.dir)
	if err != nil {
		return err
	}
	sp, err := spool.OpenReadOnly(ctx, segments, spool.Config{})
	if err != nil {
		return errors.Join(err, segments.Close())
	}
	return errors.Join(use(sp), sp.Close(ctx), segments.Close())
}
