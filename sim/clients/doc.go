// Package clients shows that services in other languages need no change: their programs, which know nothing of Cloudqueue,
// publish at one site and consume at another.
//
// The programs are in testdata. The test runs them against two real RabbitMQ nodes with a router each.
package clients
