// Package amqpwire reads and edits the property bytes of an AMQP 0-9-1 content header without decoding them.
package amqpwire

import "time"

// Facts are what the router has to know of a message's properties.
type Facts struct {
	DeliveryMode  uint8 // 0: absent, 1: transient, 2: persistent
	HasExpiration bool
	Expiration    time.Duration // whole milliseconds
	UserID        string
	Path          []string // x-cq-path, oldest first
	Duplicate     bool     // x-cq-duplicate
	Redelivered   bool     // x-delivery-count or x-acquired-count is over 0
}

// Edit is what Rewrite changes.
type Edit struct {
	ID, Origin    string    // x-cq-id, x-cq-origin; empty: left alone
	Path          []string  // joins x-cq-path, which only grows
	Time          time.Time // x-cq-time, whole milliseconds; zero: left alone
	Duplicate     bool      // x-cq-duplicate only becomes true
	DropLocal     bool      // drops what the source's broker wrote for itself (IsLocal)
	Drop          []string  // further headers to drop, by name
	ClearUserID   bool      // user-id goes to the header x-cq-user-id
	SetExpiration bool
	Expiration    time.Duration // rounded up to a millisecond
}

// Read scans raw: property flags and property list. Errors wrap ErrMalformed and say what is.
func Read(raw []byte) (Facts, error) { panic("to be written") }

// Rewrite gives raw with the edit; everything else stays byte for byte. Errors wrap ErrMalformed.
func Rewrite(raw []byte, edit Edit) ([]byte, error) { panic("to be written") }

// Append is Rewrite into dst.
func Append(dst, raw []byte, edit Edit) ([]byte, error) { panic("to be written") }
