package main

import (
	"errors"
	"io/fs"

	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// unanswered adds to "no router answers" what would keep one from starting: the store that the router's file names is
// not there. A --socket names no store, and of another user's socket nobody knows whether a router answers.
func (a *app) unanswered(err error) error {
	if !errors.Is(err, admin.ErrUnreachable) || errors.Is(err, fs.ErrPermission) || a.socket != "" {
		return err
	}
	config, unread := site.ReadConfig(a.configPath)
	if unread != nil {
		return err
	}
	place := placeOf(config)
	segments, lacks := localdir.Open(place.dir)
	switch {
	case lacks == nil:
		return errors.Join(err, segments.Close())
	case errors.Is(lacks, spool.ErrNotInitialised):
		return fail(exitUnreachable, place.howToMake()+"; then start the router with `cloudqueue router`",
			"%w; there is no store in %s, without which none starts", err, place.dir)
	case errors.Is(lacks, fs.ErrPermission):
		return err
	}
	return fail(exitUnreachable, "cloudqueue doctor", "%w; none starts on its store: %w", err, lacks)
}

// howToMake says what to do where a store should be and is none: an empty folder is a disk that is not mounted, or a
// new site.
func (p storePlace) howToMake() string {
	return "mount its disk; or, for a new site: cloudqueue spool init " + p.url()
}
