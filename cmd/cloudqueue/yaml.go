package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// writeYAML writes v with the keys and the order of its JSON. Texts that another reader could take for something else
// stand in JSON's quotes, which YAML understands (YAML 1.2, section 7.3.1).
func writeYAML(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	out := bufio.NewWriter(w)
	y := yamlWriter{decoder, out}
	if err := y.value("", ""); err != nil {
		return err
	}
	return out.Flush()
}

type yamlWriter struct {
	in  *json.Decoder
	out *bufio.Writer
}

// value copies one value: a scalar behind lead, a list or an object on the lines below it, indented.
func (y yamlWriter) value(indent, lead string) error {
	token, err := y.in.Token()
	if err != nil {
		return err
	}
	delimiter, nested := token.(json.Delim)
	switch {
	case !nested:
		_, err = fmt.Fprintf(y.out, "%s%s\n", lead, yamlScalar(token))
		return err
	case !y.in.More():
		_, err = fmt.Fprintf(y.out, "%s%s\n", lead, map[json.Delim]string{'{': "{}", '[': "[]"}[delimiter])
	case delimiter == '{':
		err = y.object(indent, lead)
	default:
		err = y.list(indent, lead)
	}
	_, end := y.in.Token()
	return errors.Join(err, end)
}

// object writes "key: value" lines; the first one stands behind the dash of a list's item.
func (y yamlWriter) object(indent, lead string) error {
	first := strings.HasSuffix(lead, "- ")
	if lead = strings.TrimSuffix(lead, " "); !first && lead != "" {
		fmt.Fprintln(y.out, lead)
	}
	for y.in.More() {
		key, err := y.in.Token()
		if err != nil {
			return err
		}
		y.out.WriteString(map[bool]string{true: lead + " ", false: indent}[first])
		first = false
		if err := y.value(indent+"  ", yamlScalar(key)+": "); err != nil {
			return err
		}
	}
	return nil
}

func (y yamlWriter) list(indent, lead string) error {
	if lead = strings.TrimSuffix(lead, " "); lead != "" {
		fmt.Fprintln(y.out, lead)
	}
	for y.in.More() {
		if err := y.value(indent+"  ", indent+"- "); err != nil {
			return err
		}
	}
	return nil
}

// plainText is what every reader of YAML takes for a text as it stands; reserved are the words among it that are not.
var (
	plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)
	reserved  = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

func yamlScalar(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case string:
		if plainText.MatchString(v) && !reserved.MatchString(v) {
			return v
		}
		var quoted bytes.Buffer
		encoder := json.NewEncoder(&quoted)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(v) // a text and a buffer: nothing can fail
		return strings.TrimSuffix(quoted.String(), "\n")
	}
	panic(fmt.Sprintf("a JSON token of type %T", token))
}
