package site

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

// configParser makes a Config of what the file says and reports what it may not say. It goes on after a problem.
type configParser struct {
	folder string
	file   *yamlfile.File
	in     configSchema
	out    Config
}

func (p *configParser) fill() {
	p.out.Site = federation.SiteID(p.name("site", p.in.Site, "site: ams"))
	p.out.Federation = p.name("federation", cmp.Or(p.in.Federation, DefaultFederation), "federation: acme")
	p.out.DataDir = p.dataDir(p.in.DataDir)
	p.out.Listen = p.listen(cmp.Or(p.in.Listen, DefaultListen))
	p.fillBroker()
	p.fillStore()
	p.fillTopology()
	p.fillLanes()
	p.fillCertificates()
	p.fillLog()
}

// missing reports a key that must be there.
func (p *configParser) missing(path, write string) { p.file.Report(path, write, "%s is missing", path) }

// name takes the name of a site or of a federation: one rule for both.
func (p *configParser) name(path, value, write string) string {
	if value == "" {
		p.missing(path, write)
	} else if !federation.ValidName(value) {
		p.file.Report(path, "1 to 63 of a-z, 0-9 and -", "%q is not a valid name of a %s", value, path)
	}
	return value
}

// path makes a path of the file absolute; empty stays empty.
func (p *configParser) path(value string) string {
	if value == "" || filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(p.folder, value)
}

func (p *configParser) listen(address string) string {
	host, port, err := net.SplitHostPort(address)
	number, portErr := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil:
		p.file.Report("listen", `":7443" or 192.0.2.1:7443`, "%q is not an address with a port", address)
	case portErr != nil || number == 0:
		p.file.Report("listen", "a port from 1 to 65535", "%q is not a port", port)
	case host != "" && !isAddress(host):
		p.file.Report("listen", `the address of an interface, or ":`+port+`" for all of them`, "%q is not an IP address", host)
	}
	return address
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (p *configParser) fillBroker() {
	in := p.in.Broker
	p.out.Broker = BrokerConfig{URL: in.URL, Username: in.Username, Password: p.secret(in.Password),
		Authorities: p.path(in.Authorities), Certificate: p.path(in.Certificate), Key: p.path(in.Key)}
	p.pair("broker", in.Certificate, in.Key)
	if in.URL == "" {
		p.missing("broker.url", "broker: {url: amqp://127.0.0.1:5672}")
		return
	}
	u, err := url.Parse(in.URL)
	if err != nil || u.Host == "" || u.Scheme != "amqp" && u.Scheme != "amqps" {
		p.file.Report("broker.url", "amqp://host:5672/vhost or amqps://host:5671/vhost", "this is not the URL of an AMQP broker")
		return
	}
	if u.User != nil {
		p.file.Report("broker.url", "the URL without a user, and username: "+u.User.Username(), "the user does not belong in the URL")
	}
	if u.Scheme == "amqp" && cmp.Or(in.Authorities, in.Certificate, in.Key) != "" {
		p.file.Report("broker.url", "amqps://"+u.Host+u.Path, "certificates are given, but this URL does not use TLS")
	}
	p.brokerLogin(in)
}

func (p *configParser) brokerLogin(in brokerSchema) {
	if in.Username == "" && in.Password != "" {
		p.file.Report("broker.username", "username: NAME", "a password is given without a username")
	}
	if in.Username != "" && in.Password == "" && in.Certificate == "" && !p.file.Failed("broker.password") {
		p.file.Report("broker.password", "password: file:/run/secrets/broker or password: env:BROKER_PASSWORD", "broker.password is missing")
	}
}

// pair wants a certificate and its key, or neither.
func (p *configParser) pair(path, certificate, key string) {
	if certificate != "" && key == "" {
		p.file.Report(path+".key", "key: PATH", "a certificate is given without its key")
	}
	if certificate == "" && key != "" {
		p.file.Report(path+".certificate", "certificate: PATH", "a key is given without its certificate")
	}
}

