package yamlfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cloudqueue/topology/yamlfile"
	"github.com/google/go-cmp/cmp"
)

type settings struct {
	Name    string             `yaml:"name"`
	Listen  []string           `yaml:"listen"`
	Labels  map[string]string  `yaml:"labels"`
	Quota   yamlfile.Size      `yaml:"quota"`
	Rate    yamlfile.Bandwidth `yaml:"rate"`
	Wait    time.Duration      `yaml:"wait"`
	Big     bool               `yaml:"big"`
	Count   int                `yaml:"count"`
	Maybe   *int               `yaml:"maybe"`
	Nested  nested             `yaml:"nested-part"`
	Many    map[string]nested  `yaml:"many"`
	Cluster yamlfile.Later     `yaml:"cluster" later:"one name"`
	Secret  string             `yaml:"password"`
}

type nested struct {
	Value string `yaml:"value"`
}

func TestDecodeReadsEveryKindOfValue(t *testing.T) {
	src := `
name: 'ams'            # quotes of both kinds
listen: [10.0.0.1:7443, "[::1]:7443", host.example:1]
labels: {a: x:y, "b.c": "1"}
quota: 1.5GiB
rate: 400Mbit
wait: 90s
big: true
count: -4
maybe: 0
nested-part: {value: |-}
many:
  one:
    value: >-
      two
      words
  none:
password: env:BROKER
`
	src = strings.Replace(src, "{value: |-}", "\n  value: true", 1)

	var got settings
	err := yamlfile.Decode("f.yaml", []byte(src), &got).Err()

	want := settings{
		Name: "ams", Listen: []string{"10.0.0.1:7443", "[::1]:7443", "host.example:1"}, Labels: map[string]string{"a": "x:y", "b.c": "1"},
		Quota: 3 << 29, Rate: 400e6, Wait: 90 * time.Second, Big: true, Count: -4, Maybe: new(int), Nested: nested{"true"},
		Many: map[string]nested{"one": {"two words"}, "none": {}}, Secret: "env:BROKER",
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded values (-want +got):\n%s", diff)
	}
}

func TestDecodeTellsEveryMistakeWithItsPlace(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"unknown key", "nam: x", `f:1:1: nam: unknown key "nam"; write name`},
		{"unknown key in camel case", "nestedPart: {}", `f:1:1: nestedPart: unknown key "nestedPart"; write nested-part`},
		{"unknown key far from all", "zzzzzzzz: 1", `f:1:1: zzzzzzzz: unknown key "zzzzzzzz"; write one of name, listen, labels, quota, rate, wait, big, count, maybe, nested-part, many, password`},
		{"unknown key below", "nested-part:\n  vlaue: 1", `f:2:3: nested-part.vlaue: unknown key "vlaue"; write value`},
		{"repeated key", "name: a\nname: b", `f:2:1: name: the key "name" stands here twice, first in line 1; write it once`},
		{"list for a value", "name: [a]", `f:1:7: name: a single value is wanted here, there is a list; write one value`},
		{"value for a list", "listen: a", `f:1:9: listen: a list is wanted here, there is a single value; write [a]`},
		{"value for a map", "labels: a", `f:1:9: labels: a map of keys is wanted here, there is a single value; write {key: value}`},
		{"value for keys", "nested-part: 1", `f:1:14: nested-part: a map of keys is wanted here, there is a single value; write {value: …}`},
		{"no value", "name:", `f:1:1: name: a single value is wanted here, there is nothing; write one value`},
		{"no unit", "quota: 12", `f:1:8: quota: the size "12" has no unit; write 64MiB or 500GB`},
		{"unit in the wrong case", "quota: 12gib", `f:1:8: quota: "gib" is not a unit of a size; write 12GiB`},
		{"no such unit", "wait: 3 fortnights", `f:1:7: wait: "fortnights" is not a unit of a duration; write a unit of ms, s, m, h, d, w`},
		{"no number", "rate: fast", `f:1:7: rate: "fast" is not a bandwidth; write 400Mbit or 10Gbit (bits per second)`},
		{"too large", "wait: 99999999999d", `f:1:7: wait: the duration "99999999999d" is too large; write 30s, 6h or 500ms`},
		{"negative", "wait: -1s", `f:1:7: wait: "-1s" is not a duration; write 30s, 6h or 500ms`},
		{"no bool", "big: yes", `f:1:6: big: "yes" is neither true nor false; write true or false`},
		{"no int", "count: many", `f:1:8: count: "many" is not a whole number; write a number such as 4`},
		{"a later version's", "cluster: x", `f:1:1: cluster: cluster comes with a later version; write one name`},
		{"a password", "password: hunter2", `f:1:11: password: a secret does not belong in this file; write file:/path or env:NAME where this file knows the key`},
		{"a URL with a password", "name: amqp://u:hunter2@h/", `f:1:7: name: a URL with a password does not belong in this file; write the URL without user and password, and the password as file:/path or env:NAME`},
		{"a broken URL with a password", "name: 'amqp://u:hunter2@h:x%zz'", `f:1:7: name: a URL with a password does not belong in this file; write the URL without user and password, and the password as file:/path or env:NAME`},
		{"a key", "name: |\n  -----BEGIN PRIVATE KEY-----\n", `f:1:7: name: key material does not belong in this file; write the path of a file`},
		{"an anchor", "name: &a x", `f:1:7: anchors, aliases and merge keys are not part of this format; write the value out in full`},
		{"a tag", "name: !!str x", `f:1:7: tags, directives and '?' keys are not part of this format; write key: value`},
		{"two documents", "name: a\n---\nname: b", `f:2:1: a second document begins here; write one document a file`},
		{"no text", "name: \xff", `f:1:7: byte 0xff is not text; write plain UTF-8 text`},
		{"a zero byte", "name: a\nbig: \x00", `f:2:6: byte 0x00 is not text; write plain UTF-8 text`},
		{"an open bracket", "listen: [a, b", `f:1:9: no YAML: sequence end token ']' not found; write key: value, indented with spaces, and the end of every bracket and quote`},
		{"a tab as indent", "nested-part:\n\tvalue: 1", `f:2:1: no YAML: found character '\t' that cannot start any token; write key: value, indented with spaces, and the end of every bracket and quote`},
		{"no map", "just words", `f:1:1: a map of keys is wanted here, there is a single value; write {name: …}`},
		{"too deep", "listen: " + strings.Repeat("[", 40), `f:1:41: nested deeper than 32 levels`},
		{"a long value", "name: " + strings.Repeat("x", 5000), `f:1:7: name: the value has 5000 bytes, the limit is 4096`},
		{"several", "nam: x\nquota: 1\nbig: 2", "f:1:1: nam: unknown key \"nam\"; write name\n" +
			"f:2:8: quota: the size \"1\" has no unit; write 64MiB or 500GB\nf:3:6: big: \"2\" is neither true nor false; write true or false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dst settings
			err := yamlfile.Decode("f", []byte(c.src), &dst).Err()

			if err == nil {
				t.Fatalf("no error, want\n%s", c.want)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the secret is repeated")
			}
		})
	}
}

