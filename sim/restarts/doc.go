// Package restarts kills the router of a destination again and again while messages flow, and judges what stands in the
// destination's queue: dedup that lives in memory, or a journal that is written late, does not survive it.
//
// The test is the package's whole content; it uses embedded brokers, which live in the test, and routers as child processes.
package restarts