// secret makes the path of a file: reference absolute.
func (p *configParser) secret(s Secret) Secret {
	if path, ok := strings.CutPrefix(string(s), "file:"); ok {
		return Secret("file:" + p.path(path))
	}
	return s
}

func (p *configParser) fillStore() {
	in := p.in.Store
	p.out.Store = StoreConfig{Dir: filepath.Join(p.out.DataDir, "spool"), Quota: uint64(in.Quota), LaneQuota: uint64(in.LaneQuota), SegmentSize: uint64(in.SegmentSize)}
	if in.SegmentSize != 0 && (in.SegmentSize < minSegment || in.SegmentSize > maxSegment) {
		p.file.Report("store.segment-size", "64MiB", "%s is outside of 1MiB to 1GiB", in.SegmentSize)
	} else if in.Quota != 0 && in.Quota < minSegments*in.SegmentSize {
		p.file.Report("store.quota", (minSegments*in.SegmentSize).String()+" or more, or smaller segments", "%s is less than %d segments", in.Quota, minSegments)
	}
	switch {
	case in.LaneQuota != 0 && in.LaneQuota < minSegment:
		p.file.Report("store.lane-quota", "1MiB or more, or leave it away for half of the quota", "%s is less than 1MiB", in.LaneQuota)
	case in.Quota != 0 && in.LaneQuota > in.Quota:
		p.file.Report("store.lane-quota", in.Quota.String()+" for no limit of a lane's own", "%s is more than the quota", in.LaneQuota)
	}
	if in.URL == "" {
		return
	}
	dir, what := StoreDir(in.URL)
	if what != "" {
		p.file.Report("store.url", "file:///var/lib/cloudqueue/spool", "%s", what)
	}
	p.out.Store.Dir = dir
}

// StoreDir gives the directory that a store's URL names, or says what is wrong with it.
func StoreDir(text string) (dir, what string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", "this is not a URL"
	case u.Scheme == "hdfs":
		return "", "stores on HDFS come with a later version"
	case u.Scheme != "file":
		return "", "a store's URL begins with file://"
	case u.Host != "":
		return "", "a store's path is absolute: three slashes follow file:"
	case u.RawQuery != "" || u.Fragment != "":
		return "", "a store's URL has no parameters"
	case !filepath.IsAbs(u.Path) || filepath.Clean(u.Path) == "/":
		return "", "a store needs a folder of its own"
	}
	return filepath.Clean(u.Path), ""
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

func (p *configParser) fillLanes() {
	if p.in.MaxLanes == nil {
		return
	}
	if p.out.MaxLanes = *p.in.MaxLanes; p.out.MaxLanes < 1 || p.out.MaxLanes > maxLanes {
		p.file.Report("max-lanes", "1 to 2000", "%d is not a number of lanes for one router", p.out.MaxLanes)
	}
}

func (p *configParser) fillCertificates() {
	in := p.in.Certificates
	p.out.Certificates = CertificateFiles{p.path(in.Certificate), p.path(in.Key), p.path(in.Authorities)}
	if in == (certificatesSchema{}) {
		p.missing("certificates", "certificates: {certificate: ams.crt, key: ams.key, authorities: ca.crt}, as `cloudqueue pki issue` makes them")
		return
	}
	for _, part := range []struct{ key, value string }{{"certificate", in.Certificate}, {"key", in.Key}, {"authorities", in.Authorities}} {
		if part.value == "" {
			p.missing("certificates."+part.key, part.key+": PATH")
		}
	}
}

var logLevels = []string{"debug", "info", "warn", "error"}

func (p *configParser) fillLog() {
	p.out.Log = LogConfig{Level: cmp.Or(p.in.Log.Level, "info"), JSON: p.in.Log.Format == "json"}
	if !slices.Contains(logLevels, p.out.Log.Level) {
		p.file.Report("log.level", strings.Join(logLevels, ", "), "%q is not a level", p.out.Log.Level)
	}
	if f := p.in.Log.Format; f != "" && f != "json" && f != "text" {
		p.file.Report("log.format", "text or json", "%q is not a format", f)
	}
}
