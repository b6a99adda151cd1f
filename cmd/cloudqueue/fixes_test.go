package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cloudqueue/router/admin"
)

// TestEveryCommandInTheSourcesAndTheDocsCanBeTyped parses what errors, status, doctor, help and docs tell people to type, as the
// program would: a command that does not exist, a flag that it does not have or an argument too many fails here.
func TestEveryCommandInTheSourcesAndTheDocsCanBeTyped(t *testing.T) {
	found := 0
	for place, texts := range printedTexts(t) {
		for _, text := range texts {
			for _, line := range commandsIn(text) {
				found++
				if problem := mistyped(line); problem != "" {
					t.Errorf("%s: %q: %s", place, line, problem)
				}
			}
		}
	}
	t.Logf("%d commands", found)
	if found < 150 {
		t.Errorf("only %d commands were found", found)
	}
}

// TestACommandThatMendsAStoreIsPrintedWhole looks at what routers and stores print: typed without its reason or its --yes, a command is
// refused, and the admin has to find out what is missing.
func TestACommandThatMendsAStoreIsPrintedWhole(t *testing.T) {
	needs := map[string][]string{"reseal": {"--why", "--yes"}, "void": {"--yes"}}
	found := 0
	for place, texts := range printedTexts(t) {
		if !strings.HasPrefix(place, "../../router/") || !strings.HasSuffix(place, ".go") {
			continue
		}
		for _, line := range slices.Concat(mapped(texts, commandsIn)...) {
			if len(line) < 2 || line[0] != "spool" || needs[line[1]] == nil {
				continue
			}
			found++
			for _, flag := range needs[line[1]] {
				if !slices.Contains(line, flag) {
					t.Errorf("%s: %q is printed without %s", place, line, flag)
				}
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d commands were found", found)
	}
}

func mapped[A, B any](in []A, f func(A) B) (out []B) {
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

func TestAMistypedCommandInATextIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"see `cloudqueue statsu`":                            "unknown command",
		"cloudqueue parking list --reason too large":         "not a reason",
		"cloudqueue books now":                               "takes no arguments",
		"cloudqueue parking list --reason nothing":           "not a reason",
		"run: cloudqueue spool reseal --wy x; then start it": "unknown flag",
		"cloudqueue spool repair":                            "unknown command",
	} {
		lines := commandsIn(text)
		if len(lines) != 1 || !strings.Contains(mistyped(lines[0]), want) {
			t.Errorf("%q: found %q, want one with %q", text, lines, want)
		}
	}
}

// printedTexts are the string literals of the product's sources and the texts of its docs, by file. Parts of a text that a variable
// fills are an x.
func printedTexts(t *testing.T) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		switch {
		case err != nil || strings.HasSuffix(path, "_test.go"):
		case strings.HasSuffix(path, ".go"):
			texts[path], err = literals(path)
		case strings.HasSuffix(path, ".md") && !slices.Contains([]string{"design.md", "decisions.md", "CHANGELOG.md"}, filepath.Base(path)): // those speak of later ones too
			var content []byte
			content, err = os.ReadFile(path)
			texts[path] = strings.Split(string(content), "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func literals(path string) (texts []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		e, isExpression := n.(ast.Expr)
		if !isExpression {
			return true
		}
		text, whole := textOf(e)
		if whole {
			texts = append(texts, text)
		}
		return !whole
	})
	return texts, nil
}

// textOf is the text of a literal, or of a sum with one in it.
func textOf(e ast.Expr) (text string, isText bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, leftIs := textOf(e.X)
		right, rightIs := textOf(e.Y)
		if !leftIs {
			left = "x"
		}
		if !rightIs {
			right = "x"
		}
		return left + right, leftIs || rightIs
	}
	return "", false
}

var (
	mention     = regexp.MustCompile(`(?:^|[^\w/.-]|bin/)cloudqueue ([a-z-]+[^;,:()\x60|>\n"\]]*)`)
	placeholder = regexp.MustCompile(`%[+.0-9]*[a-zA-Z]`)
	comment     = regexp.MustCompile(`\s(#| {2,}).*`)
)

// prose begins what follows a command's name in a sentence, or follows the program's name where it is no command.
var prose = []string{"and", "are", "at", "authority", "by", "for", "here", "if", "in", "is", "itself", "makes", "on", "or", "proves", "reads", "says", "shows",
	"stateless", "store", "takes", "that", "then", "to", "with", "without", "looks", "never", "binary", "router's"}

// commandsIn finds the command lines in a text, each up to where the sentence goes on.
func commandsIn(text string) (lines [][]string) {
	for _, m := range mention.FindAllStringSubmatch(unquotedWords(text), -1) {
		line := comment.ReplaceAllString(placeholder.ReplaceAllString(m[1], "1"), "")
		words := strings.Fields(strings.TrimRight(line, ". "))
		if end := slices.IndexFunc(words, func(w string) bool { return slices.Contains(prose, w) }); end >= 0 {
			words = words[:end]
		}
		if len(words) > 0 && words[0] != "x" {
			lines = append(lines, words)
		}
	}
	return lines
}

var (
	quotedWord = regexp.MustCompile(`(?m)(^|[\s=])'[^'\n]*'`)
	separators = regexp.MustCompile("[ ;,:()`|>]")
)

// unquotedWords makes one word of each text in quotes.
func unquotedWords(text string) string {
	return quotedWord.ReplaceAllStringFunc(text, func(s string) string {
		return s[:1] + separators.ReplaceAllString(strings.Trim(s[1:], "'"), "_")
	})
}

// mistyped says what the program would say to a command line; an argument or a flag that is still to be filled in is no mistake.
func mistyped(words []string) string {
	root := (&app{}).rootCommand()
	c, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	if err := c.ParseFlags(rest); err != nil {
		return err.Error()
	}
	if reason := c.Flags().Lookup("reason"); reason != nil && reason.Changed && c.Parent().Name() == "parking" && !slices.Contains(admin.ParkReasons(), reason.Value.String()) && reason.Value.String() != "x" {
		return reason.Value.String() + " is not a reason"
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil && !strings.Contains(err.Error(), " is missing") {
		return err.Error()
	}
	return ""
}
