package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/topology/yamlfile"
)

func TestErrorsEndWithTheirCode(t *testing.T) {
	disk := errors.New("disk on fire")
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"none":                     {nil, exitOK},
		"told to stop":             {fmt.Errorf("router: %w", context.Canceled), exitOK},
		"told to stop, twice":      {errors.Join(context.Canceled, fmt.Errorf("x: %w", context.Canceled)), exitOK},
		"told to stop, and failed": {errors.Join(context.Canceled, disk), exitFailed},
		"answer is no":             {errNo, exitNo},
		"answer is no, joined":     {errors.Join(errNo, nil), exitNo},
		"a router's no":            {admin.Errorf(admin.NotFound, "", "x"), exitNo},
		"unreachable":              {fmt.Errorf("%w: x", admin.ErrUnreachable), exitUnreachable},
		"another's socket":         {fmt.Errorf("%w: %w", admin.ErrUnreachable, syscall.EACCES), exitRefused},
		"another's file":           {fmt.Errorf("x: %w", fs.ErrPermission), exitRefused},
		"too late":                 {context.DeadlineExceeded, exitUnreachable},
		"a bad file":               {yamlfile.Problems{{What: "x"}}, exitUsage},
		"a missing file":           {fmt.Errorf("x: %w", fs.ErrNotExist), exitUsage},
		"a folder as a file":       {fmt.Errorf("x: %w", syscall.EISDIR), exitUsage},
		"a held store":             {fmt.Errorf("x: %w", spool.ErrHeld), exitRefused},
		"no store":                 {fmt.Errorf("x: %w", spool.ErrNotInitialised), exitRefused},
		"a port in use":            {fmt.Errorf("listen: %w", syscall.EADDRINUSE), exitRefused},
		"another's address":        {fmt.Errorf("listen: %w", syscall.EADDRNOTAVAIL), exitUsage},
		"anything else":            {disk, exitFailed},
	} {
		var out bytes.Buffer
		got := (&app{errs: &out}).report(c.err)
		silent := c.want == exitOK || errors.Is(c.err, errNo)
		if got != c.want || (out.Len() == 0) != silent {
			t.Errorf("%s: code %d, want %d; said %q", name, got, c.want, &out)
		}
	}
}

// exitRow is a row of the table in docs/configuration.md, exitLine a line of the help: a code and its meaning.
var (
	exitRow     = regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`)
	exitLine    = regexp.MustCompile(`(?m)^  (\d+)  (.*)$`)
	parenthesis = regexp.MustCompile(` \([^)]*\)`)
)

func TestThePageOfTheExitCodesSaysWhatTheProgramSays(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "\n## Exit codes of every command\n")
	part, _, _ = strings.Cut(part, "\n## ")
	rows, lines := exitRow.FindAllStringSubmatch(part, -1), exitLine.FindAllStringSubmatch(exitCodes, -1)
	codes := []int{exitOK, exitNo, exitUsage, exitUnreachable, exitRefused, exitFailed}
	if len(rows) != len(codes) || len(lines) != len(codes) {
		t.Fatalf("%d codes, %d rows of the page, %d lines of the help", len(codes), len(rows), len(lines))
	}
	for i, code := range codes {
		if want := strconv.Itoa(code); rows[i][1] != want || lines[i][1] != want {
			t.Errorf("code %s is %s on the page and %s in the help", want, rows[i][1], lines[i][1])
		}
		if !strings.HasPrefix(parenthesis.ReplaceAllString(rows[i][2], ""), lines[i][2]) {
			t.Errorf("code %d: the page says %q, the help %q", code, rows[i][2], lines[i][2])
		}
	}
}
