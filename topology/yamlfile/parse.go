package yamlfile

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSource is the largest file in bytes (specified: docs/design.md section 9).
const MaxSource = 1 << 20

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
			f.reportAt(line, column, "", "plain UTF-8 text", "byte 0x%02x is not text", src[i])
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

// writeYAML names what the parser's own words leave open: they speak of tokens.
const writeYAML = "key: value, indented with spaces, and the end of every bracket and quote"

func (f *File) reportSyntax(err error) {
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		f.reportToken(syntax.GetToken(), writeYAML, "no YAML: %s", strings.ReplaceAll(syntax.GetMessage(), "\t", `\t`))
		return
	}
	f.reportAt(0, 0, "", writeYAML, "no YAML: %v", err)
}
