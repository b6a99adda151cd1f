package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology/yamlfile"
)

// good has every part that a file needs.
const good = `site: ams
broker: {url: "amqp://127.0.0.1:5672"}
topology: {file: topology.yaml}
certificates: {certificate: ams.crt, key: ams.key, authorities: ca.crt}
`

func TestConfigFillsDefaultsAndMakesPathsAbsolute(t *testing.T) {
	got, err := ParseConfig("/etc/cloudqueue/router.yaml", []byte(good))
	want := &Config{
		Site: "ams", Federation: "cloudqueue", DataDir: "/var/lib/cloudqueue", Listen: ":7443",
		Broker:       BrokerConfig{URL: "amqp://127.0.0.1:5672"},
		Store:        StoreConfig{Dir: "/var/lib/cloudqueue/spool"},
		TopologyFile: "/etc/cloudqueue/topology.yaml",
		Certificates: CertificateFiles{"/etc/cloudqueue/ams.crt", "/etc/cloudqueue/ams.key", "/etc/cloudqueue/ca.crt"},
		Log:          LogConfig{Level: "info"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestConfigTakesEveryKey(t *testing.T) {
	got, err := ParseConfig("/etc/cloudqueue/router.yaml", []byte(`
site: ams
federation: acme
data-dir: data
listen: 192.0.2.1:7070
broker:
  url: amqps://broker.ams:5671/prod
  username: cq
  password: file:broker.secret
  authorities: /pki/ca.crt
  certificate: /pki/broker.crt
  key: /pki/broker.key
store: {url: file:///spool/cq/, quota: 400GiB, lane-quota: 100GiB, segment-size: 16MiB}
etcd:
  endpoints: [https://etcd-1:2379, "http://[::1]:2379/"]
  authorities: /pki/etcd-ca.crt
  certificate: /pki/etcd.crt
  key: /pki/etcd.key
  timeout: 2s
certificates: {certificate: /pki/ams.crt, key: /pki/ams.key, authorities: /pki/ca.crt}
log: {level: debug, format: json}
max-lanes: 500
`))
	want := &Config{
		Site: "ams", Federation: "acme", DataDir: "/etc/cloudqueue/data", Listen: "192.0.2.1:7070",
		Broker: BrokerConfig{URL: "amqps://broker.ams:5671/prod", Username: "cq", Password: "file:/etc/cloudqueue/broker.secret",
			Authorities: "/pki/ca.crt", Certificate: "/pki/broker.crt", Key: "/pki/broker.key"},
		Store: StoreConfig{Dir: "/spool/cq", Quota: 400 << 30, LaneQuota: 100 << 30, SegmentSize: 16 << 20},
		Etcd: &EtcdConfig{Endpoints: []string{"https://etcd-1:2379", "http://[::1]:2379/"},
			Authorities: "/pki/etcd-ca.crt", Certificate: "/pki/etcd.crt", Key: "/pki/etcd.key", Timeout: 2 * time.Second},
		Certificates: CertificateFiles{"/pki/ams.crt", "/pki/ams.key", "/pki/ca.crt"},
		Log:          LogConfig{Level: "debug", JSON: true}, MaxLanes: 500,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestConfigSaysWhereEachMistakeIsAndWhatToWrite(t *testing.T) {
	for _, c := range []struct {
		name, change, by string // change "" appends
		want             string // behind the file's name
	}{
		{"unknown key", "site: ams", "site: ams\nlissten: :7443", `2:1: lissten: unknown key "lissten"; write listen`},
		{"key of another style", "site: ams", "site: ams\ndata_dir: /var", `2:1: data_dir: unknown key "data_dir"; write data-dir`},
		{"unknown nested key", "broker: {url", "broker: {usernam: x, url", `2:10: broker.usernam: unknown key "usernam"; write username`},
		{"repeated key", "site: ams", "site: ams\nsite: nyc", `2:1: site: the key "site" stands here twice, first in line 1; write it once`},
		{"site missing", "site: ams", "listen: \":7443\"", `1:1: site: site is missing; write site: ams`},
		{"site with capitals", "site: ams", "site: AMS", `1:7: site: "AMS" is not a valid name of a site; write 1 to 63 of a-z, 0-9 and -`},
		{"site too long", "site: ams", "site: " + strings.Repeat("a", 64), `1:7: site: "` + strings.Repeat("a", 64) + `" is not a valid name of a site; write 1 to 63 of a-z, 0-9 and -`},
		{"site that is a list", "site: ams", "site: [ams]", `1:7: site: a single value is wanted here, there is a list; write one value`},
		{"federation with a space", "site: ams", "site: ams\nfederation: a b", `2:13: federation: "a b" is not a valid name of a federation; write 1 to 63 of a-z, 0-9 and -`},
		{"listen without a port", "site: ams", "site: ams\nlisten: 192.0.2.1", `2:9: listen: "192.0.2.1" is not an address with a port; write ":7443" or 192.0.2.1:7443`},
		{"listen on port 0", "site: ams", "site: ams\nlisten: 192.0.2.1:0", `2:9: listen: "0" is not a port; write a port from 1 to 65535`},
		{"listen on a name", "site: ams", "site: ams\nlisten: ams.example.net:7443", `2:9: listen: "ams.example.net" is not an IP address; write the address of an interface, or ":7443" for all of them`},
		{"broker missing", "broker: {url: \"amqp://127.0.0.1:5672\"}", "", `1:1: broker.url: broker.url is missing; write broker: {url: amqp://127.0.0.1:5672}`},
		{"broker URL of another kind", "amqp://127.0.0.1:5672", "http://127.0.0.1:15672", `2:15: broker.url: this is not the URL of an AMQP broker; write amqp://host:5672/vhost or amqps://host:5671/vhost`},
		{"broker URL with a password", "amqp://127", "amqp://cq:hunter2@127", `2:15: broker.url: a URL with a password does not belong in this file; write the URL without user and password, and the password as file:/path or env:NAME`},
		{"broker URL with a user", "amqp://127", "amqp://cq@127", `2:15: broker.url: the user does not belong in the URL; write the URL without a user, and username: cq`},
		{"password in clear", "broker: {", "broker: {username: cq, password: hunter2, ", `2:34: broker.password: a secret does not belong in this file; write file:/path or env:NAME where this file knows the key`},
		{"reference to nothing", "broker: {", "broker: {username: cq, password: \"env:\", ", `2:34: broker.password: this reference names nothing; write file:/path or env:NAME`},
		{"password without a username", "broker: {", "broker: {password: env:P, ", `2:1: broker.username: a password is given without a username; write username: NAME`},
		{"username without a password", "broker: {", "broker: {username: cq, ", `2:1: broker.password: broker.password is missing; write password: file:/run/secrets/broker or password: env:BROKER_PASSWORD`},
		{"certificates without TLS", "broker: {", "broker: {authorities: ca.crt, ", `2:36: broker.url: certificates are given, but this URL does not use TLS; write amqps://127.0.0.1:5672`},
		{"certificate without its key", "broker: {url: \"amqp:", "broker: {certificate: c.crt, url: \"amqps:", `2:1: broker.key: a certificate is given without its key; write key: PATH`},
		{"store on HDFS", "site: ams", "site: ams\nstore: {url: hdfs://nn/cq}", `2:14: store.url: stores on HDFS come with a later version; write file:///var/lib/cloudqueue/spool`},
		{"store with two slashes", "site: ams", "site: ams\nstore: {url: file://var/cq}", `2:14: store.url: a store's path is absolute: three slashes follow file:; write file:///var/lib/cloudqueue/spool`},
		{"store that is a path", "site: ams", "site: ams\nstore: {url: /var/cq}", `2:14: store.url: a store's URL begins with file://; write file:///var/lib/cloudqueue/spool`},
		{"store that is the root", "site: ams", "site: ams\nstore: {url: file:///}", `2:14: store.url: a store needs a folder of its own; write file:///var/lib/cloudqueue/spool`},
		{"quota without a unit", "site: ams", "site: ams\nstore: {quota: 400}", `2:16: store.quota: the size "400" has no unit; write 64MiB or 500GB`},
		{"quota with a wrong unit", "site: ams", "site: ams\nstore: {quota: 400Gib}", `2:16: store.quota: "Gib" is not a unit of a size; write 400GiB`},
		{"segment too small", "site: ams", "site: ams\nstore: {segment-size: 4KiB}", `2:23: store.segment-size: 4KiB is outside of 1MiB to 1GiB; write 64MiB`},
		{"segment too large", "site: ams", "site: ams\nstore: {segment-size: 2GiB}", `2:23: store.segment-size: 2GiB is outside of 1MiB to 1GiB; write 64MiB`},
		{"quota of a lane above all", "site: ams", "site: ams\nstore: {quota: 1GiB, lane-quota: 2GiB}", `2:34: store.lane-quota: 2GiB is more than the quota; write 1GiB for no limit of a lane's own`},
		{"quota of a lane too small", "site: ams", "site: ams\nstore: {lane-quota: 4KiB}", `2:21: store.lane-quota: 4KiB is less than 1MiB; write 1MiB or more, or leave it away for half of the quota`},
		{"quota below its segments", "site: ams", "site: ams\nstore: {quota: 100MiB, segment-size: 64MiB}", `2:16: store.quota: 100MiB is less than 8 segments; write 512MiB or more, or smaller segments`},
		{"topology missing", "topology: {file: topology.yaml}", "", `1:1: etcd: etcd is missing; write etcd: {endpoints: [https://host:2379]}, or topology: {file: PATH}`},
		{"topology twice", "topology: {", "etcd: {endpoints: [\"https://e:2379\"]}\ntopology: {", `4:11: topology: the topology comes from etcd already; write either etcd or topology`},
		{"topology without a file", "topology: {file: topology.yaml}", "topology: {}", `3:1: topology.file: topology.file is missing; write topology: {file: PATH}`},
		{"etcd without endpoints", "topology: {file: topology.yaml}", "etcd: {}", `3:1: etcd.endpoints: etcd.endpoints is missing; write endpoints: [https://host:2379]`},
		{"endpoint without a scheme", "topology: {file: topology.yaml}", "etcd: {endpoints: [\"etcd-1:2379\"]}", `3:20: etcd.endpoints[0]: this is not the URL of an etcd member; write https://host:2379`},
		{"one endpoint as a text", "topology: {file: topology.yaml}", "etcd: {endpoints: \"https://e:2379\"}", `3:19: etcd.endpoints: a list is wanted here, there is a single value; write ["https://e:2379"]`},
		{"timeout without a unit", "topology: {file: topology.yaml}", "etcd: {timeout: 5, endpoints: [\"https://e:2379\"]}", `3:17: etcd.timeout: the duration "5" has no unit; write 30s, 6h or 500ms`},
		{"timeout too long", "topology: {file: topology.yaml}", "etcd: {timeout: 2h, endpoints: [\"https://e:2379\"]}", `3:17: etcd.timeout: 2h0m0s is outside of 100ms to 1m; write 5s`},
		{"no lanes", "site: ams", "site: ams\nmax-lanes: 0", `2:12: max-lanes: 0 is not a number of lanes for one router; write 1 to 2000`},
		{"more lanes than channels", "site: ams", "site: ams\nmax-lanes: 3000", `2:12: max-lanes: 3000 is not a number of lanes for one router; write 1 to 2000`},
		{"certificates missing", "certificates: {certificate: ams.crt, key: ams.key, authorities: ca.crt}", "", "1:1: certificates: certificates is missing; write certificates: {certificate: ams.crt, key: ams.key, authorities: ca.crt}, as `cloudqueue pki issue` makes them"},
		{"key missing", "key: ams.key, ", "", `4:1: certificates.key: certificates.key is missing; write key: PATH`},
		{"key material", "key: ams.key", "key: \"-----BEGIN EC PRIVATE KEY-----\"", `4:43: certificates.key: key material does not belong in this file; write the path of a file`},
		{"unknown level", "site: ams", "site: ams\nlog: {level: trace}", `2:14: log.level: "trace" is not a level; write debug, info, warn, error`},
		{"unknown format", "site: ams", "site: ams\nlog: {format: xml}", `2:15: log.format: "xml" is not a format; write text or json`},
		{"an anchor", "site: ams", "site: &a ams", `1:7: anchors, aliases and merge keys are not part of this format; write the value out in full`},
		{"no YAML", "site: ams", "site: [", `1:7: no YAML: sequence end token ']' not found; write key: value, indented with spaces, and the end of every bracket and quote`},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(good, c.change, c.by, 1)
			if src == good {
				t.Fatalf("%q is not in the file", c.change)
			}
			_, err := ParseConfig("router.yaml", []byte(src))
			var problems yamlfile.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v is no Problems", err)
			}
			if diff := cmp.Diff("router.yaml:"+c.want, err.Error()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Error("the error repeats the secret")
			}
		})
	}
}

func TestConfigRefusesATopologyFileThatTheLastGoodCopyWouldReplace(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link.yaml": filepath.Join(data, "topology.last-good.yaml"), "other": data} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(file string) error {
		_, err := ParseConfig(filepath.Join(dir, "router.yaml"), []byte(strings.Replace(good, "{file: topology.yaml}", "{file: "+file+"}\ndata-dir: data", 1)))
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "topology.last-good.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"data/topology.last-good.yaml", "data/../data/topology.last-good.yaml", "other/topology.last-good.yaml", "link.yaml"} {
		if err := parse(file); err == nil || !strings.Contains(err.Error(), "topology.file: the router keeps its own last good copy there") {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, file := range []string{"data/topology.yaml", "topology.last-good.yaml"} {
		if err := parse(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestConfigReportsAllMistakesAtOnceInTheOrderOfTheFile(t *testing.T) {
	_, err := ParseConfig("r.yaml", []byte("sight: ams\nlog: {level: loud}\nbroker: {url: x}\nstore: {quota: 1}\n"))
	var problems yamlfile.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	want := []string{"certificates", "etcd", "sight", "site", "log.level", "broker.url", "store.quota"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, err)
	}
}

func TestReadConfigOfAMissingFileSaysHowToNameOne(t *testing.T) {
	_, err := ReadConfig(filepath.Join(t.TempDir(), "router.yaml"))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--config") {
		t.Errorf("got %v", err)
	}
}

func TestSecretIsReadFromAFileOrTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) Secret {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return Secret("file:" + path)
	}
	t.Setenv("CLOUDQUEUE_TEST_SECRET", " with blanks ")
	for name, c := range map[string]struct {
		secret Secret
		want   string
		fails  string
	}{
		"none":            {"", "", ""},
		"environment":     {"env:CLOUDQUEUE_TEST_SECRET", " with blanks ", ""},
		"unset":           {"env:CLOUDQUEUE_TEST_UNSET", "", "CLOUDQUEUE_TEST_UNSET is not set"},
		"file":            {write("a", "hunter2"), "hunter2", ""},
		"file with lines": {write("b", "hunter2\r\n"), "hunter2", ""},
		"empty file":      {write("c", "\n"), "", "empty"},
		"large file":      {write("d", strings.Repeat("x", maxSecret+1)), "", "over"},
		"missing file":    {Secret("file:" + filepath.Join(dir, "e")), "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.secret.Resolve()
			if got != c.want || (err == nil) != (c.fails == "") || !strings.Contains(fmt.Sprint(err), c.fails) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.fails)
			}
		})
	}
}

// reference is the text of docs/configuration.md.
func reference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheExamplesOfTheReferenceAreRight(t *testing.T) {
	blocks := strings.Split(reference(t), "```")
	examples := 0
	for _, block := range blocks {
		if src, ok := strings.CutPrefix(block, "yaml\n"); ok {
			examples++
			if _, err := ParseConfig("router.yaml", []byte(src)); err != nil {
				t.Errorf("%s\n%v", src, err)
			}
		}
	}
	if examples != 2 {
		t.Errorf("%d examples, want 2", examples)
	}
}

func TestTheReferenceHasEveryKey(t *testing.T) {
	text := reference(t)
	for _, key := range keysOf("", reflect.TypeFor[configSchema]()) {
		if !strings.Contains(text, "`"+key+"`") {
			t.Errorf("docs/configuration.md does not have %s", key)
		}
	}
}

// keysOf lists the paths of a schema's values.
func keysOf(prefix string, schema reflect.Type) (keys []string) {
	for i := range schema.NumField() {
		field := schema.Field(i).Type
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		key := prefix + schema.Field(i).Tag.Get("yaml")
		if field.Kind() == reflect.Struct {
			keys = append(keys, keysOf(key+".", field)...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}
