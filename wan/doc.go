// Package wan is one authenticated, multiplexed link to each peer: copies go out, verdicts come back, and a link that
// ends says why.
//
//	site ams                                                                site nyc
//	┌ Endpoint ── one UDP socket, dials and accepts ─┐                     ┌ Endpoint ┐
//	│  Link to nyc                                   │                     │          │
//	│   connection 0 ─ control ──────────────────────┼── HELLO, HELLO_ACK ─┼─ control │
//	│                    LANE_OPEN, LANE_STATE,      │   HEARTBEAT, ACK    │          │  Handler.Control
//	│                    WINDOW, RECEIPT, SYNC, DRAIN│                     │          │
//	│                ─ class 0 ─ data, data ─────────┼── COPY ────────────▶┼─ reader ─┼─▶ Handler.Copy ─▶ answer
//	│                ─ class 1 ─ data, data          │                     │          │        │
//	│   connection 1 ─ control: its own HELLO,       │◀── ACK ─────────────┼──────────┼────────┘
//	│                    HEARTBEAT and ACK           │                     │          │
//	│                ─ class 0 … data                │                     │          │
//	└────────────────────────────────────────────────┘                     └──────────┘
//
// Words: a link has two connections (QUIC), a connection has one control stream and, per class, two data streams in
// each direction; a lane is at home on one connection and one stream of its class, so its frames keep their order. A
// frame's verdict is the peer's answer to it. A link lives as long as its connection 0; when connection 1 dies alone,
// its frames are answered LINK_LOST, its lanes use connection 0, and it is dialled again; when it is back the lanes go
// home, and then a frame may overtake those before it that are still on connection 0.
//
// A connection begins with mutual TLS 1.3 (package pki). Then the dialling side says HELLO, the accepting side answers
// HELLO_ACK, the dialling side answers that with its own HELLO_ACK; each HELLO_ACK goes out after Handler.Greet, so
// what the peer is has become durable first. Only then the link is up: a certificate that the peer refuses does not
// show before (docs/decisions.md, M6).
//
// Guarantees:
//
//   - Every Copy that returned nil gets exactly one answer: the peer's verdict, or LINK_LOST when the connection ended
//     before it. LINK_LOST says nothing about whether the peer took the frame.
//   - Up, Down, Up … alternate for a peer; everything of a link lies between its two calls. There is at most one link
//     with a peer, also when both dial.
//   - A peer that is silent for 3.5 s, or does not read what we send for 7 s, is cut. A restarted one is noticed by its
//     first stateless reset, within a heartbeat.
//   - A drain loses nothing, on either side (Link.Drain).
//   - A certificate that is renewed, at either end, loses no frame and causes no LINK_LOST: lanes pause for some round
//     trips (renew.go).
//   - Memory is bounded, whatever peers and strangers do (below). Nothing is dropped without being counted
//     (Endpoint.Refused, LinkStatus.Refused).
//
// Bounds:
//
//	stranger        256 half-open connections (32 a host), a Retry beyond 50 first packets a second, 3 s without a packet ends a handshake
//	certified site  16 connections, HELLO of 16 KiB within 5 s
//	peer            33 streams a connection, windows of 16 MiB a stream and 24 MiB a connection; 1 MiB on a frame header's word alone, 256 MiB of incomplete
//	                frames a link; 65,536 unanswered frames a stream
//	ourselves       Config.QueueBytes a stream, then Copy and Send wait
//
// The receiver's readers always read: the QUIC windows are sized for the path and are never the back-pressure, or a
// lane that cannot move would stop its neighbours. What cannot be taken the handler answers with FULL or WINDOW.
//
// What it does not do: it does not retry, remember or reorder frames (the router does), does not know routes or grants,
// and adds no connections by need (stripes).
//
// Both sides may dial. The lower site id dials first, the other one takes over when nothing has come for TakeOver; of
// two attempts that meet, the lower site's wins (contend.go). Pauses between attempts have full jitter and end within
// RedialMax. A peer that was away is not waited for: the side that comes back dials, the lower site id at once, the
// other one after HeadStart. Several addresses of a peer are dialled 250 ms apart, at most eight at once (race.go).
//
// Start reading at Config, then Link.run and conn (the goroutines of a connection); answers and pending are the two
// ends of the acks.
package wan
