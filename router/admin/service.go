package admin

import (
	"context"
	"fmt"
)

// Service is what the admin channel serves: the router.
//
// Methods may be called from several goroutines at once. They answer from memory or within their context. An error that is
// an *Error tells the caller what to do; any other one is shown as "internal".
//
// An error of Redrive, Drop or Void means "unknown": the caller looks again before it repeats the word. Repeating a Drop or
// a Void is harmless: the word has its effect once. A Redrive that was cut off between the publish and the commit that ends
// the parking publishes again when it is repeated, flagged as every redrive.
type Service interface {
	Status(ctx context.Context) (*Status, error)
	Books(ctx context.Context) (*Books, error)
	Parked(ctx context.Context, filter ParkFilter) (*ParkedList, error)
	ShowParked(ctx context.Context, id string) (*ParkedMessage, error)
	Redrive(ctx context.Context, action ParkAction) (*ParkResult, error)
	Drop(ctx context.Context, action ParkAction) (*ParkResult, error)
	Void(ctx context.Context, request VoidRequest) (*VoidResult, error)
}

// Code tells what kind of error a service gives.
type Code string

// Codes of errors.
const (
	BadRequest  Code = "bad-request" // what was asked makes no sense
	NotFound    Code = "not-found"   // nothing has that name
	Refused     Code = "refused"     // it makes sense and is not allowed at present
	Unavailable Code = "unavailable" // try again: a part that is needed is away
	Internal    Code = "internal"    // a bug, or an error that says nothing of itself
)

// Error is an error with what to do.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Error gives the message, with the fix when there is one.
func (e *Error) Error() string {
	if e.Fix == "" {
		return e.Message
	}
	return e.Message + ": " + e.Fix
}

// Errorf makes an error with a code and what to do.
func Errorf(code Code, fix, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Fix: fix}
}
