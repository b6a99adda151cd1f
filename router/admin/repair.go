package admin

import "cloudqueue/federation"

// VoidRequest gives up offsets for ever: corrupt at their origin, or of a destination that will not come back. It is the
// only way but a receipt by which an origin forgets.
type VoidRequest struct {
	Lane         string                `json:"lane"`
	Generation   federation.Generation `json:"generation"`             // 0: the present one
	First        federation.Offset     `json:"first"`                  // included
	Last         federation.Offset     `json:"last"`                   // included
	Destinations []string              `json:"destinations,omitempty"` // empty: all
	Reason       string                `json:"reason"`                 // corrupt, detach, recovery
	Who          string                `json:"who"`
	DryRun       bool                  `json:"dry_run,omitempty"`
}

// VoidResult tells what a void gives up.
type VoidResult struct {
	Generation federation.Generation `json:"generation"`
	Messages   uint64                `json:"messages"` // offsets that no receipt had covered
	Durable    bool                  `json:"durable"`  // false for a dry run
}
