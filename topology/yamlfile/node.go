package yamlfile

import "fmt"

// Kind tells what a Node is.
type Kind uint8

// Kinds of nodes.
const (
	Null   Kind = iota // nothing stands there, or ~ or null
	Scalar             // a text, a number, a duration …: everything that is no list and no map
	List
	Map
)

var kindNames = [...]string{"nothing", "a single value", "a list", "a map of keys"}

func (k Kind) String() string { return kindNames[k] }

// Node is a value of the file.
type Node struct {
	Kind   Kind
	Line   int // from 1
	Column int // from 1, in characters
	Path   string
	Text   string  // of a Scalar, without quotes
	Quoted bool    // Text stood in quotes or in a block
	Items  []*Node // of a List
	Pairs  []Pair  // of a Map, in the order of the file, without repeated keys
}

// Pair is a key of a Map with its value.
type Pair struct {
	Key          string
	Line, Column int // of the key
	Value        *Node
}

func (n *Node) childPath(key string) string {
	if n.Path == "" {
		return key
	}
	return n.Path + "." + key
}

func (n *Node) itemPath(i int) string { return fmt.Sprintf("%s[%d]", n.Path, i) }

// Has tells whether a Map has a key.
func (n *Node) Has(key string) bool {
	for _, p := range n.Pairs {
		if p.Key == key {
			return true
		}
	}
	return false
}
