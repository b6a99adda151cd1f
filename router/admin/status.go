package admin

import (
	"time"

	"cloudqueue/federation"
)

// State tells in one word how a part is. A connection to the broker that is being made shows as Starting, an alarm or a pause as Held.
type State = federation.State

// States that status shows.
const (
	Running  = federation.StateRunning
	Starting = federation.StateStarting
	Draining = federation.StateDraining
	Closed   = federation.StateClosed
	Degraded = federation.StateDegraded
	Waiting  = federation.StateWaiting
	Stalled  = federation.StateStalled
	Held     = federation.StateHeld
	Full     = federation.StateFull
	Unsafe   = federation.StateUnsafe
	Unwell   = federation.StateUnwell
	Down     = federation.StateDown
	Fenced   = federation.StateFenced
	Corrupt  = federation.StateCorrupt
)

// Condition is what each part says of itself.
type Condition struct {
	State  State     `json:"state"`
	Reason string    `json:"reason,omitempty"` // why, for people; empty when there is nothing to say
	Since  time.Time `json:"since,omitzero"`   // when this state began
	Fix    string    `json:"fix,omitempty"`    // what to type or to change; empty when nothing helps but time
}

// FromPart takes over what a part of the router said. The words of a connection to the broker become those of a state.
func FromPart(p federation.PartState) Condition {
	state := p.State
	switch state {
	case federation.StateConnecting:
		state = Starting
	case federation.StateAlarm, federation.StatePaused:
		state = Held
	}
	return Condition{State: state, Reason: p.Reason, Since: p.Since, Fix: p.Fix}
}

// Status is everything that a router knows of itself at one moment.
type Status struct {
	At         time.Time `json:"at"`
	Federation string    `json:"federation"`
	Site       string    `json:"site"`
	Router     Router    `json:"router"`
	Store      Store     `json:"store"`
	Broker     Broker    `json:"broker"`
	Topology   Topology  `json:"topology"`
	Listener   Listener  `json:"listener"`
	Links      []Link    `json:"links"` // by peer
	Out        []OutLane `json:"out"`   // lanes that begin here, by lane and generation
	In         []InLane  `json:"in"`    // lanes that end here, by lane, generation and destination
	Parking    Parking   `json:"parking"`
	Refused    []Refusal `json:"refused"` // by what and reason
}

// Router is the process.
type Router struct {
	Condition
	Version    string    `json:"version"`
	PID        int       `json:"pid"`
	Started    time.Time `json:"started"`
	Boot       string    `json:"boot"` // random per process
	DataDir    string    `json:"data_dir"`
	HeapBytes  uint64    `json:"heap_bytes"`
	Goroutines int       `json:"goroutines"`
}

// Store is the spool with the store below it.
type Store struct {
	Condition
	URL          string           `json:"url"`
	ID           string           `json:"id"`
	Born         time.Time        `json:"born"`
	Epoch        federation.Epoch `json:"epoch"`
	LSN          federation.LSN   `json:"lsn"` // last durable group
	UsedBytes    uint64           `json:"used_bytes"`
	QuotaBytes   uint64           `json:"quota_bytes"`   // 0: none
	ReserveBytes uint64           `json:"reserve_bytes"` // the part of the quota that only marks and cleaning may use
	FreeBytes    uint64           `json:"free_bytes"`    // as the disk says
	Segments     int              `json:"segments"`
	QueuedBytes  uint64           `json:"queued_bytes"`          // submitted and not durable yet
	UnwellSince  time.Time        `json:"unwell_since,omitzero"` // since when no commit has succeeded although one is due
	LastError    string           `json:"last_error,omitempty"`  // the store's last error, also after it recovered
	Quarantined  []string         `json:"quarantined,omitempty"` // corrupt stretches that are not served: segment, offset, what
}

// Broker is the site's AMQP broker as the router sees it.
type Broker struct {
	Condition
	URL         string             `json:"url"` // without a password
	Product     string             `json:"product,omitempty"`
	Version     string             `json:"version,omitempty"`
	Connections []BrokerConnection `json:"connections"`
	Publishers  []Publisher        `json:"publishers"`
}

// BrokerConnection is one of the router's connections to the broker.
type BrokerConnection struct {
	Condition
	Name      string    `json:"name"` // consuming, publishing
	Alarm     string    `json:"alarm,omitempty"`
	NextRetry time.Time `json:"next_retry,omitzero"`
}

// Publisher is a publishing channel with its owner lock.
type Publisher struct {
	Condition
	Index     uint32 `json:"index"`
	LockQueue string `json:"lock_queue"`
}

// Topology is the document that the router runs.
type Topology struct {
	Condition        // of the source: etcd away is waiting, with the last good document running
	Version   uint64 `json:"version"`
	Digest    string `json:"digest"`
	Origin    string `json:"origin"` // etcd, file, last-good
	Source    string `json:"source"` // endpoints or file
	// Problem says what is wrong with a later document that was not taken.
	Problem   string    `json:"problem,omitempty"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// Listener is where peers reach this router, with the certificate that it shows.
type Listener struct {
	Condition
	Address            string    `json:"address"`
	Certificate        string    `json:"certificate,omitempty"` // its subject
	CertificateExpires time.Time `json:"certificate_expires,omitzero"`
	HalfOpen           int       `json:"half_open"` // connections whose handshake is not finished
}

// Link is the connection to a peer.
type Link struct {
	Condition
	Peer            string           `json:"peer"`
	Addresses       []string         `json:"addresses,omitempty"` // that this side dials; empty: it only waits to be dialled
	Remote          string           `json:"remote,omitempty"`    // where the peer of the link that is up is
	Connections     int              `json:"connections"`
	NextRetry       time.Time        `json:"next_retry,omitzero"`
	RTTSeconds      float64          `json:"rtt_seconds"`
	BytesSent       uint64           `json:"bytes_sent"`
	BytesReceived   uint64           `json:"bytes_received"`
	BatchesSent     uint64           `json:"batches_sent"`
	BatchesReceived uint64           `json:"batches_received"`
	BacklogMessages uint64           `json:"backlog_messages"` // stored here for this next hop and not receipted
	BacklogBytes    uint64           `json:"backlog_bytes"`
	Refused         []Count          `json:"refused,omitempty"` // verdicts and rejected connections, by reason
	PeerStore       string           `json:"peer_store,omitempty"`
	PeerEpoch       federation.Epoch `json:"peer_epoch,omitempty"`
	PeerTopology    uint64           `json:"peer_topology,omitempty"`
}

// Parking sums up what is parked here: held until a person says what becomes of it.
type Parking struct {
	Condition
	Messages uint64  `json:"messages"`
	Bytes    uint64  `json:"bytes"`
	Reasons  []Count `json:"reasons,omitempty"`
}

// Count is a number with the reason that it counts.
type Count struct {
	Reason string    `json:"reason"`
	Count  uint64    `json:"count"`
	Last   time.Time `json:"last,omitzero"`
	Detail string    `json:"detail,omitempty"` // of the last one
	Fix    string    `json:"fix,omitempty"`    // what to type or to change; empty: it heals by itself
}

// Refusal counts what this router turned away, since it started.
type Refusal struct {
	What string `json:"what"` // connection, hello, frame, lane, message …
	Count
}
