// Command cloudqueue is the whole product in one binary: the router of a site, and what an admin types.
//
//	cloudqueue router          runs the router of a site
//	cloudqueue doctor          looks at everything that a router needs, without changing anything
//	cloudqueue status          shows every lane and link: state, reason, since when, what to type
//	cloudqueue topology …      validates, plans, applies and shows the document
//	cloudqueue parking …       lists, shows, redrives and drops what could not be delivered
//	cloudqueue spool …         makes and looks at the store, and repairs it by an admin's word
//	cloudqueue books           balances published, delivered and the rest, also with the router stopped
//	cloudqueue pki …           makes the certificates of the sites
//	cloudqueue demo            three sites in this terminal, with faults
//
// Every command takes -o table|json|yaml and ends with a code of exit.go. Start reading at root.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first signal ends the context, and with it the router in good order; the second one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := run(ctx, &app{in: os.Stdin, out: os.Stdout, errs: os.Stderr, parts: builtIn()}, os.Args[1:])
	stop()
	os.Exit(code)
}
