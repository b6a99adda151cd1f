package site

import (
	"context"
	"errors"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// Home is whose store this router takes.
func (c *Config) Home() spool.Home { return spool.Home{Site: c.Site, Federation: c.Federation} }

// openHome opens the store for work of this site on it; it claims and changes nothing. The folder of another site or
// federation is refused with spool.ErrOtherHome: its lanes are not ours to go on with.
func openHome(ctx context.Context, cfg *Config) (*localdir.Dir, error) {
	dir, err := localdir.Open(cfg.Store.Dir)
	if err != nil {
		return nil, err
	}
	id, err := dir.Identify(ctx)
	if err == nil {
		err = id.CheckHome(cfg.Home())
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}
