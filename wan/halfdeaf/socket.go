// Package halfdeaf is the attacker of the tests of half-open connections: a socket whose QUIC handshakes begin and
// never end.
//
// It stands below wan and router/site, whose tests both need it; no program links it.
package halfdeaf

import "net"

// Socket hears a Retry and a refusal, and nothing that a handshake goes on with: so the peer holds a connection for it.
type Socket struct{ net.PacketConn }

// ReadFrom drops every datagram that could carry a handshake on.
func (s Socket) ReadFrom(b []byte) (int, net.Addr, error) {
	const longHeader, packetType, retry, smallestInitial = 0x80, 0x30, 0x30, 1200 // RFC 9000 sections 17.2.5 and 14.1
	for {
		n, from, err := s.PacketConn.ReadFrom(b)
		if err != nil || n < smallestInitial || b[0]&longHeader != 0 && b[0]&packetType == retry {
			return n, from, err
		}
	}
}

// SetReadBuffer does nothing: quic-go warns about a socket whose buffers it cannot set.
func (Socket) SetReadBuffer(int) error { return nil }

// SetWriteBuffer does nothing, as SetReadBuffer.
func (Socket) SetWriteBuffer(int) error { return nil }
