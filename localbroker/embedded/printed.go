package embedded

import "fmt"

// typeName is RabbitMQ's name of the field type, for reply texts.
func (v value) typeName() string {
	switch v.kind() {
	case 't':
		return "bool"
	case 'b':
		return "byte"
	case 'B':
		return "unsignedbyte"
	case 's':
		return "short"
	case 'u':
		return "unsignedshort"
	case 'I':
		return "signedint"
	case 'i':
		return "unsignedint"
	case 'l', 'L':
		return "long"
	case 'f':
		return "float"
	case 'd':
		return "double"
	case 'D':
		return "decimal"
	case 'S':
		return "longstr"
	case 'x':
		return "binary"
	case 'T':
		return "timestamp"
	case 'A':
		return "array"
	case 'F':
		return "table"
	}
	return "void"
}

// printed shows the value in a reply text.
func (v value) printed() string {
	if text, ok := v.text(); ok {
		return text
	}
	if n, ok := v.integer(); ok {
		return fmt.Sprint(n)
	}
	if b, ok := v.boolean(); ok {
		return fmt.Sprint(b)
	}
	return "…"
}
