package chaos

import (
	"context"
	"encoding/json"
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

// books asks every site, until the origins have nothing outstanding: the last receipts may be under way.
func (w *World) books(ctx context.Context, flags ...string) (map[string]admin.Books, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	bySite := map[string]admin.Books{}
	for _, site := range siteNames {
		err := until(ctx, func() error {
			books, err := w.booksOf(ctx, site, flags)
			if err == nil {
				bySite[site] = books
				err = outstanding(books)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", site, err)
		}
	}
	return bySite, nil
}

func (w *World) booksOf(ctx context.Context, site string, flags []string) (admin.Books, error) {
	var books admin.Books
	out, err := w.sites.Site(site).Command(ctx, append([]string{"books", "-o", "json"}, flags...)...)
	if jsonErr := json.Unmarshal([]byte(out), &books); jsonErr != nil {
		return books, errors.Join(err, jsonErr)
	}
	return books, nil // books that do not balance make the command fail; compare says which
}

// outstanding says which of an origin's lines wait for receipts.
func outstanding(books admin.Books) error {
	for _, line := range books.Lines {
		if line.Side == admin.Origin && line.Stored > 0 {
			return fmt.Errorf("lane %s to %s: %d stored", line.Lane, line.Destination, line.Stored)
		}
	}
	return nil
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
