package wan

import (
	"context"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// alpn names the protocol and its major version in the TLS handshake.
const alpn = "cloudqueue/1"

// QUIC windows. They are there for the path alone: readers always read, so they never are the back-pressure. 16 MiB
// lets one stream carry 300 Mbit/s at 300 ms (window = 1.34 × rate × RTT: an update comes after a quarter is read); a
// connection's is 1.5 times that. quic-go's defaults cap a stream at 189 Mbit/s at 200 ms (docs/decisions.md, M6).
const (
	streamWindow     = 16 << 20
	connectionWindow = 24 << 20
)

// idleTimeout is QUIC's own end of a silent connection, behind our heartbeats.
const idleTimeout = 15 * time.Second

// quicConfig is the same for dialling and accepting. InitialPacketSize stays unset (M6: over 1280 the pacer spins).
func (e *Endpoint) quicConfig() *quic.Config {
	return &quic.Config{
		Versions:                       []quic.Version{quic.Version1},
		HandshakeIdleTimeout:           e.cfg.HandshakeTimeout,
		MaxIdleTimeout:                 idleTimeout,
		InitialStreamReceiveWindow:     streamWindow,
		MaxStreamReceiveWindow:         streamWindow,
		InitialConnectionReceiveWindow: connectionWindow,
		MaxConnectionReceiveWindow:     connectionWindow,
		MaxIncomingStreams:             maxStreams,
		MaxIncomingUniStreams:          -1,
	}
}

func (e *Endpoint) newTransport() *quic.Transport {
	key := quic.StatelessResetKey(e.cfg.Identity().ResetKey())
	return &quic.Transport{
		Conn:                e.socket,
		StatelessResetKey:   &key,
		VerifySourceAddress: e.doorman.mustProveAddress,
		ConnContext:         e.doorman.enter,
		Tracer:              packetCounter{&e.refused},
		// There is one QUIC version to speak; an answer to any other would only be something to reflect.
		DisableVersionNegotiationPackets: true,
	}
}

// packetCounter counts the packets that belong to no connection and are dropped.
type packetCounter struct{ refused *tally }

func (c packetCounter) RecordEvent(event qlogwriter.Event) {
	if dropped, ok := event.(qlog.PacketDropped); ok {
		c.refused.add("packet-" + string(dropped.Trigger))
	}
}

func (c packetCounter) Close() error { return nil }

// countGarbage counts the packets that are not QUIC at all. It ends with the transport.
func (e *Endpoint) countGarbage(ctx context.Context, tr *quic.Transport) {
	var b [1]byte
	for {
		if _, _, err := tr.ReadNonQUICPacket(ctx, b[:]); err != nil {
			return
		}
		e.refused.add("packet-not-quic")
	}
}
