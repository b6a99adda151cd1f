package federation

import (
	"errors"
	"fmt"
	"strconv"
)

// Errors that callers act on.
var (
	ErrCorrupt         = errors.New("corrupt")                    // bytes that are not what was written
	ErrUnknownCritical = errors.New("unknown critical field")     // written by a later version: hold or refuse
	ErrVersion         = errors.New("unknown version")            // written by a later version: hold or refuse
	ErrCodec           = errors.New("unknown codec")              // a batch that a relay can pass on and a destination cannot open: answer CODEC
	ErrTooLarge        = errors.New("over a limit of the format") // what was to be encoded does not fit
	ErrIncomplete      = errors.New("more bytes are needed")      // a prefix of something that may be valid
)

func unknownCritical(what string, n uint64) error {
	return fmt.Errorf("%w: %s %d", ErrUnknownCritical, what, n)
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
