package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/topology/yamlfile"
)

// Exit codes. They are part of the interface: a number never changes its meaning.
const (
	exitOK          = 0 // done; the answer is yes
	exitNo          = 1 // the check failed; the answer is no
	exitUsage       = 2 // the command line or a file is wrong: nothing was done
	exitUnreachable = 3 // the router, etcd or the broker does not answer
	exitRefused     = 4 // it makes sense and is not allowed: it needs another word, or something else stands in its way
	exitFailed      = 5 // it was tried and did not work; it may have had an effect
)

const exitCodes = `Exit codes:
  0  done, or: the answer is yes
  1  the check failed, or: the answer is no
  2  the command line or a file is wrong; nothing was done
  3  the router, etcd or the broker does not answer
  4  refused: it needs another word, or something stands in its way
  5  it was tried and did not work; it may have had an effect`

// failure is an error with the code to end with and what to do.
type failure struct {
	code int
	err  error
	fix  string // empty: the error says it
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail makes a failure of a text.
func fail(code int, fix, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...), fix}
}

// errNo ends a command that has printed its answer already: no.
var errNo = &failure{code: exitNo, err: errors.New("no")}

// adminCodes are the exit codes of what a router answers.
var adminCodes = map[admin.Code]int{
	admin.BadRequest:  exitUsage,
	admin.NotFound:    exitNo,
	admin.Refused:     exitRefused,
	admin.Unavailable: exitUnreachable,
}

// classify finds the code and the mend of any error. What it does not know has failed.
func classify(err error) *failure {
	var f *failure
	var told *admin.Error
	var problems yamlfile.Problems
	var corrupt *spool.CorruptError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &corrupt):
		return &failure{exitNo, err, corrupt.Fix()}
	case errors.As(err, &told):
		code, known := adminCodes[told.Code]
		if !known {
			code = exitFailed
		}
		return &failure{code, errors.New(told.Message), told.Fix}
	case errors.Is(err, fs.ErrPermission): // also of the admin socket: whether a router answers cannot be seen
		return &failure{exitRefused, err, "run it as the router's user, or as root"}
	case errors.Is(err, admin.ErrUnreachable):
		return &failure{exitUnreachable, err,
			"start the router with `cloudqueue router`, or name its socket with --socket"}
	case errors.As(err, &problems):
		return &failure{exitUsage, fmt.Errorf("%s in a file:\n%w", count(len(problems), "mistake"), err), ""}
	case errors.Is(err, syscall.EADDRINUSE):
		return &failure{exitRefused, err,
			"end the other program (ss -lunp), or choose another listen in the router's file"}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &failure{exitUsage, err, "write listen: \":7443\", or the address of an interface of this machine"}
	case errors.Is(err, spool.ErrHeld):
		return &failure{exitRefused, err,
			"end the router or the command that has it; status, parking and books ask a running router"}
	case errors.Is(err, spool.ErrOtherHome):
		return &failure{exitUsage, err,
			"mount this site's own folder, or correct store.url, site or federation in the router's file: a store never changes its site"}
	case errors.Is(err, localdir.ErrIdentity):
		return &failure{exitNo, err,
			"put the file STORE alone back from a backup of this store, of any age since its last spool new-id or reseal; without one: it can be written again from the segments, see STORE in docs/formats-spool.md"}
	case errors.Is(err, federation.ErrVersion):
		return &failure{exitFailed, err, "run the version of cloudqueue that wrote it, or a later one"}
	case errors.Is(err, spool.ErrNotInitialised):
		return &failure{exitRefused, err, ""}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR):
		return &failure{exitUsage, err, ""}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{exitUnreachable, err, "try again, or give it longer with --timeout"}
	}
	return &failure{exitFailed, err, ""}
}

// count writes "1 mistake" or "3 mistakes".
func count[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// stopped tells whether an error only says that somebody told the program to stop: whatever else is joined to it
// counts.
func stopped(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !stopped(err) })
	case interface{ Unwrap() error }:
		return stopped(e.Unwrap())
	}
	return err == context.Canceled
}

// report prints what went wrong and gives the exit code.
func (a *app) report(err error) int {
	if err == nil || stopped(err) {
		return exitOK
	}
	f := classify(err)
	if f == errNo {
		return exitNo
	}
	fmt.Fprintf(a.errs, "cloudqueue: %s\n", a.retyped(strings.TrimSpace(f.err.Error())))
	if f.fix != "" {
		fmt.Fprintf(a.errs, "to do: %s\n", a.retyped(f.fix))
	}
	return f.code
}

// refusedOr makes a refusal of an error that is one of the given ones, and leaves any other as it is.
func refusedOr(err error, refusals ...error) error {
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return &failure{exitRefused, err, ""}
		}
	}
	return err
}
