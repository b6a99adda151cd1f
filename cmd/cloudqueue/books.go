package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

func (a *app) booksCommand() *cobra.Command {
	var offline bool
	var store string
	c := &cobra.Command{
		Use:   "books",
		Short: "Balance what was taken, delivered, parked and stored",
		Long: `Balance each lane, generation and destination from durable state alone:

  done - join + 1 = delivered + parked + expired + excluded + voided
  last assigned - receipted = stored

Parked counts what was ever parked, also what was redriven or dropped since; "parking list" has what still is.

With --offline it reads the store itself, without changing it, so that it works with every router stopped (and beside
a running one, as of the moment of reading). It ends with code 0 when every line balances, with 1 when one does not.`,
		Example: `  cloudqueue books
  cloudqueue books --offline --store file:///var/lib/cloudqueue/spool -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			books, err := a.books(c.Context(), offline, store)
			if err != nil {
				return err
			}
			return a.showBooks(books)
		},
	}
	c.Flags().BoolVar(&offline, "offline", false, "read the store instead of asking the router")
	c.Flags().StringVar(&store, "store", "", "the store's URL, with --offline (default: the one in --config)")
	return c
}

func (a *app) books(ctx context.Context, offline bool, store string) (*admin.Books, error) {
	if offline {
		return a.offlineBooks(ctx, store)
	}
	if store != "" {
		return nil, fail(exitUsage, "add --offline, or leave --store away", "--store is for --offline")
	}
	return ask(ctx, a, func(ctx context.Context, c *admin.Client) (*admin.Books, error) { return c.Books(ctx) })
}

func (a *app) offlineBooks(ctx context.Context, store string) (*admin.Books, error) {
	place, err := a.findStore(store)
	if err != nil {
		return nil, err
	}
	var books *admin.Books
	err = place.read(ctx, func(sp *spool.Spool) error {
		books, err = router.Books(sp, true)
		return err
	})
	return books, err
}

func (a *app) showBooks(books *admin.Books) error {
	if err := a.print(books, func(w io.Writer) { writeBooks(w, books) }); err != nil {
		return err
	}
	if !books.Balanced() {
		return errNo
	}
	return nil
}

func writeBooks(w io.Writer, books *admin.Books) {
	g := newGrid("SIDE", "LANE", "TO", "GENERATION", ">JOIN", ">DONE", ">DELIVERED", ">PARKED", ">EXPIRED", ">EXCLUDED",
		">VOIDED", ">ASSIGNED", ">STORED", "BALANCE")
	for _, l := range books.Lines {
		assigned, stored := any("-"), any("-")
		if l.Side == admin.Origin {
			assigned, stored = l.LastAssigned, l.Stored
		}
		balance := "yes"
		if !l.Balanced {
			balance = "NO: " + l.Problem
		}
		g.add(l.Side, l.Lane, l.Destination, l.Generation, l.Join, l.Done, l.Delivered, l.Parked, l.Expired, l.Excluded,
			l.Voided, assigned, stored, balance)
	}
	g.write(w)
	fmt.Fprintf(w, "\n%s as of LSN %d of store %s, site %s of federation %s\n", verdict(books), books.LSN, books.Store,
		books.Site, books.Federation)
}

func verdict(books *admin.Books) string {
	if books.Balanced() {
		return "the books balance"
	}
	return "THE BOOKS DO NOT BALANCE"
}
