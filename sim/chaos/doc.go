// Package chaos breaks real parts under load and has the result judged by the brokers' side alone.
//
//	ams (RabbitMQ 1) ── orders ──► nyc (RabbitMQ 2)      one router process per site,
//	       ▲              └─────► sin (RabbitMQ 2, vhost) one etcd for all
//	       └───────── audit ───── nyc
//
// MakePlan draws from a seed what is struck, when, and for how long: a router with SIGKILL or SIGSTOP, a RabbitMQ or etcd
// with SIGKILL; some on top of each other. In a plan of 30 kills, pauses not counted, every kind comes at least three times.
// World holds the parts; Run publishes on both lanes, executes the plan, lets everything heal, waits until the queues stand
// still, and reads them. What must hold then: nothing lost, nothing out of order, no duplicate without its flag
// (check.Report); and the books, asked from the routers and read from their stores with every router stopped, count what
// the queues hold.
//
// Nothing consumes the destination queues during a run, so that they show every appearance exactly once. Beside each
// stands a second queue that a watch consumes. A strike waits until at least 100 messages that pass its part are confirmed
// and not consumed, for which the publishers hurry; the run's Toll says for every kind how many they were, and how long it
// took until messages that were published after the strike came out of every queue behind the part.
//
// Start reading at the test, chaos_test.go.
package chaos
