package site

import (
	"cmp"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
