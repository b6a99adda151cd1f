// Package parts starts and stops the real programs that tests and measurements need: RabbitMQ nodes, etcd, routers.
//
//	test ── Start ──► sh leash ── exec ──► rabbitmq, etcd, router …
//	  └── pipe ──────────┘ reads; at its end kills the process group
//
// Every part runs in a process group of its own, in a folder of its own, on ports of its own, and holds one end of a
// pipe whose other end is the test's. When the test ends, in whatever way, the pipe ends, and the part with all its
// children is killed. Nothing survives the test, and nothing that the test did not start is touched.
//
// Process is any such program; RabbitMQ and Etcd know how theirs is configured, when it is ready, and what can be done
// to it (Kill, Pause, Stop, Restart on the same data). Build makes the binaries of this module.
//
// Ports come from outside the range from which the kernel takes local ports (FreePort says why).
//
// What this package does not do: choose when a part fails (sim/chaos), make load (sim/load), judge (sim/check).
// Start reading at Process.
package parts
