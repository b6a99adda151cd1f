// Package storetest is the conformance suite of stores: it runs a Spool over any Segments and checks what a spool
// promises. Every store passes it.
package storetest

import "cloudqueue/router/spool"

// Place is where a store lives across openings: a folder, or a piece of memory. It is initialised.
type Place interface {
	// Open gives the Segments that the next process finds.
	Open() (spool.Segments, error)
}

// Machine is a Place that can lose its process or its power at any operation that changes the store. The crash
// enumeration needs it; memstore has one, localdir makes one over its file seam.
type Machine interface {
	Place
	// Ops counts the operations that have changed the store, since it was made, over all openings.
	Ops() int
	// DieAt lets the process die during operation number n (counted as Ops counts, from 1): it has no, partial or full
	// effect, and it and every later call of the present opening fail.
	DieAt(n int)
	// States gives every state in which the next process may find the store when the power failed at this moment: each
	// is a Machine of its own, not dead, with an operation count of 0. Labels say what was kept. yield returns false to
	// stop.
	States(yield func(label string, state Machine) bool)
	// Kill ends the process and keeps the power: the next opening finds all that was written, but what was not made
	// durable is still at risk.
	Kill()
}
