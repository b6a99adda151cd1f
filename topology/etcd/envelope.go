package etcd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"cloudqueue/topology"
	"cloudqueue/topology/yamlfile"
)

// A value is one line of JSON and, behind its line feed, a gzip member:
//
//	{"format":1,"version":7,"sha256":"…","applied":"…","author":"…","comment":"…","numbers-length":812}\n
//	gzip( numbers as JSON (numbers-length bytes) | document )
//
//	field           type            meaning
//	format          1               another number: ErrFormat, the reader holds what it has
//	version         integer >= 1    topology.Stored.Version
//	sha256          64 hex digits   of the document's bytes
//	applied         RFC 3339        when
//	author, comment text            who and why, for people, at most 1 KiB each
//	numbers-length  integer         bytes of topology.Numbers before the document, at most 8 MiB
//
// A reader refuses a first line over maxHead, a document over 1 MiB, whatever the compressed bytes claim, and one with
// another digest. Unknown fields of the line are ignored. gzip and not zstd: the one importer of that is package
// federation, whose coders are made for batches; a topology is read once in a while, and `etcdctl get
// --print-value-only … | tail -n +2 | gunzip` shows it.
type head struct {
	Format        int       `json:"format"`
	Version       uint64    `json:"version"`
	SHA256        string    `json:"sha256"`
	Applied       time.Time `json:"applied"`
	Author        string    `json:"author,omitempty"`
	Comment       string    `json:"comment,omitempty"`
	NumbersLength int       `json:"numbers-length"`
}

const (
	format     = 1
	maxHead    = 8 << 10 // bytes
	maxText    = 1 << 10 // bytes of author and comment
	maxNumbers = 8 << 20 // bytes
	// maxValue bounds an encoded value: a transaction writes it twice and etcd takes requests up to 1.5 MiB
	// (measured: 1,500 KiB taken, 1,600 KiB refused).
	maxValue = 700 << 10
)

// Errors of values.
var (
	ErrFormat   = errors.New("written by a later version")
	ErrDamaged  = errors.New("damaged value in etcd")
	ErrTooLarge = errors.New("the topology is too large for etcd")
)

// encode gives the value of a document. ErrTooLarge: it does not fit.
func encode(s topology.Stored) ([]byte, error) {
	numbers, err := json.Marshal(s.Numbers)
	if err != nil {
		return nil, err
	}
	digest := s.Digest()
	line, err := json.Marshal(head{format, s.Version, hex.EncodeToString(digest[:]), s.Applied.UTC(), cut(s.Author),
		cut(s.Comment), len(numbers)})
	if err != nil {
		return nil, err
	}
	var value bytes.Buffer
	value.Write(line)
	value.WriteByte('\n')
	zipped := gzip.NewWriter(&value)
	_, err = zipped.Write(append(numbers, s.Source...))
	if err = errors.Join(err, zipped.Close()); err != nil {
		return nil, err
	}
	if value.Len() > maxValue {
		return nil, fmt.Errorf("%w: %d bytes compressed, the limit is %d", ErrTooLarge, value.Len(), maxValue)
	}
	return value.Bytes(), nil
}

// cut shortens a text at the end of a character.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// decode reads a value. Errors: ErrFormat, ErrDamaged.
func decode(value []byte) (topology.Stored, error) {
	line, zipped, found := bytes.Cut(value, []byte("\n"))
	var h head
	if !found || len(line) > maxHead || json.Unmarshal(line, &h) != nil {
		return topology.Stored{}, fmt.Errorf("%w: the first line is not that of a topology", ErrDamaged)
	}
	if h.Format != format {
		return topology.Stored{}, fmt.Errorf("%w: format %d", ErrFormat, h.Format)
	}
	if h.NumbersLength < 0 || h.NumbersLength > maxNumbers {
		return topology.Stored{}, fmt.Errorf("%w: %d bytes of numbers", ErrDamaged, h.NumbersLength)
	}
	numbers, source, err := unzip(zipped, h.NumbersLength)
	if err != nil {
		return topology.Stored{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return h.stored(numbers, source)
}

// unzip takes no more out of the compressed bytes than the limits allow.
func unzip(zipped []byte, numbersLength int) (numbers, source []byte, err error) {
	reader, err := gzip.NewReader(bufio.NewReader(bytes.NewReader(zipped)))
	if err != nil {
		return nil, nil, err
	}
	limit := int64(numbersLength + yamlfile.MaxSource)
	all, err := io.ReadAll(io.LimitReader(reader, limit+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(all)) > limit || len(all) < numbersLength:
		return nil, nil, fmt.Errorf("%d bytes or more, from %d to %d expected", len(all), numbersLength, limit)
	}
	return all[:numbersLength], all[numbersLength:], nil
}

func (h head) stored(numbers, source []byte) (topology.Stored, error) {
	s := topology.Stored{Version: h.Version, Source: source, Author: h.Author, Comment: h.Comment, Applied: h.Applied}
	if err := json.Unmarshal(numbers, &s.Numbers); err != nil {
		return topology.Stored{}, fmt.Errorf("%w: numbers: %w", ErrDamaged, err)
	}
	if digest := s.Digest(); hex.EncodeToString(digest[:]) != h.SHA256 || h.Version == 0 {
		return topology.Stored{}, fmt.Errorf("%w: version %d has another digest than its first line says", ErrDamaged,
			h.Version)
	}
	return s, nil
}
