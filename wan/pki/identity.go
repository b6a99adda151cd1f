package pki

// Identity is a site's certificate and the authorities that it trusts. It is immutable.
type Identity struct{}
