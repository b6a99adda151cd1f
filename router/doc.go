// Package router is the daemon of one site: it takes messages from the site's broker, stores them, carries them to the
// peers and publishes what the peers send.
//
//	broker --Consumer--> ingest --> spool --> forward --Link--> receive --> deliver --Publisher--> broker
//	           <-- ack after durable               <-- verdict, RECEIPT and WINDOW after done is durable
//
// Who owns what:
//
//	Router    the table of lanes and links, and the topology that it acts on (follow.go, reconcile.go, peer.go)
//	leftovers the router's own queues that routes have left; those of routes that are gone drain into their lanes
//	          (leftover.go)
//	outLane   one lane that begins here: its numbering, its batches, a sender per destination
//	          (ingest.go, loop.go, forward.go, opening.go, branch.go, receipts.go)
//	inLane    one lane that ends here: its journal, its window, its publisher, its rest
//	          (receive.go, arrivals.go, branch_in.go, run.go, rest.go, publish.go, outcomes.go, commit.go, tell.go)
//	replies   the control frames that wait for one link (replies.go)
//	owners    the owner locks of this site (owners.go)
//
// The order of durable things (docs/design.md 4.2) is kept here and nowhere else; each place that keeps a line of it
// says which. Start reading at Router.Run, then ingest.go and run.go.
package router
