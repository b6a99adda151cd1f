package site

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// EtcdConfig tells how to reach the etcd that holds the topology.
type EtcdConfig struct {
	Endpoints   []string // https://host:2379
	Certificate string   // PEM files; empty: none
	Key         string
	Authorities string // empty: the system's
	Timeout     time.Duration
}

type etcdSchema struct {
	Endpoints   []string      `yaml:"endpoints"`
	Authorities string        `yaml:"authorities"`
	Certificate string        `yaml:"certificate"`
	Key         string        `yaml:"key"`
	Timeout     time.Duration `yaml:"timeout"`
}

type topologySchema struct {
	File string `yaml:"file"`
}

func (p *configParser) fillTopology() {
	switch {
	case p.in.Etcd != nil && p.in.Topology != nil:
		p.file.Report("topology", "either etcd or topology", "the topology comes from etcd already")
	case p.in.Etcd != nil:
		p.fillEtcd(p.in.Etcd)
	case p.in.Topology == nil:
		p.missing("etcd", "etcd: {endpoints: [https://host:2379]}, or topology: {file: PATH}")
	case p.in.Topology.File == "":
		p.missing("topology.file", "topology: {file: PATH}")
	default:
		p.out.TopologyFile = p.path(p.in.Topology.File)
		if resolved(p.out.TopologyFile) == resolved(p.out.LastGoodTopology()) {
			p.file.Report("topology.file", "a path outside of data-dir", "the router keeps its own last good copy there and would write over the file")
		}
	}
}

// resolved follows the symbolic links of a path as far as it exists.
func resolved(path string) string {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		return whole
	}
	if folder := filepath.Dir(path); folder != path {
		return filepath.Join(resolved(folder), filepath.Base(path))
	}
	return path
}

func (p *configParser) fillEtcd(in *etcdSchema) {
	p.out.Etcd = &EtcdConfig{Endpoints: in.Endpoints,
		Certificate: p.path(in.Certificate), Key: p.path(in.Key), Authorities: p.path(in.Authorities), Timeout: cmp.Or(in.Timeout, 5*time.Second)}
	p.pair("etcd", in.Certificate, in.Key)
	if len(in.Endpoints) == 0 {
		p.missing("etcd.endpoints", "endpoints: [https://host:2379]")
	}
	for i, endpoint := range in.Endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			p.file.Report("etcd.endpoints["+strconv.Itoa(i)+"]", "https://host:2379", "this is not the URL of an etcd member")
		}
	}
	if in.Timeout != 0 && (in.Timeout < 100*time.Millisecond || in.Timeout > time.Minute) {
		p.file.Report("etcd.timeout", "5s", "%v is outside of 100ms to 1m", in.Timeout)
	}
}
