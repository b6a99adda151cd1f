package federation

import "time"

// PartState is what a part of the router says of itself to `status`.
type PartState struct {
	State  string // running, waiting, held, unsafe, down …
	Reason string // why, for people; empty when running
	Fix    string // what to type or to change; empty when nothing helps but time
	Since  time.Time
}
