package yamlfile

import (
	"encoding"
	"reflect"
	"strconv"
	"time"
)

// Decoder is a type that reads a value of more than one shape by itself.
type Decoder interface {
	// DecodeNode takes what it can from n and reports the rest to f.
	DecodeNode(n *Node, f *File)
}

// Mistake is an error of UnmarshalText that also says what to write.
type Mistake struct{ What, Write string }

func (m *Mistake) Error() string { return m.What + "; write " + m.Write }

// Later is the type of a field that the format has and this version does not carry out: using it is reported. The
// field's tag `later` says what to write instead.
type Later struct{}

// Into reads a node into what dst points to; for a Decoder that has found out which shape it has.
func (f *File) Into(n *Node, dst any) { f.decode(n, reflect.ValueOf(dst).Elem()) }

var durationType = reflect.TypeFor[time.Duration]()

func (f *File) decode(n *Node, dst reflect.Value) {
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		f.decode(n, dst.Elem())
		return
	}
	if own, ok := dst.Addr().Interface().(Decoder); ok {
		own.DecodeNode(n, f)
		return
	}
	if text, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
		f.decodeText(n, text)
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		f.decodeStruct(n, dst)
	case reflect.Map:
		f.decodeMap(n, dst)
	case reflect.Slice:
		f.decodeList(n, dst)
	default:
		f.decodeScalar(n, dst)
	}
}

func (f *File) decodeText(n *Node, dst encoding.TextUnmarshaler) {
	if !f.want(n, Scalar, "one value") {
		return
	}
	err := dst.UnmarshalText([]byte(n.Text))
	if m, ok := err.(*Mistake); ok {
		f.reportNode(n, m.Write, "%s", m.What)
	} else if err != nil {
		f.reportNode(n, "", "%v", err)
	}
}

// want reports a node of another kind.
func (f *File) want(n *Node, kind Kind, write string) bool {
	if n.Kind == kind {
		return true
	}
	f.reportNode(n, write, "%s is wanted here, there is %s", kind, n.Kind)
	return false
}

func (f *File) decodeList(n *Node, dst reflect.Value) {
	if !f.want(n, List, asList(n)) {
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		f.decode(item, dst.Index(i))
	}
}

// asList shows a single value as the list that was meant.
func asList(n *Node) string {
	switch {
	case n.Kind != Scalar || len(n.Text) > 64:
		return "[first, second]"
	case n.Quoted:
		return "[" + strconv.Quote(n.Text) + "]"
	}
	return "[" + n.Text + "]"
}

func (f *File) decodeMap(n *Node, dst reflect.Value) {
	if n.Kind == Null {
		return
	}
	if !f.want(n, Map, "{key: value}") {
		return
	}
	dst.Set(reflect.MakeMapWithSize(dst.Type(), len(n.Pairs)))
	for _, p := range n.Pairs {
		value := reflect.New(dst.Type().Elem()).Elem()
		f.decode(p.Value, value)
		dst.SetMapIndex(reflect.ValueOf(p.Key).Convert(dst.Type().Key()), value)
	}
}

func (f *File) decodeScalar(n *Node, dst reflect.Value) {
	if !f.want(n, Scalar, "one value") {
		return
	}
	switch dst.Kind() {
	case reflect.String:
		dst.SetString(n.Text)
	case reflect.Bool:
		f.decodeBool(n, dst)
	case reflect.Int, reflect.Int64:
		f.decodeInt(n, dst)
	default:
		panic("yamlfile: no way to read a " + dst.Type().String())
	}
}

func (f *File) decodeBool(n *Node, dst reflect.Value) {
	if n.Quoted || n.Text != "true" && n.Text != "false" {
		f.reportNode(n, "true or false", "%q is neither true nor false", n.Text)
		return
	}
	dst.SetBool(n.Text == "true")
}

func (f *File) decodeInt(n *Node, dst reflect.Value) {
	if dst.Type() == durationType {
		f.decodeText(n, (*duration)(dst.Addr().Interface().(*time.Duration)))
		return
	}
	value, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil || dst.OverflowInt(value) {
		f.reportNode(n, "a number such as 4", "%q is not a whole number", n.Text)
		return
	}
	dst.SetInt(value)
}
