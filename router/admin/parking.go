package admin

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"cloudqueue/federation"
)

// Reasons of parking (G9): a fixed set. They stand in the store and are typed by admins: words without a space.
const (
	ReasonUnroutable    = "unroutable"     // no queue is bound for it (312)
	ReasonRefused       = "refused"        // the broker closed the channel over it (406), or the connection (501, 502, 541 …)
	ReasonTooLarge      = "too-large"      // exceeds the broker's frame or message size, or the route's
	ReasonBadProperties = "bad-properties" // not valid AMQP properties, or a header of ours that cannot be merged
)

// ParkReasons are all reasons of parking, in the order of their names.
func ParkReasons() []string {
	return []string{ReasonBadProperties, ReasonRefused, ReasonTooLarge, ReasonUnroutable}
}

// Parked is a message that is parked, without its content.
type Parked struct {
	// ID names it for show, redrive and drop: lane@generation:offset>destination.
	ID          string                `json:"id"`
	Lane        string                `json:"lane"`
	Generation  federation.Generation `json:"generation"`
	Offset      federation.Offset     `json:"offset"`
	Destination string                `json:"destination"`
	Reason      string                `json:"reason"`
	Errors      string                `json:"errors,omitempty"` // the broker's words; only in show
	Attempts    uint32                `json:"attempts,omitempty"`
	FirstTry    time.Time             `json:"first_try,omitzero"` // to deliver it; only in show
	LastTry     time.Time             `json:"last_try,omitzero"`
	Bytes       uint64                `json:"bytes"`
}

// ParkFilter chooses parked messages. Empty fields choose all.
type ParkFilter struct {
	IDs         []string `json:"ids,omitempty"`
	Lane        string   `json:"lane,omitempty"`
	Destination string   `json:"destination,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	// After is the ID behind which a list goes on; Limit the most that it gives: 0 is DefaultParkLimit, at most MaxParkLimit.
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// check refuses a choice that can match nothing: a mistyped one would seem to say that nothing is parked.
func (f ParkFilter) check() error {
	if lane, err := federation.ParseLane(f.Lane); f.Lane != "" && (err != nil || lane.String() != f.Lane) {
		return Errorf(BadRequest, "lanes look like ams/orders: the site, then the route", "%q is not a lane", f.Lane)
	}
	if f.Destination != "" && !isDestination(f.Destination) {
		return Errorf(BadRequest, "destinations look like nyc, or nyc:2 for its second target", "%q is not a destination",
			f.Destination)
	}
	if f.Reason != "" && !slices.Contains(ParkReasons(), f.Reason) {
		return Errorf(BadRequest, "write one of: "+strings.Join(ParkReasons(), ", "), "%q is not a reason of parking",
			f.Reason)
	}
	return nil
}

// isDestination tells whether s is what Destination.String writes.
func isDestination(s string) bool {
	site, target, _ := strings.Cut(s, ":")
	n, _ := strconv.ParseUint(target, 10, 8) // what is none makes another text
	d := federation.Destination{Site: federation.SiteID(site), Target: uint8(n)}
	return d.Site.Valid() && d.String() == s
}

// Limits of a list.
const (
	DefaultParkLimit = 1000
	MaxParkLimit     = 10_000
)

// ParkedList is a part of the parking, ordered by ID's parts: lane, generation, offset, destination.
type ParkedList struct {
	Parked []Parked `json:"parked"`
	Total  uint64   `json:"total"` // that the filter chooses, in all parts
	More   bool     `json:"more"`  // go on After the last one
}

// ParkedMessage is a parked message with its content.
type ParkedMessage struct {
	Parked
	Exchange   string   `json:"exchange"`
	RoutingKey string   `json:"routing_key"`
	Raw        []byte   `json:"raw_properties"` // as they stood on the wire
	Body       []byte   `json:"body"`
	Duplicate  bool     `json:"duplicate"`
	TTLSeconds *float64 `json:"ttl_seconds,omitempty"` // that was left when it was parked; nil: it never expires
	Path       []string `json:"path,omitempty"`
}

// ParkAction is the admin's word on parked messages.
type ParkAction struct {
	Filter ParkFilter `json:"filter"`
	Who    string     `json:"who"` // goes into the audit record; the server fills in the user of the socket's other end
	Why    string     `json:"why"` // must not be empty for a drop
}

// ParkResult tells what was done. Failed ones stay parked.
type ParkResult struct {
	Done   int          `json:"done"`
	Failed []ParkFailed `json:"failed,omitempty"`
}

// ParkFailed is a message on which the word had no effect.
type ParkFailed struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}
