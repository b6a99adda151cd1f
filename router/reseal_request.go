package router

import "cloudqueue/federation"

// ResealRequest seals what has no receipt again, under a new generation and flagged: the way out of "store rewound".
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
