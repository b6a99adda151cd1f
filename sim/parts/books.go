package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cloudqueue/router/admin"
)

// Books asks the site's router for its books, or with --offline its store. That they do not balance is no error: the lines
// say so.
func (s *Site) Books(ctx context.Context, flags ...string) (admin.Books, error) {
	var books admin.Books
	out, err := s.Command(ctx, append([]string{"books", "-o", "json"}, flags...)...)
	if jsonErr := json.Unmarshal([]byte(out), &books); jsonErr != nil {
		return books, fmt.Errorf("books of %s: %w", s.Name, errors.Join(err, jsonErr))
	}
	return books, nil
}

// Receipted returns the books of every site once no origin waits for a receipt any more: no copy is on its way, and a
// destination publishes nothing until somebody publishes at an origin again.
func (f *Federation) Receipted(ctx context.Context, flags ...string) (map[string]admin.Books, error) {
	bySite := map[string]admin.Books{}
	for name, site := range f.sites {
		for {
			books, err := site.Books(ctx, flags...)
			if err == nil {
				err = outstanding(books)
			}
			if err == nil {
				bySite[name] = books
				break
			}
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("%s: %w", name, errors.Join(ctx.Err(), err))
			case <-time.After(250 * time.Millisecond):
			}
		}
	}
	return bySite, nil
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
