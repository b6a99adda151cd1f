package site

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cloudqueue/federation"
	"cloudqueue/topology"
	"cloudqueue/topology/yamlfile"
)

// Config is a router's own file: what differs between the routers of one topology. docs/configuration.md is its reference.
// Paths in it are absolute: the file's are relative to the folder that it lies in.
type Config struct {
	// Site is the name of this site in the topology.
	Site federation.SiteID
	// Federation is the topology's; it stands in the certificates.
	Federation string
	// DataDir holds the admin socket, the last good topology and, unless Store says otherwise, the store.
	DataDir      string
	Broker       BrokerConfig
	Store        StoreConfig
	Etcd         *EtcdConfig // nil: the topology comes from TopologyFile
	TopologyFile string      // empty: it comes from Etcd
	// Listen is the UDP address for the peers, for example ":7443".
	Listen string
	// MaxLanes is how many lanes may end at this site, each with a channel to the broker; 0: the router's default.
	MaxLanes     int
	Certificates CertificateFiles
	Log          LogConfig
}

// CertificateFiles are the files of the site's identity, PEM each.
type CertificateFiles struct{ Certificate, Key, Authorities string }

// LogConfig tells what is logged to standard error.
type LogConfig struct {
	Level string // debug, info, warn, error
	JSON  bool   // one JSON object a line instead of text
}

// AdminSocket is the path of the admin channel.
func (c *Config) AdminSocket() string { return filepath.Join(c.DataDir, "admin.sock") }

// LastGoodTopology is the path of the copy of the topology that survives etcd. Nobody gives that name to a file of his own.
func (c *Config) LastGoodTopology() string {
	return filepath.Join(c.DataDir, "topology.last-good.yaml")
}

// Defaults of the file.
const (
	DefaultConfigPath = "/etc/cloudqueue/router.yaml"
	DefaultDataDir    = "/var/lib/cloudqueue"
	DefaultListen     = ":7443"
	DefaultFederation = topology.DefaultFederation
	maxLanes          = 2000 // chosen: RabbitMQ gives a connection 2,047 channels
)

// ReadConfig reads the file at path. The error is yamlfile.Problems when the file says something wrong: all of it at once,
// with line, column, and what to write.
func ReadConfig(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("router file: %w: name one with --config, or write one as docs/configuration.md shows", err)
	}
	defer f.Close() // read only
	src, err := io.ReadAll(io.LimitReader(f, yamlfile.MaxSource+1))
	if err != nil {
		return nil, fmt.Errorf("router file: %w", err)
	}
	return ParseConfig(path, src)
}

// ParseConfig reads a file's text; paths in it are relative to the folder of name.
func ParseConfig(name string, src []byte) (*Config, error) {
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("router file %s: %w", name, err)
	}
	p := configParser{folder: folder}
	p.file = yamlfile.Decode(name, src, &p.in)
	if p.file.Root != nil {
		p.fill()
	}
	if err := p.file.Err(); err != nil {
		return nil, err
	}
	return &p.out, nil
}

// configSchema is the file as it stands.
type configSchema struct {
	Site         string             `yaml:"site"`
	Federation   string             `yaml:"federation"`
	DataDir      string             `yaml:"data-dir"`
	Listen       string             `yaml:"listen"`
	Broker       brokerSchema       `yaml:"broker"`
	Store        storeSchema        `yaml:"store"`
	Etcd         *etcdSchema        `yaml:"etcd"`
	Topology     *topologySchema    `yaml:"topology"`
	MaxLanes     *int               `yaml:"max-lanes"`
	Certificates certificatesSchema `yaml:"certificates"`
	Log          logSchema          `yaml:"log"`
}

type certificatesSchema struct {
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
	Authorities string `yaml:"authorities"`
}

type logSchema struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}
