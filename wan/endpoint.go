package wan

import "context"

// Endpoint is a site's end of all its links, on one UDP socket.
type Endpoint struct{}

// New checks the configuration and opens the socket. It starts nothing. The error lists everything that is wrong.
func New(cfg Config) (*Endpoint, error) { panic("to be written") }

// Run accepts, dials and keeps the links until ctx ends, then closes them; it returns nil then, and an error when the socket fails.
// To stop without losing what is on its way, drain the links before.
func (e *Endpoint) Run(ctx context.Context) error { panic("to be written") }

// SetPeers replaces the set of peers. The links of those that are not in it any more are closed. It may be called at any time.
func (e *Endpoint) SetPeers(peers []Peer) { panic("to be written") }

// Status tells how every link is, sorted by peer.
func (e *Endpoint) Status() []LinkStatus { panic("to be written") }
