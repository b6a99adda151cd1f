// Package clients shows that services in other languages need no change: their programs, which know nothing of Cloudqueue,
// publish at one site and consume at another.
//
// The programs are in testdata. The tests run them against two real RabbitMQ nodes, and against two embedded brokers, with a
// router each.
package clients
