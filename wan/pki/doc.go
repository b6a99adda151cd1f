// Package pki is the identity of sites: a certificate authority, the certificates that it issues, and how a peer's is verified.
package pki
