package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/router/admin"
	"cloudqueue/sim/check"
)

// account is what the books must agree with: where a lane's messages stand.
type account struct {
	lane string
	site string // of the destination
}

// books asks every site, once the last receipts have come.
func (w *World) books(ctx context.Context, flags ...string) (map[string]admin.Books, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return w.sites.Receipted(ctx, flags...)
}

// count remembers how many different offsets a queue has shown, of all runs.
func (w *World) count(l lane, o outlet, appeared []check.Appearance) {
	offsets := map[check.ID]bool{}
	for _, a := range appeared {
		offsets[a.ID] = true
	}
	w.appeared[account{l.name(), o.site}] += uint64(len(offsets))
}

// compare says where books differ from the queues. The destination's and the origin's side must both say what the queue
// says: every offset delivered is one that stood in the queue.
func (w *World) compare(what string, bySite map[string]admin.Books) error {
	var errs []error
	delivered := map[admin.Side]map[account]uint64{admin.Origin: {}, admin.Target: {}}
	for site, books := range bySite {
		for _, line := range books.Lines {
			if !line.Balanced {
				errs = append(errs, fmt.Errorf("%s of %s: lane %s to %s: %s", what, site, line.Lane, line.Destination, line.Problem))
			}
			delivered[line.Side][account{line.Lane, line.Destination}] += line.Delivered
		}
	}
	for side, counts := range delivered {
		for account, want := range w.appeared {
			if got := counts[account]; got != want {
				errs = append(errs, fmt.Errorf("%s, %s's side: lane %s at %s: %d delivered, but its queue showed %d offsets", what, side, account.lane, account.site, got, want))
			}
		}
	}
	return errors.Join(errs...)
}
