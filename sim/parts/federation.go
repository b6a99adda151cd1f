package parts

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// FederationConfig describes the sites of a topology on this machine.
type FederationConfig struct {
	Binary   string // cloudqueue
	Dir      string // for everything; its path must be short, as a Unix socket lies below it (108 bytes in all)
	Topology string // the document
	Etcd     string // the URL of an etcd that holds the topology; empty: every router reads it from a file
	Sites    []SiteConfig
}

// SiteConfig describes one site.
type SiteConfig struct {
	Name   string
	Broker string // amqp://user:password@host:port/vhost
	Listen int    // UDP port on 127.0.0.1; what the topology says that peers dial leads there
	Store  string // more lines of the router file's store section, such as "segment-size: 16MiB"
}

// Federation is the sites with their files: certificates, stores, router files. Its routers are child processes.
type Federation struct {
	config FederationConfig
	sites  map[string]*Site
}

// Site is one site's folder and router.
type Site struct {
	*Program // the router
	Name     string
	Config   string // path of the router's file
	binary   string
}

// NewFederation makes the files with the binary's own commands, as an admin would. It starts no router. With etcd, it
// applies the topology.
func NewFederation(ctx context.Context, config FederationConfig) (*Federation, error) {
	f := &Federation{config: config, sites: map[string]*Site{}}
	topology := f.path("topology.yaml")
	if err := os.WriteFile(topology, []byte(config.Topology), 0o600); err != nil {
		return nil, err
	}
	if _, err := f.run(ctx, "pki", "init", "--dir", f.path("ca")); err != nil {
		return nil, err
	}
	for _, site := range config.Sites {
		s, err := f.makeSite(ctx, site)
		if err != nil {
			return nil, fmt.Errorf("make site %s: %w", site.Name, err)
		}
		f.sites[site.Name] = s
	}
	if config.Etcd == "" {
		return f, nil
	}
	_, err := f.Site(config.Sites[0].Name).Command(ctx, "topology", "apply", topology)
	return f, err
}

func (f *Federation) path(elements ...string) string {
	return filepath.Join(append([]string{f.config.Dir}, elements...)...)
}

// run runs a command of the binary that needs no site.
func (f *Federation) run(ctx context.Context, args ...string) (string, error) {
	return Run(ctx, Command{Path: f.config.Binary, Args: args, Dir: f.config.Dir})
}

// Site finds a site by its name, which must be one of the config's.
func (f *Federation) Site(name string) *Site { return f.sites[name] }

// Start starts all routers.
func (f *Federation) Start(ctx context.Context) error {
	for _, config := range f.config.Sites {
		if err := f.Site(config.Name).Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Kill ends all routers at once.
func (f *Federation) Kill() {
	for _, s := range f.sites {
		s.Kill()
	}
}

func (f *Federation) makeSite(ctx context.Context, config SiteConfig) (*Site, error) {
	dir := f.path(config.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := f.run(ctx, "pki", "issue", config.Name, "--dir", f.path("ca"), "--out", dir); err != nil {
		return nil, err
	}
	file, err := f.routerFile(dir, config)
	if err != nil {
		return nil, err
	}
	s := &Site{Name: config.Name, Config: filepath.Join(dir, "router.yaml"), binary: f.config.Binary}
	s.Program = NewProgram(Command{Name: "router-" + config.Name, Path: f.config.Binary, Args: []string{"router", "--config", s.Config}, Dir: dir}, s.answers)
	if err := os.WriteFile(s.Config, []byte(file), 0o600); err != nil {
		return nil, err
	}
	_, err = s.Command(ctx, "spool", "init")
	return s, err
}

// routerFile is the text of a router's file. The broker's password lies in a file of its own.
func (f *Federation) routerFile(dir string, config SiteConfig) (string, error) {
	broker, err := url.Parse(config.Broker)
	if err != nil {
		return "", err
	}
	user := broker.User
	broker.User = nil
	password, _ := user.Password()
	if err := os.WriteFile(filepath.Join(dir, "broker.secret"), []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "site: %s\ndata-dir: data\nlisten: 127.0.0.1:%d\n", config.Name, config.Listen)
	fmt.Fprintf(&b, "broker: {url: %q, username: %q, password: file:broker.secret}\n", broker, user.Username())
	fmt.Fprintf(&b, "certificates: {certificate: %s.crt, key: %s.key, authorities: ca.crt}\n", config.Name, config.Name)
	if f.config.Etcd != "" {
		fmt.Fprintf(&b, "etcd: {endpoints: [%q]}\n", f.config.Etcd)
	} else {
		fmt.Fprintf(&b, "topology: {file: %s}\n", f.path("topology.yaml"))
	}
	if config.Store != "" {
		fmt.Fprintf(&b, "store: {%s}\n", config.Store)
	}
	return b.String(), nil
}

// answers says whether the router takes calls on its admin socket.
func (s *Site) answers(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", filepath.Join(filepath.Dir(s.Config), "data", "admin.sock"))
	if err != nil {
		return err
	}
	return conn.Close()
}

// Command runs a command of the binary for this site, such as status, to its end: what it printed.
func (s *Site) Command(ctx context.Context, args ...string) (string, error) {
	return Run(ctx, Command{Path: s.binary, Args: append(args, "--config", s.Config), Dir: filepath.Dir(s.Config)})
}
