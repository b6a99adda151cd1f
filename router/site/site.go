package site

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
	"cloudqueue/wan"
	"cloudqueue/wan/pki"
)

// Site is a router with everything that it runs on.
type Site struct {
	cfg      *Config
	log      *slog.Logger
	version  string
	started  time.Time
	boot     federation.BootID
	store    spool.Segments
	spool    *spool.Spool
	broker   *localbroker.Broker
	identity *pki.Files
	endpoint *wan.Endpoint
	etcd     *etcd.Store // nil: the topology comes from a file
	topology *topology.Follower
	router   *router.Router
	admin    *admin.Server
}

// Open makes the parts: it claims the store and reads it, and starts nothing else. A Site that is not Run is to be Closed.
func Open(ctx context.Context, cfg *Config, version string, log *slog.Logger) (*Site, error) {
	s := &Site{cfg: cfg, log: log, version: version, started: time.Now()}
	if _, err := rand.Read(s.boot[:]); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := s.openStore(ctx, s.cfg.Store.spool(s.log)); err != nil {
		return nil, err
	}
	if err := s.openParts(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Site) openStore(ctx context.Context, cfg spool.Config) error {
	dir, err := OpenHome(ctx, s.cfg.Store.Dir, s.cfg.Home())
	if err != nil {
		return fmt.Errorf("store %s: %w", s.cfg.Store.Dir, err)
	}
	sp, err := spool.Open(ctx, dir, cfg)
	if err != nil {
		return errors.Join(fmt.Errorf("store %s: %w", s.cfg.Store.Dir, err), dir.Close())
	}
	s.store, s.spool = dir, sp
	return nil
}

func (s *Site) openParts() (err error) {
	if s.identity, err = pki.Load(s.cfg.Certificates.Paths(), s.log); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	if err := s.openBroker(); err != nil {
		return err
	}
	if err := s.openTopology(); err != nil {
		return err
	}
	// The endpoint calls the router and the router calls the endpoint: what stands between them is filled in before either runs.
	late := &lateHandler{}
	s.endpoint, err = wan.New(wan.Config{Federation: s.cfg.Federation, Site: s.cfg.Site, Listen: s.cfg.Listen, Identity: s.identity.Identity,
		Hello: late.hello, Handler: late, Logger: s.log})
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	s.router, err = router.New(router.Config{Federation: s.cfg.Federation, Site: s.cfg.Site, Boot: s.boot, Spool: s.spool, Broker: broker{s.broker},
		Peers: peers{s.endpoint}, Topology: s.topology, Properties: properties{}, MaxLanes: s.cfg.MaxLanes, Logger: s.log})
	if err != nil {
		return fmt.Errorf("router: %w", err)
	}
	late.handler = handler{s.router}
	s.admin = admin.NewServer(service{router: s.router, site: s}, s.log)
	return nil
}

// lateHandler stands between endpoint and router while these two are made.
type lateHandler struct{ handler }

func (l *lateHandler) hello() federation.Hello { return l.Hello() }

func (s *Site) openBroker() error {
	cfg, err := s.cfg.LocalBroker(s.log)
	if err != nil {
		return err
	}
	if s.broker, err = localbroker.New(cfg); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}

func (s *Site) openTopology() error {
	cfg := topology.FollowerConfig{Site: s.cfg.Site, Federation: s.cfg.Federation, Router: string(s.cfg.Site), LastGood: s.cfg.LastGoodTopology(), Logger: s.log}
	if s.cfg.Etcd == nil {
		cfg.Source = topology.NewFile(s.cfg.TopologyFile)
	} else if err := s.openEtcd(&cfg); err != nil {
		return err
	}
	var err error
	if s.topology, err = topology.NewFollower(cfg); err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	return nil
}

func (s *Site) openEtcd(cfg *topology.FollowerConfig) error {
	tls, err := s.cfg.Etcd.TLS()
	if err != nil {
		return err
	}
	s.etcd, err = etcd.New(etcd.Config{Endpoints: s.cfg.Etcd.Endpoints, Federation: s.cfg.Federation, TLS: tls, Timeout: s.cfg.Etcd.Timeout})
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	cfg.Source, cfg.Reporter, cfg.Timeout = s.etcd.Source(), s.etcd, 2*s.cfg.Etcd.Timeout // etcd's own limit comes first
	return nil
}

// Run works until the context ends or a part breaks, then stops in order: the router, the parts that it runs on, the store when nobody
// submits any more, so that it writes what waits and leaves its segments ended. It closes the site.
func (s *Site) Run(ctx context.Context) error {
	routing, stopRouting := context.WithCancel(ctx)
	defer stopRouting()
	store := s.runStore(ctx, stopRouting)
	work, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()
	parts, work := errgroup.WithContext(work)
	for name, run := range s.parts() {
		parts.Go(func() error {
			defer stopRouting()
			return runPart(work, name, run)
		})
	}
	id := s.spool.Identity()
	s.log.Info("router started", "site", string(s.cfg.Site), "store", id.Store.String(), "epoch", uint64(id.Epoch))
	err := s.router.Run(routing)
	stopParts()
	err = errors.Join(err, parts.Wait())
	err = errors.Join(err, s.Close(), store())
	s.log.Info("router stopped", "site", string(s.cfg.Site))
	return err
}

// runPart runs a part until it is told to stop. One that ends by itself has broken, whatever it says.
func runPart(work context.Context, name string, run func(context.Context) error) error {
	err := run(work)
	switch {
	case work.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		return nil
	case err == nil:
		return fmt.Errorf("%s ended by itself", name)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// runStore runs the spool until it is closed; over is called when it has ended, and wait gives what it ended with.
func (s *Site) runStore(ctx context.Context, over func()) (wait func() error) {
	ended := make(chan error, 1)
	go func() {
		defer over()
		ended <- s.spool.Run(context.WithoutCancel(ctx))
	}()
	return func() error {
		err := <-ended
		if errors.Is(err, context.Canceled) { // Close gave up on it; the messages that wait are in the broker
			s.log.Warn("store did not take what waits before the stop", "site", string(s.cfg.Site), "after", closeTimeout)
			return nil
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	}
}

func (s *Site) parts() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"broker":       s.broker.Run,
		"links":        s.endpoint.Run,
		"certificates": s.identity.Run,
		"topology":     s.topology.Run,
		"admin socket": func(ctx context.Context) error { return s.admin.Run(ctx, s.cfg.AdminSocket()) },
	}
}

// closeTimeout bounds what closing may wait for the store.
const closeTimeout = 10 * time.Second

// Close lets the store write what waits, as long as closeTimeout allows, and gives it and the socket back. It is Run's last step.
func (s *Site) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := errors.Join(s.spool.Close(ctx), s.store.Close())
	if s.endpoint != nil {
		err = errors.Join(err, s.endpoint.Close())
	}
	if s.etcd != nil {
		err = errors.Join(err, s.etcd.Close())
	}
	return err
}
