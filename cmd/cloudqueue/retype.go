package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"
)

// ourCommand finds commands in a text that depend on which router is meant. The second group are those that ask the
// router itself.
var ourCommand = regexp.MustCompile(`cloudqueue (router|doctor|spool (?:init|ls|cat|reseal|new-id)|topology (?:plan|apply|show)|(status|books|parking (?:list|show|redrive|drop)|spool void))\b`)

// elsewhere finds, in the words before a command, that it is to be typed at another site.
var elsewhere = regexp.MustCompile(`\b(peer|origin|destination|run there)\b[^;.\n]*$`)

// retyped gives the commands of a text that says what to do the --config or --socket that this call was given: they are
// to be typed for the same router. It goes line by line: whose a command is stands in its own line, and the text may be
// of a thousand lanes.
func (a *app) retyped(text string) string {
	if a.given == (givenFlags{}) {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		a.given.retype(&out, line)
	}
	return out.String()
}

func (g givenFlags) retype(out *strings.Builder, line string) {
	done := 0
	for _, at := range ourCommand.FindAllStringSubmatchIndex(line, -1) {
		asksRouter := at[4] >= 0
		out.WriteString(line[done:at[1]])
		if done = at[1]; sameSite(line[:at[0]], line[at[0]:done], line[done:]) {
			out.WriteString(g.words(asksRouter))
		}
	}
	out.WriteString(line[done:])
}

// sameSite tells whether a command is meant for the router of this call.
func sameSite(before, command, after string) bool {
	switch words, _, _ := strings.Cut(after, ";"); {
	case elsewhere.MatchString(before), strings.HasPrefix(after, " at "): // at another site
		return false
	case strings.HasPrefix(after, " --config "): // it says whose it is
		return false
	case strings.HasSuffix(command, " init"): // also of a store that is named: the router's site is written into it
		return true
	default:
		return !strings.Contains(words, "file://") // a store that is named is no router's
	}
}

// givenFlags are the flags of this call that name a router; empty ones were not given.
type givenFlags struct{ config, socket string }

func (g givenFlags) words(asksRouter bool) (words string) {
	if g.config != "" {
		words += " --config " + quoted(g.config)
	}
	if g.socket != "" && asksRouter {
		words += " --socket " + quoted(g.socket)
	}
	return words
}

var plainWord = regexp.MustCompile(`^[\pL\pN_./:@%+=-]+$`)

// quoted writes a word as a shell takes it.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// printFixes is print for what says what to type.
func (a *app) printFixes(v any, show func(w io.Writer)) error {
	return a.print(v, func(w io.Writer) {
		var text bytes.Buffer
		show(&text)
		_, _ = io.WriteString(w, a.retyped(text.String())) // as every line that print's callers write
	})
}
