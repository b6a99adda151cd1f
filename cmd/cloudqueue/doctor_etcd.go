package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"time"
)

// withoutEtcd tells a site that has a last good copy to go on with from one that waits.
func (d *doctor) withoutEtcd(ctx context.Context, part string, err error) finding {
	fix := "see that etcd runs, and etcd in the router's file"
	if why := d.knockAtEtcd(ctx); why != nil {
		fix, err = why.fix, fmt.Errorf("%w: %w", err, why)
	}
	if _, missing := os.Stat(d.config.LastGoodTopology()); missing != nil {
		return broken(part, fix, fmt.Errorf("%w; there is no last good copy yet: a router waits", err))
	}
	return atRisk(part, fix, "%v; a router goes on with its last good copy", err)
}

// knockAtEtcd connects to the endpoints and gives the first refusal: etcd's client tries again until its time is over,
// and then says no more than that. Nil: each takes the connection, or the reason is in the router's file.
func (d *doctor) knockAtEtcd(ctx context.Context) *failure {
	config, err := d.config.Etcd.TLS()
	if err != nil {
		return nil // etcd's client has said it
	}
	for _, endpoint := range d.config.Etcd.Endpoints {
		u, err := url.Parse(endpoint)
		if err != nil {
			continue // the file's reader has checked it
		}
		if why := knock(ctx, u, config); why != nil && ctx.Err() == nil {
			return why
		}
	}
	return nil
}

func knock(ctx context.Context, endpoint *url.URL, config *tls.Config) *failure {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", endpoint.Host)
	if err != nil {
		return &failure{exitUnreachable, err, "see that etcd runs, and etcd in the router's file"}
	}
	defer conn.Close() // nothing was written
	if endpoint.Scheme != "https" {
		return nil
	}
	if err := shakeHands(ctx, conn, endpoint.Hostname(), config); err != nil {
		return &failure{exitUnreachable, fmt.Errorf("%s: %w", endpoint.Host, err),
			"see that etcd speaks TLS there, and etcd.authorities, etcd.certificate and etcd.key in the router's file"}
	}
	return nil
}

// verdictWait bounds the wait for a refusal of our own certificate (chosen: a second is several round trips of any
// network that etcd works in).
const verdictWait = time.Second

// shakeHands ends with nil when neither side refuses the other's certificate. In TLS 1.3 the server's refusal comes
// only after the handshake, in place of its first word (RFC 8446, section 4.4.2.4).
func shakeHands(ctx context.Context, conn net.Conn, host string, config *tls.Config) error {
	config = config.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.ServerName, config.NextProtos = host, []string{"h2"}
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return err
	}
	if err := client.SetReadDeadline(time.Now().Add(verdictWait)); err != nil {
		return err
	}
	_, err := client.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
