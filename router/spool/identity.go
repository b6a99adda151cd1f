package spool

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
)

// Identity is who a store is.
type Identity struct {
	Home  Home // for ever; also a store that got another id stays at home
	Store federation.StoreID
	Born  time.Time // whole milliseconds
	Epoch federation.Epoch
	// Former are the ids that the store had before (`cloudqueue spool new-id`); segments that carry one of them are its
	// own.
	Former []federation.StoreID
}

// Owns tells whether a segment that carries id belongs to the store.
func (i Identity) Owns(id federation.StoreID) bool {
	return id == i.Store || slices.Contains(i.Former, id)
}

// Home is where a store belongs: what it holds are lanes from and to this site, and no other site may go on with them
// (G2).
type Home struct {
	Site       federation.SiteID
	Federation string
}

// String gives "site ams of federation acme".
func (h Home) String() string { return fmt.Sprintf("site %s of federation %s", h.Site, h.Federation) }

// Valid tells whether both names are 1 to 63 of [a-z0-9-].
func (h Home) Valid() bool { return h.Site.Valid() && federation.ValidName(h.Federation) }

// ErrOtherHome is the answer to a router that is configured for another site or federation than the store's.
var ErrOtherHome = errors.New("the store is not this router's")

// CheckHome refuses, with ErrOtherHome, whoever is not the store's site. It is asked before Open, which claims the
// store.
func (i Identity) CheckHome(configured Home) error {
	if i.Home == configured {
		return nil
	}
	return fmt.Errorf("%w: it belongs to %s, and the router's file says %s", ErrOtherHome, i.Home, configured)
}
