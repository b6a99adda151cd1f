package topology

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// Stored is a document as a source keeps it.
type Stored struct {
	Version uint64 // from 1, grows with every apply; 0: the source has no versions (a plain file)
	Source  []byte // the document's text
	Numbers Numbers
	Author  string
	Comment string
	Applied time.Time
}

// Digest is the SHA-256 of the text, as Document.Digest gives it.
func (s Stored) Digest() [sha256.Size]byte { return sha256.Sum256(s.Source) }

// Open parses the text and gives the document its numbers. Name stands before line numbers.
func (s Stored) Open(name string) (*Document, error) {
	d, err := Parse(name, s.Source)
	if err != nil || s.Numbers == nil {
		return d, err
	}
	d, _, err = d.WithNumbers(s.Numbers)
	return d, err
}

// Source is where a topology comes from: etcd or a plain file. One goroutine uses it.
type Source interface {
	// Name is what status shows and what stands before line numbers, for example a path.
	Name() string
	// Origin is OriginEtcd or OriginFile.
	Origin() Origin
	// Read gives what is stored now. ErrMissing: nothing is; it never means that anything was deleted. Any other error:
	// unknown. It returns soon after ctx ends, and by itself within seconds when the source does not answer.
	Read(ctx context.Context) (Stored, error)
	// Wait returns nil when what the last Read gave may have changed, ctx's error when ctx ends, and another error when
	// it cannot watch: then the caller Reads again after a pause.
	Wait(ctx context.Context) error
}

// ErrMissing is a source without a topology.
var ErrMissing = errors.New("no topology there")

// Report is what a router says of the topology that it runs.
type Report struct {
	Site    federation.SiteID `json:"site"`
	Router  string            `json:"router"` // id of the process, for people
	Version uint64            `json:"version"`
	Digest  string            `json:"digest"` // hexadecimal
	Origin  Origin            `json:"origin"`
	Refused string            `json:"refused,omitempty"` // why a later document is not in force
	Since   time.Time         `json:"since"`
}

// Reporter shows Reports to `topology apply --wait`. Its failure never matters to a router.
type Reporter interface {
	// Report puts r, or refreshes it. It shall be called at least every ReportInterval: what is not refreshed vanishes.
	Report(ctx context.Context, r Report) error
}

// ReportInterval is a third of the time after which a silent router's report vanishes (15 s).
const ReportInterval = 5 * time.Second

func shortDigest(digest [sha256.Size]byte) string { return fmt.Sprintf("%x", digest[:6]) }
