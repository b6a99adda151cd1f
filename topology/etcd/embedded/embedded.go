// Package embedded runs one real etcd member inside this process: for the demo, for tests, and for a federation that
// has no etcd of its own yet. It is the only importer of etcd's server.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Options of Start. The zero value listens on free ports of the loopback interface.
type Options struct {
	// Listen is host:port for clients; "": a free port of 127.0.0.1. One that is given comes back after a restart. It
	// speaks without TLS: keep it on the loopback interface.
	Listen string
	// NoSync leaves out fsync: for tests that do not cut the power.
	NoSync bool
	// Tick is the heartbeat of the election; 0: 100 ms. Shorter ones make a test start sooner.
	Tick time.Duration
}

// Server is a running member. Its data stays in its folder.
type Server struct {
	etcd *embed.Etcd
	stop func() // etcd's own Close panics at the second call
}

const (
	quota = 256 << 20 // bytes of the database (chosen: 200 versions of 700 KiB fit)
	// maxRequest is etcd's own default, written down because topology/etcd counts on it.
	maxRequest = 1536 << 10
)

// Start runs a member on the data in dir, which it makes, and returns when it serves or when ctx ends.
func Start(ctx context.Context, dir string, options Options) (*Server, error) {
	cfg, err := config(dir, options)
	if err != nil {
		return nil, err
	}
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd in %s: %w", dir, err)
	}
	s := &Server{etcd, sync.OnceFunc(etcd.Close)}
	select {
	case <-etcd.Server.ReadyNotify():
		return s, nil
	case err := <-etcd.Err():
		return nil, errors.Join(fmt.Errorf("etcd in %s: %w", dir, err), s.Close())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.Close())
	}
}

func config(dir string, options Options) (*embed.Config, error) {
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop()) // a normal Close logs errors with stack traces
	client, err := listenURL(options.Listen)
	if err != nil {
		return nil, err
	}
	peer, err := listenURL("")
	if err != nil {
		return nil, err
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "periodic", "1h" // without it the database only grows
	cfg.QuotaBackendBytes, cfg.MaxRequestBytes = quota, maxRequest
	cfg.UnsafeNoFsync = options.NoSync
	if options.Tick > 0 {
		cfg.TickMs = uint(options.Tick.Milliseconds())
		cfg.ElectionMs = 10 * cfg.TickMs
	}
	return cfg, nil
}

func listenURL(address string) (url.URL, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	u, err := url.Parse("http://" + address)
	if err != nil {
		return url.URL{}, fmt.Errorf("address %q: %w", address, err)
	}
	return *u, nil
}

// Endpoint is where clients reach the member, host:port.
func (s *Server) Endpoint() string { return s.etcd.Clients[0].Addr().String() }

// Close stops the member and waits for it. It may be called again.
func (s *Server) Close() error {
	s.stop()
	select {
	case <-s.etcd.Server.StopNotify():
		return nil
	case <-time.After(closeTimeout):
		return errors.New("etcd did not stop within 10 s")
	}
}

const closeTimeout = 10 * time.Second
