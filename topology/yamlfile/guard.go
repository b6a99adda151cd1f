package yamlfile

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Limits that are checked on the tokens, before the parser sees them: it recurses per level and per key of a map,
// copies a map for every key, and would end the process on what grows.
const (
	MaxDepth = 32     // levels of lists and maps (chosen: the formats here need 7)
	MaxKeys  = 10_000 // keys of one map (measured: 65,536 take 7 s and 10,000 take 0.2 s, TestHostileFiles…)
	// column of a dash, which bounds the levels of "- - - -"; keys need a line for each level, so MaxSource bounds them
	// to 1,448
	maxDash = 256
)

// acceptTokens refuses what the formats do not use, and with it everything that grows when it is read.
func (f *File) acceptTokens(tokens token.Tokens) bool {
	before := len(f.problems)
	var shape shape
	for i, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			f.reportToken(t, "the value out in full", "anchors, aliases and merge keys are not part of this format")
		case token.TagType, token.DirectiveType, token.MappingKeyType:
			f.reportToken(t, "key: value", "tags, directives and '?' keys are not part of this format")
		case token.DocumentHeaderType, token.DocumentEndType:
			if i > 0 {
				f.reportToken(t, "one document a file", "a second document begins here")
			}
		}
		if what := shape.add(t); what != "" {
			f.reportToken(t, "", "%s", what)
			return false
		}
		if len(f.problems)-before >= maxProblems {
			return false
		}
	}
	return len(f.problems) == before
}

// maxProblems ends a file that is full of what the formats do not use.
const maxProblems = 100

// shape follows the nesting of maps and lists.
type shape struct {
	flow  []int   // keys of each open bracket
	block []block // open block maps, the innermost last
}

// block is a map that is written by indentation.
type block struct{ column, keys int }

// add gives what is wrong with the shape once a token is there, or "".
func (s *shape) add(t *token.Token) string {
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		s.flow = append(s.flow, 0)
	case token.SequenceEndType, token.MappingEndType:
		s.flow = s.flow[:max(0, len(s.flow)-1)]
	case token.SequenceEntryType:
		s.closeBlocks(t.Position.Column)
	case token.MappingValueType:
		if s.addKey(t) > MaxKeys {
			return fmt.Sprintf("a map with more than %d keys", MaxKeys)
		}
	}
	if len(s.flow) > MaxDepth || t.Type == token.SequenceEntryType && t.Position.Column > maxDash {
		return fmt.Sprintf("nested deeper than %d levels", MaxDepth)
	}
	return ""
}

// addKey counts a key in its map and gives how many that has.
func (s *shape) addKey(colon *token.Token) int {
	if n := len(s.flow); n > 0 {
		s.flow[n-1]++
		return s.flow[n-1]
	}
	key := colon
	if colon.Prev != nil {
		key = colon.Prev
	}
	column := key.Position.Column
	s.closeBlocks(column)
	if n := len(s.block); n == 0 || s.block[n-1].column < column {
		s.block = append(s.block, block{column: column})
	}
	last := &s.block[len(s.block)-1]
	last.keys++
	return last.keys
}

// closeBlocks forgets the maps that end where something stands further left.
func (s *shape) closeBlocks(column int) {
	for len(s.block) > 0 && s.block[len(s.block)-1].column > column {
		s.block = s.block[:len(s.block)-1]
	}
}

func (f *File) reportToken(t *token.Token, write, what string, args ...any) {
	f.reportAt(t.Position.Line, t.Position.Column, "", write, what, args...)
}
