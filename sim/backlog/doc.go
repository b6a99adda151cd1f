// Package backlog measures a router that starts on a store with a large backlog.
//
// Fill writes batches straight into the store of a site whose router does not run, as its router would have: the lane's
// mark, then sealed batches, as fast as the disk takes them. The test (make test-backlog) then starts the destination and
// the origin on it and looks when the first message is in the destination's queue, and how much memory each router takes while
// it drains: neither may depend on how much is stored (guarantees G4 and G5).
//
// Start reading at Fill.
package backlog
