package yamlfile

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxScalar bounds a single value in bytes: nothing in these formats is longer than a path of the file system.
const maxScalar = 4096

// convert makes our tree of the parser's.
func (f *File) convert(in ast.Node, path string, depth int) *Node {
	n := newNode(in, path)
	f.places[path] = place{n.Line, n.Column}
	if depth > MaxDepth {
		f.reportNode(n, "", "nested deeper than %d levels", MaxDepth)
		return n
	}
	switch in := in.(type) {
	case *ast.MappingNode:
		if text, ok := textWithColon(in); ok {
			n.Text = text
			break
		}
		f.convertPairs(n, in.Values, depth)
	case *ast.MappingValueNode:
		if text, ok := textWithColon(in); ok {
			n.Text = text
			break
		}
		f.convertPairs(n, []*ast.MappingValueNode{in}, depth)
	case *ast.SequenceNode:
		n.Kind = List
		for i, item := range in.Values {
			n.Items = append(n.Items, f.convert(item, n.itemPath(i), depth+1))
		}
	case *ast.NullNode:
		n.Kind = Null
	case *ast.LiteralNode:
		n.Text, n.Quoted = in.Value.Value, true
	case ast.ScalarNode:
		n.Text, n.Quoted = scalarText(in.GetToken())
	default:
		f.reportNode(n, "a value, a list or a map", "this kind of YAML is not part of this format")
	}
	if len(n.Text) > maxScalar {
		f.reportNode(n, "", "the value has %d bytes, the limit is %d", len(n.Text), maxScalar)
	}
	return n
}

func newNode(in ast.Node, path string) *Node {
	t := in.GetToken()
	switch in := in.(type) {
	case *ast.MappingNode:
		if !in.IsFlowStyle && len(in.Values) > 0 {
			t = in.Values[0].Key.GetToken() // the node's own token is the first ':'
		}
	case *ast.MappingValueNode:
		t = in.Key.GetToken()
	}
	return &Node{Kind: Scalar, Line: t.Position.Line, Column: t.Position.Column, Path: path}
}

// textWithColon mends how the parser reads {listen: [ams.example.net:7443]}: it takes the text for a map with the key
// ams.example.net. In YAML a colon without a space behind it is a part of the text (1.2.2 section 7.3.3).
func textWithColon(in ast.Node) (string, bool) {
	if m, ok := in.(*ast.MappingNode); ok && len(m.Values) == 1 && m.Start.Type != token.MappingStartType {
		in = m.Values[0]
	}
	pair, ok := in.(*ast.MappingValueNode)
	if !ok || pair.Value == nil {
		return "", false
	}
	key, colon, value := pair.Key.GetToken(), pair.Start, pair.Value.GetToken()
	if !plain(key) || !plain(value) || value.Position.Line != colon.Position.Line ||
		value.Position.Column != colon.Position.Column+1 {
		return "", false
	}
	return key.Value + ":" + value.Value, true
}

func plain(t *token.Token) bool {
	switch t.Type {
	case token.StringType, token.IntegerType, token.FloatType, token.BoolType, token.OctetIntegerType,
		token.HexIntegerType, token.BinaryIntegerType:
		return true
	}
	return false
}

func scalarText(t *token.Token) (text string, quoted bool) {
	return t.Value, t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
}

func (f *File) convertPairs(n *Node, values []*ast.MappingValueNode, depth int) {
	n.Kind = Map
	first := make(map[string]int, len(values))
	for _, v := range values {
		t := v.Key.GetToken()
		key := t.Value
		if line, repeated := first[key]; repeated {
			f.reportAt(t.Position.Line, t.Position.Column, n.childPath(key), "it once",
				"the key %q stands here twice, first in line %d", key, line)
			continue
		}
		first[key] = t.Position.Line
		f.keys[n.childPath(key)] = place{t.Position.Line, t.Position.Column}
		value := f.convert(v.Value, n.childPath(key), depth+1)
		if value.Kind == Null { // an absent value has no place of its own
			value.Line, value.Column = t.Position.Line, t.Position.Column
			f.places[value.Path] = place{value.Line, value.Column}
		}
		n.Pairs = append(n.Pairs, Pair{Key: key, Line: t.Position.Line, Column: t.Position.Column, Value: value})
	}
}
