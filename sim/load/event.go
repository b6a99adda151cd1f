package load

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"
)

// Event is what a body says of itself.
type Event struct {
	Lane  string // without quotes and backslashes
	Index uint64 // from 1, in order of publishing
	Sent  time.Time
}

// MinSize is the smallest body that has room for every lane name and index.
const MinSize = 200

// Generator makes bodies: JSON events of cloud resources, with random identities, words of a small dictionary and nested
// objects. How well they compress decides what batches gain, so it is fixed by a test: of 1 KiB events gzip -6 leaves
// about 0.6 of one alone and about 0.24 of a hundred together.
//
// A Generator is for one goroutine.
type Generator struct {
	seed   uint64
	size   int
	source *rand.PCG
	random *rand.Rand
}

// NewGenerator makes bodies of exactly size bytes (at least MinSize). Generators with one seed make the same bodies.
func NewGenerator(seed uint64, size int) *Generator {
	if size < MinSize {
		panic(fmt.Sprintf("load: body size %d, want at least %d", size, MinSize))
	}
	source := rand.NewPCG(seed, 0)
	return &Generator{seed: seed, size: size, source: source, random: rand.New(source)}
}

// Append appends the event's body to dst.
func (g *Generator) Append(dst []byte, e Event) []byte {
	return g.append(dst, e, g.size)
}

// Check reads a body and says whether it is, byte for byte, what a Generator of this seed made.
func (g *Generator) Check(body []byte) (e Event, intact bool) {
	e, err := ParseEvent(body)
	if err != nil || len(body) < MinSize {
		return e, false
	}
	return e, bytes.Equal(body, g.append(make([]byte, 0, len(body)), e, len(body)))
}

func (g *Generator) append(dst []byte, e Event, size int) []byte {
	lane := fnv.New64a()
	lane.Write([]byte(e.Lane))
	lane.Write(strconv.AppendInt(nil, e.Sent.UnixNano(), 10)) // or a changed time would make another body, and nobody would know
	g.source.Seed(g.seed^lane.Sum64(), e.Index)

	end := len(dst) + size
	dst = appendHead(dst, e)
	if room := end - len(dst); room > contextSize {
		dst = g.appendContext(dst)
	}
	dst = append(dst, `,"resources":[`...)
	for first := true; end-len(dst) > resourceSize+wordsSize; first = false {
		if !first {
			dst = append(dst, ',')
		}
		dst = g.appendResource(dst)
	}
	dst = append(dst, `],"message":"`...)
	return append(g.appendWords(dst, end-2), `"}`...)
}

// The sizes that decide what still has room: the most that the parts take, and what the words should have for themselves.
const (
	contextSize  = 350
	resourceSize = 450
	wordsSize    = 60
)

func appendHead(dst []byte, e Event) []byte {
	dst = append(append(dst, `{"lane":"`...), e.Lane...)
	dst = strconv.AppendUint(append(dst, `","index":`...), e.Index, 10)
	return strconv.AppendInt(append(dst, `,"sent":`...), e.Sent.UnixNano(), 10)
}

// ParseEvent reads the head of a body. It does not judge the rest.
func ParseEvent(body []byte) (Event, error) {
	rest, ok := bytes.CutPrefix(body, []byte(`{"lane":"`))
	lane, rest, ok1 := bytes.Cut(rest, []byte(`","index":`))
	index, rest, ok2 := bytes.Cut(rest, []byte(`,"sent":`))
	sent, _, ok3 := bytes.Cut(rest, []byte(`,"`))
	if !ok || !ok1 || !ok2 || !ok3 {
		return Event{}, fmt.Errorf("not an event: %.60q", body)
	}
	i, err := strconv.ParseUint(string(index), 10, 64)
	if err != nil {
		return Event{}, fmt.Errorf("event's index: %w", err)
	}
	ns, err := strconv.ParseInt(string(sent), 10, 64)
	if err != nil {
		return Event{}, fmt.Errorf("event's time: %w", err)
	}
	return Event{Lane: string(lane), Index: i, Sent: time.Unix(0, ns)}, nil
}

func (g *Generator) appendContext(dst []byte) []byte {
	dst = g.appendPick(append(dst, `,"type":"`...), eventTypes)
	dst = g.appendHex(append(dst, `","request":"req-`...), 16)
	dst = g.appendHex(append(dst, `","tenant":"`...), 16)
	dst = g.appendHex(append(dst, `","trace":"`...), 16)
	dst = g.appendPick(append(dst, `","region":"`...), regions)
	dst = g.appendPick(append(dst, `","service":"`...), services)
	dst = strconv.AppendInt(append(dst, `","host":"compute-`...), g.random.Int64N(400), 10)
	return append(dst, `","priority":"info","schema":{"name":"cloud.event","version":2}`...)
}

func (g *Generator) appendResource(dst []byte) []byte {
	dst = g.appendHex(append(dst, `{"kind":"instance","id":"`...), 16)
	dst = g.appendHex(append(dst, `","image":"`...), 16)
	dst = g.appendHex(append(dst, `","etag":"`...), 10)
	dst = g.appendPick(append(dst, `","flavor":"`...), flavors)
	dst = g.appendPick(append(dst, `","state":{"current":"`...), states)
	dst = g.appendPick(append(dst, `","previous":"`...), states)
	dst = strconv.AppendInt(append(dst, `"},"usage":{"memory-mb":`...), g.random.Int64N(65536), 10)
	dst = strconv.AppendInt(append(dst, `,"disk-gb":`...), g.random.Int64N(2000), 10)
	dst = strconv.AppendInt(append(dst, `,"cpu-percent":`...), g.random.Int64N(100), 10)
	dst = strconv.AppendInt(append(dst, `},"network":{"address":"10.20.`...), g.random.Int64N(256), 10)
	dst = strconv.AppendInt(append(dst, '.'), g.random.Int64N(256), 10)
	dst = g.appendHex(append(dst, `","mac":"fa163e`...), 3)
	return append(dst, `"}}`...)
}

// appendWords fills up to end with words of the dictionary; the last one is cut.
func (g *Generator) appendWords(dst []byte, end int) []byte {
	for len(dst) < end {
		dst = append(g.appendPick(dst, words), ' ')
	}
	return dst[:end]
}

func (g *Generator) appendPick(dst []byte, from []string) []byte {
	return append(dst, from[g.random.IntN(len(from))]...)
}

func (g *Generator) appendHex(dst []byte, bytes int) []byte {
	const digits = "0123456789abcdef"
	for range bytes {
		b := g.random.Uint32()
		dst = append(dst, digits[b&15], digits[b>>4&15])
	}
	return dst
}
