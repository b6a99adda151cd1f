// Package wan is one authenticated multiplexed link to a peer.
package wan
