package topology

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"cloudqueue/durable"
	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

// The last good copy is a YAML file that a person can read and a router can be given as its topology: one line of
// comment, then the document byte for byte.
//
//	# cloudqueue-last-good {"format":1,"version":7,"sha256":"…","origin":"etcd","numbers":{…},"gone":[…],"left":[…],"written":"…"}\n
//	document
//
//	field    type              meaning
//	format   integer           lastGoodFormat; another one is not read
//	version  integer           of etcd; 0: from a plain file
//	sha256   64 hex digits     of the document's bytes; another one: the file is damaged and is not used
//	origin   etcd or file      where the document came from
//	numbers  object            Numbers
//	gone     list of objects   Snapshot.Gone, keptRoute each; at most maxGone bytes
//	left     list of objects   Snapshot.Left, keptSource each
//	written  RFC 3339          when, for people
//
// A reader refuses a first line without the prefix, over maxHead bytes, or that is no JSON; unknown fields are ignored.
// testdata/last-good-1.yaml is one of format 1.
type lastGoodHead struct {
	Format  int          `json:"format"`
	Version uint64       `json:"version"`
	SHA256  string       `json:"sha256"`
	Origin  Origin       `json:"origin"`
	Numbers Numbers      `json:"numbers,omitempty"`
	Gone    []keptRoute  `json:"gone,omitempty"`
	Left    []keptSource `json:"left,omitempty"`
	Written time.Time    `json:"written"`
}

const (
	lastGoodPrefix = "# cloudqueue-last-good "
	lastGoodFormat = 1
	// bytes; numbers of 100,000 lanes' destinations take 6 MiB; quotes and commas come to what is left
	maxHead = 8<<20 + maxGone + 2*maxLeftBytes
)

// lastGood is a document with where it came from.
type lastGood struct {
	Stored
	origin Origin
	gone   []Route
	left   []federation.Source
}

// writeLastGood replaces the file at path, durably: after a crash it holds the old copy or the new one.
func writeLastGood(path string, good lastGood, now time.Time) error {
	digest := good.Digest()
	head, err := json.Marshal(lastGoodHead{Format: lastGoodFormat, Version: good.Version,
		SHA256: hex.EncodeToString(digest[:]), Origin: good.origin,
		Numbers: good.Numbers, Gone: each(good.gone, keepRoute), Left: each(good.left, keepSource), Written: now.UTC()})
	if err != nil {
		return err
	}
	return durable.Replace(path, bytes.Join([][]byte{[]byte(lastGoodPrefix), head, []byte("\n"), good.Source}, nil),
		0o600)
}

// readLastGood gives the copy at path. fs.ErrNotExist: there was none yet. Other errors: it is damaged or cannot be
// read.
func readLastGood(path string) (lastGood, error) {
	text, err := readLimited(path, maxHead+yamlfile.MaxSource)
	if err != nil {
		return lastGood{}, err
	}
	line, source, found := bytes.Cut(text, []byte("\n"))
	encoded, isHead := bytes.CutPrefix(line, []byte(lastGoodPrefix))
	var head lastGoodHead
	if !found || !isHead || json.Unmarshal(encoded, &head) != nil {
		return lastGood{}, fmt.Errorf("%s: the first line is not that of a last good copy", path)
	}
	if head.Format != lastGoodFormat {
		return lastGood{}, fmt.Errorf("%s: it is of format %d, this version reads %d", path, head.Format,
			lastGoodFormat)
	}
	good := lastGood{Stored{Version: head.Version, Source: source, Numbers: head.Numbers}, head.Origin,
		each(head.Gone, keptRoute.route), each(head.Left, keptSource.source)}
	if digest := good.Digest(); hex.EncodeToString(digest[:]) != head.SHA256 {
		return lastGood{}, fmt.Errorf("%s: the document has another digest than its first line says", path)
	}
	return good, nil
}

// absent tells whether an error of readLastGood means that there is no copy yet.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
