// Package faults holds the stories of routers, as child processes with embedded brokers, that are killed or paused at bad
// moments: what crosses is neither lost nor repeated unflagged. It has tests only. sim/restarts kills a destination often,
// sim/chaos everything at random.
package faults
