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

// ResealRequest seals what has no receipt again, under a new generation and flagged: the way out of "store rewound". It is
// done on the store of a router that does not run.
type ResealRequest struct {
	Who    string
	Why    string
	Void   bool // what cannot be read is given up, with Who's word in the log; false: it is an error
	DryRun bool
}

// ResealResult tells what was sealed again.
type ResealResult struct {
	Lanes   []Resealed `json:"lanes"`
	Durable bool       `json:"durable"` // false for a dry run
}

// Resealed is one lane's part.
type Resealed struct {
	Lane       string                `json:"lane"`
	Old        federation.Generation `json:"old_generation"`
	Generation federation.Generation `json:"generation"`
	Messages   uint64                `json:"messages"`
	Voided     []string              `json:"voided,omitempty"` // offsets of the old generation, as first-last, that could not be read and were given up
}
