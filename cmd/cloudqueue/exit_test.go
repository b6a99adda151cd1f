package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
