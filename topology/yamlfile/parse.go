package yamlfile

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a file, checked before the parser sees it: it recurses per level and would end the process on deep nesting.
const (
	MaxSource = 1 << 20 // bytes (specified: docs/design.md section 9)
	MaxDepth  = 32      // levels of lists and maps (chosen: the formats here need 7)
	maxIndent = 256     // column of a key or a dash outside of brackets, which bounds the levels of "- - - -"
)

// parse gives the tree, or nil after it noted why there is none.
func (f *File) parse(src []byte) *Node {
	if !f.acceptBytes(src) {
		return nil
	}
	tokens := lexer.Tokenize(string(src))
	if !f.acceptTokens(tokens) {
		return nil
	}
	body, err := parseTokens(tokens)
	if err != nil {
		f.reportSyntax(err)
		return nil
	}
	root := &Node{Line: 1, Column: 1}
	if body != nil {
		root = f.convert(body, "", 0)
	}
	f.places[""] = place{root.Line, root.Column}
	return root
}

func (f *File) acceptBytes(src []byte) bool {
	if len(src) > MaxSource {
		f.reportAt(0, 0, "", "", "the file has %d bytes, the limit is %d", len(src), MaxSource)
		return false
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			line, column := position(src[:i])
			f.reportAt(line, column, "", "plain UTF-8 text", "byte 0x%02x is no text", src[i])
			return false
		}
		i += n
	}
	return true
}

func position(before []byte) (line, column int) {
	line, column = 1, 1
	for _, r := range string(before) {
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

// acceptTokens refuses what the formats do not use, and with it everything that grows when it is read.
func (f *File) acceptTokens(tokens token.Tokens) bool {
	depth, before := 0, len(f.problems)
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
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingValueType:
			if depth == 0 && t.Position.IndentNum > maxIndent {
				f.reportToken(t, "", "indented by more than %d characters", maxIndent)
			}
		}
		if depth > MaxDepth {
			f.reportToken(t, "", "nested deeper than %d levels", MaxDepth)
			return false
		}
	}
	return len(f.problems) == before
}

func (f *File) reportToken(t *token.Token, write, what string, args ...any) {
	f.reportAt(t.Position.Line, t.Position.Column, "", write, what, args...)
}

// parseTokens gives the body of the document. The parser is code of others over bytes of others: a panic in it is a bad
// file, not the end of a router that runs on its last good copy.
func parseTokens(tokens token.Tokens) (body ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the text cannot be parsed: %v", r)
		}
	}()
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil || len(file.Docs) == 0 {
		return nil, err
	}
	return file.Docs[0].Body, nil
}

func (f *File) reportSyntax(err error) {
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		f.reportToken(syntax.GetToken(), "", "no YAML: %s", syntax.GetMessage())
		return
	}
	f.reportAt(0, 0, "", "", "no YAML: %v", err)
}
