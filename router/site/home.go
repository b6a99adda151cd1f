package site

import (
	"context"
	"errors"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// Home is whose store this router takes.
func (c *Config) Home() spool.Home { return spool.Home{Site: c.Site, Federation: c.Federation} }

// OpenHome opens the store in a folder for work of a site on it; it claims and changes nothing. The folder of another site or
// federation is refused with spool.ErrOtherHome: its lanes are not that site's to go on with.
func OpenHome(ctx context.Context, folder string, home spool.Home) (*localdir.Dir, error) {
	dir, err := localdir.Open(folder)
	if err != nil {
		return nil, err
	}
	id, err := dir.Identify(ctx)
	if err == nil {
		err = id.CheckHome(home)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}
