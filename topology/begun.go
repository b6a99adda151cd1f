package topology

import (
	"encoding/json"
	"fmt"
	"os"

	"cloudqueue/durable"
	"cloudqueue/federation"
)

// Between the first binding for a document and its last good copy a router may crash, and the document be edited before
// the next start: the copy on disk knows nothing of these bindings then. So they are written down first, in a file
// beside the copy that is removed when the copy follows: JSON,
//
//	{"format":1,"bindings":[…]}
//
//	field     type              meaning
//	format    integer           begunFormat; another one is not read
//	bindings  list of objects   keptSource each: what the router's own queues may be bound by, oldest first; bounded as Snapshot.Left is
//
// A reader refuses a file that is no such JSON or over maxHead bytes, tells it, and goes on without; unknown fields are
// ignored. testdata/begun-1.json is one of format 1.
type begunFile struct {
	Format   int          `json:"format"`
	Bindings []keptSource `json:"bindings"`
}

const begunFormat = 1

func begunPath(lastGood string) string { return lastGood + ".begun" }

// writeBegun replaces the file, durably.
func writeBegun(lastGood string, bindings []federation.Source) error {
	text, err := json.Marshal(begunFile{begunFormat, each(bindings, keepSource)})
	if err != nil {
		return err
	}
	return durable.Replace(begunPath(lastGood), append(text, '\n'), 0o600)
}

// readBegun gives fs.ErrNotExist when nothing was begun that the copy does not follow.
func readBegun(lastGood string) ([]federation.Source, error) {
	path := begunPath(lastGood)
	text, err := readLimited(path, maxHead)
	if err != nil {
		return nil, err
	}
	var begun begunFile
	if err := json.Unmarshal(text, &begun); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if begun.Format != begunFormat {
		return nil, fmt.Errorf("%s: it is of format %d, this version reads %d", path, begun.Format, begunFormat)
	}
	return each(begun.Bindings, keptSource.source), nil
}

// endBegun removes the file. One that stays costs a comparison at the next start, no more.
func endBegun(lastGood string) { _ = os.Remove(begunPath(lastGood)) }
