package federation

import (
	"errors"
	"strconv"
)

// Errors that callers act on.
var (
	ErrCorrupt         = errors.New("corrupt")                    // bytes that are not what was written
	ErrUnknownCritical = errors.New("unknown critical field")     // written by a later version: hold or refuse
	ErrVersion         = errors.New("unknown version")            // written by a later version: hold or refuse
	ErrTooLarge        = errors.New("over a limit of the format") // what was to be encoded does not fit
	ErrIncomplete      = errors.New("more bytes are needed")      // a prefix of something that may be valid
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
