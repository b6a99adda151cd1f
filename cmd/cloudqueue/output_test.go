package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestSizesAndDurationsAreShort(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1000: "0.98 KiB", 1234: "1.21 KiB", 10 << 20: "10.0 MiB", 400 << 30: "400 GiB", math.MaxUint64: "16.0 EiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 1500 * time.Microsecond: "2ms", 2345 * time.Millisecond: "2.3s", 192 * time.Second: "3m12s",
		-time.Minute: "-1m0s", 25*time.Hour + 59*time.Minute: "1d1h", 5*time.Hour + 4*time.Minute: "5h4m"} {
		if got := durationText(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if got := secondsText(math.Inf(1)); got != "∞" {
		t.Errorf("for ever: %q", got)
	}
}

func TestAParagraphKeepsItsLinesAndNothingElseThatDrivesATerminal(t *testing.T) {
	if got, want := paragraph("2 mistakes:\na: \x1b[31m\nb\n"), "2 mistakes:\n      a: ·[31m\n      b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestYAMLQuotesWhatAnotherReaderCouldTakeForSomethingElse(t *testing.T) {
	value := map[string]any{"a": []any{"no", "ok", "1e3", "", "- x", "a: b", "ams/orders", "tab\t", "~", "Null", "ü"}, "b": map[string]any{}, "c": []any{}, "d": nil,
		"e": []any{map[string]any{"x": 1, "y": []any{[]any{true, "<"}}}}, "off": 1.5}
	var out strings.Builder
	if err := writeYAML(&out, value); err != nil {
		t.Fatal(err)
	}
	golden(t, "yaml", out.String())
}

func TestABodyIsShownOnlyWhenItIsText(t *testing.T) {
	for body, want := range map[string]bool{"plain": true, "two\nlines\t": true, "ümläut": true, "cut at the end \xc3": true, "\x1b[2J": false, "\x00": false, "bad \xff byte": false, "c1 \u009b": false} {
		if got := isText([]byte(body)); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}
