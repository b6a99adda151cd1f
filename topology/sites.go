package topology

import (
	"fmt"
	"net/netip"
	"strings"

	"cloudqueue/federation"
)

// Limits of sites.
const (
	maxSites  = 1000 // chosen: a full mesh of so many is half a million links; ten times what anybody asked for
	maxListen = 8    // chosen: two families at two providers, twice
	maxLabels = 32
)

func (b *builder) addSites() {
	if len(b.in.Sites) < 2 {
		b.file.Report("sites", "sites: {ams: {listen: [ams.example.net:7443]}, nyc: {}}",
			"a topology needs two sites, there are %d", len(b.in.Sites))
	}
	if len(b.in.Sites) > maxSites {
		b.file.Report("sites", "", "%d sites, the limit is %d", len(b.in.Sites), maxSites)
	}
	owner := map[string]string{}
	for _, id := range sortedKeys(b.in.Sites) {
		s := b.in.Sites[id]
		path := "sites." + id
		if !b.checkKeyName(path, "site", id) {
			continue
		}
		b.checkListen(path, id, s.Listen, owner)
		b.checkLabels(path, s.Labels)
		b.doc.sites = append(b.doc.sites, Site{ID: federation.SiteID(id), Listen: s.Listen, Labels: s.Labels})
	}
}

func (b *builder) checkListen(path, site string, listen []string, owner map[string]string) {
	if len(listen) > maxListen {
		b.file.Report(path+".listen", "", "%d addresses, the limit is %d", len(listen), maxListen)
	}
	for i, address := range listen {
		at := fmt.Sprintf("%s.listen[%d]", path, i)
		if err := checkAddress(address); err != "" {
			b.file.Report(at, "host:port as peers reach it, for example "+site+".example.net:7443", "%s", err)
			continue
		}
		if other, taken := owner[address]; taken {
			b.file.Report(at, "an address of its own for each site", "%s is already an address of site %s", address,
				other)
		}
		owner[address] = site
	}
}

// checkAddress says what is wrong with an address that others shall dial.
func checkAddress(address string) string {
	host, port, ok := cutPort(address)
	if !ok {
		return fmt.Sprintf("%q has no port", address)
	}
	if !validPort(port) {
		return fmt.Sprintf("%q is not a port from 1 to 65535", port)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsUnspecified() {
			return fmt.Sprintf("peers cannot dial %s", host)
		}
		return ""
	}
	if !validHost(host) {
		return fmt.Sprintf("%q is not a host name", host)
	}
	return ""
}

func cutPort(address string) (host, port string, ok bool) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return "", "", false
	}
	host, port = address[:i], address[i+1:]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	return host, port, true
}

func validPort(port string) bool {
	n := 0
	for _, r := range port {
		if r < '0' || r > '9' || n > 65535 {
			return false
		}
		n = n*10 + int(r-'0')
	}
	return n >= 1 && n <= 65535
}

// validHost accepts the names that DNS and /etc/hosts give to machines (RFC 1123 section 2.1, with underscores, which
// container networks use).
func validHost(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, r := range label {
			if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
				return false
			}
		}
	}
	return len(host) <= 253
}

func (b *builder) checkLabels(path string, labels map[string]string) {
	if len(labels) > maxLabels {
		b.file.Report(path+".labels", "", "%d labels, the limit is %d", len(labels), maxLabels)
	}
	for _, key := range sortedKeys(labels) {
		b.checkKeyName(path+".labels."+key, "label", key)
		if !federation.ValidName(labels[key]) {
			b.file.Report(path+".labels."+key, nameRule, "%q is not a valid value of a label", labels[key])
		}
	}
}
