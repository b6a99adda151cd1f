package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// Reseal gives the store of a stopped router a new identity and makes it fit for use: what has no receipt is sealed again,
// flagged. It is the way out of "store rewound" and of "store cloned". A dry run only reads. An error that is a refusal is
// an *admin.Error; it has changed nothing.
func Reseal(ctx context.Context, cfg *Config, q router.ResealRequest, log *slog.Logger) (*router.ResealResult, error) {
	if result, err := resealDry(ctx, cfg, q, log); err != nil || q.DryRun { // what is refused leaves the store as it is, with its id
		return result, err
	}
	if _, err := localdir.NewID(cfg.Store.Dir, time.Now()); err != nil {
		return nil, inUse(cfg.Store.Dir, fmt.Errorf("store %s: new id: %w", cfg.Store.Dir, err))
	}
	s := &Site{cfg: cfg, log: log}
	if err := s.openStore(ctx, resealing(cfg, log)); err != nil {
		return nil, err
	}
	return s.reseal(ctx, q)
}

// inUse says what helps when another process has the store; any other error it leaves as it is.
func inUse(dir string, err error) error {
	if errors.Is(err, spool.ErrHeld) || errors.Is(err, localdir.ErrLocked) {
		return admin.Errorf(admin.Refused, "stop the router first", "store %s is in use", dir)
	}
	return err
}

// reseal works with nothing but the spool running, and closes it.
func (s *Site) reseal(ctx context.Context, q router.ResealRequest) (*router.ResealResult, error) {
	work, stop := context.WithCancel(ctx)
	defer stop()
	wait := s.runStore(ctx, stop)
	result, err := router.Reseal(work, s.spool, s.cfg.Site, q)
	return result, errors.Join(err, s.Close(), wait())
}

// resealing is the store's configuration while it is resealed: a lane stands in it twice, so that its own quota says nothing.
func resealing(cfg *Config, log *slog.Logger) spool.Config {
	c := cfg.Store.spool(log)
	c.LaneQuota = math.MaxUint64
	return c
}

func resealDry(ctx context.Context, cfg *Config, q router.ResealRequest, log *slog.Logger) (*router.ResealResult, error) {
	dir, err := OpenHome(ctx, cfg.Store.Dir, cfg.Home())
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", cfg.Store.Dir, err)
	}
	if err := localdir.Free(cfg.Store.Dir); err != nil {
		return nil, errors.Join(inUse(cfg.Store.Dir, err), dir.Close())
	}
	sp, err := spool.OpenReadOnly(ctx, dir, resealing(cfg, log))
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	q.DryRun = true
	result, err := router.Reseal(ctx, sp, cfg.Site, q)
	return result, errors.Join(err, sp.Close(ctx), dir.Close())
}