func TestReportStandsAtTheNearestPartThatIsThere(t *testing.T) {
	var dst settings
	f := yamlfile.Decode("f", []byte("count: 1\nmany:\n  one: {}\n"), &dst)

	f.Report("many.one.value", "value: x", "the value is missing")
	f.Report("many.one.value", "", "a second problem of one value")
	f.Report("nowhere[3].deep", "", "not there at all")

	want := yamlfile.Problems{
		{File: "f", Line: 1, Column: 1, Path: "nowhere[3].deep", What: "not there at all"},
		{File: "f", Line: 3, Column: 3, Path: "many.one.value", What: "the value is missing", Write: "value: x"},
	}
	var got yamlfile.Problems
	if !errors.As(f.Err(), &got) {
		t.Fatalf("error %v is no Problems", f.Err())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestUnitsPrintWhatTheyRead(t *testing.T) {
	for text, want := range map[string]yamlfile.Size{"1B": 1, "64MiB": 64 << 20, "1500B": 1500, "3PiB": 3 << 50} {
		var s yamlfile.Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text {
			t.Errorf("size %s: got %d %q %v, want %d", text, s, s, err, want)
		}
	}
	for text, want := range map[string]yamlfile.Bandwidth{"9bit": 9, "400Mbit": 400e6, "10Gbit": 10e9} {
		var b yamlfile.Bandwidth
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want || b.String() != text {
			t.Errorf("bandwidth %s: got %d %q %v, want %d", text, b, b, err, want)
		}
	}
}

func FuzzDecodeNeverPanicsAndPlacesEveryProblem(f *testing.F) {
	for _, src := range []string{"name: a\nlisten: [a:1]\nmany: {x: {value: 1}}", "- a\n- b: {c: d}", "a: |\n  x\n", "{a: [b, {c: d}], e: 'f'}", "# c\n", "a: \"\\x41\"", "? a\n: b", "- - - a\n", "[a:b:c, d: e]"} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var dst settings
		err := yamlfile.Decode("f", src, &dst).Err()

		var problems yamlfile.Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("error %T is no Problems", err)
		}
		for _, p := range problems {
			if p.What == "" || p.Line < 0 || p.Line > 1+strings.Count(string(src), "\n")+strings.Count(string(src), "\r") {
				t.Errorf("problem without a place: %+v", p)
			}
		}
	})
}
