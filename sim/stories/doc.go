// Package stories holds what can happen to the stores of two sites while messages flow, told with the built binary as its admin
// meets it: an older copy is put back, two sites' stores are exchanged, the disk is full, descriptors run out. What is judged is
// the queue at the destination's broker, what status says, and the books.
//
// It has tests only. sim/faults kills and pauses routers and brokers, sim/chaos does everything at random.
package stories
