// Package admin is the local admin channel of a router: HTTP with JSON on a Unix socket in the router's data folder, which
// only the router's user may open (0600).
//
//	cloudqueue status ── Client ──> <data>/admin.sock ── Server ──> Service (the router)
//
// The package holds the answers' types (status.go, lanes.go, books.go, parking.go, repair.go), the interface that the router
// fulfils (service.go), and both ends of the socket (server.go, client.go). It knows nothing of how a router works.
//
// Guarantees: a request and an answer have a size limit and a deadline; an answer tells everything that it shows as of one
// moment as far as its Service does; an error comes with what to do (Error.Fix). Not promised: the types may gain fields at
// any time, so a reader ignores those that it does not know.
//
// JSON keys are snake_case, as RabbitMQ's management API has them; times are RFC 3339; durations are seconds and named so.
package admin
