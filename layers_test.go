package cloudqueue_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The layers of docs/design.md, section 10: a package imports only packages of ours that its line allows. The first line
// that names the package, or a folder above it, holds. "..." means a folder and everything below it.
var layers = []struct {
	path    string
	imports []string
}{
	{"durable", nil},
	{"federation", nil},
	{"topology/yamlfile", nil},
	{"topology/etcd/embedded", nil},
	{"topology/etcd", []string{"federation", "topology", "topology/yamlfile"}},
	{"topology", []string{"durable", "federation", "topology/yamlfile"}},
	{"wan/halfdeaf", nil},
	{"wan", []string{"durable", "federation", "wan/..."}},
	{"localbroker/embedded", []string{"localbroker/amqpwire"}},
	{"localbroker/amqpwire", nil},
	{"localbroker/bus", []string{"federation"}},
	{"localbroker", []string{"federation", "localbroker/amqpwire"}},
	{"router/spool/storetest", []string{"federation", "router/spool"}},
	{"router/spool/memstore", []string{"federation", "router/spool", "router/spool/storetest"}},
	{"router/spool/localdir/crashdisk", []string{"router/spool/localdir"}},
	{"router/spool/localdir/smalldisk", nil},
	{"router/spool/localdir", []string{"federation", "router/spool"}},
	{"router/spool/hdfs", []string{"federation", "router/spool"}},
	{"router/spool", []string{"federation"}},
	{"router/admin", []string{"federation"}},
	{"router/site", []string{"federation", "topology/...", "wan/...", "localbroker/...", "router/..."}},
	{"router", []string{"federation", "topology", "router/spool", "router/admin"}},
	{"sim", []string{"..."}},
	{"cmd", []string{"..."}},
}

// Programs and the simulation stand above everything: only they may import sim.
var mayImportSim = []string{"sim/...", "cmd/..."}

// Every third-party module has one importing package in the product's path; below it, and in sim and tests, clients may
// appear too. A module that is not named here may not be imported.
var importers = map[string][]string{
	"github.com/klauspost/compress":      {"federation"},
	"github.com/quic-go/quic-go":         {"wan"},
	"github.com/rabbitmq/amqp091-go":     {"localbroker"},
	"go.etcd.io/etcd/client":             {"topology/etcd"},
	"go.etcd.io/etcd/api":                {"topology/etcd"},
	"go.etcd.io/etcd/server":             {"topology/etcd/embedded"},
	"github.com/goccy/go-yaml":           {"topology/yamlfile"},
	"github.com/spf13/cobra":             {"cmd/..."},
	"github.com/jedib0t/go-pretty":       {"cmd/..."},
	"golang.org/x/":                      {"..."},
	"pgregory.net/rapid":                 {"router/spool/storetest"},
	"github.com/google/go-cmp":           {"router/spool/storetest"},
	"go.uber.org/zap":                    {"topology/etcd/..."}, // etcd's client and server want its logger
	"google.golang.org/grpc":             {"topology/etcd"},     // the status codes of etcd's errors
	"github.com/colinmarc/hdfs":          {"router/spool/hdfs/..."},
	"github.com/prometheus/client_model": {},
}

// Linked into a program, testing brings its flags and its exit paths along.
var mayImportTesting = []string{"sim/...", "cmd/cloudqueue-sim/...", "router/spool/storetest"}

const module = "cloudqueue/"

// goPackage is what go list says of a package. Its imports are those of the files that are not tests.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

// ours is the path within the module.
func (p goPackage) ours() string { return strings.TrimPrefix(p.ImportPath, module) }

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Imports,Deps,Standard"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// matches says whether path is the pattern, or below it when the pattern ends in "...".
func matches(path, pattern string) bool {
	parent, below := strings.CutSuffix(pattern, "...")
	if !below {
		return path == pattern
	}
	return strings.HasPrefix(path+"/", parent)
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(path, pattern) })
}

// allowed is what a package of ours may import of ours.
func allowed(path string) ([]string, bool) {
	for _, layer := range layers {
		if matches(path, layer.path) || matches(path, layer.path+"/...") {
			return layer.imports, true
		}
	}
	return nil, false
}

func TestLayersImportOnlyWhatIsBelowThem(t *testing.T) {
	for _, p := range list(t, "./...") {
		if p.ImportPath == "cloudqueue" {
			continue // this test alone
		}
		below, ok := allowed(p.ours())
		if !ok {
			t.Errorf("%s has no layer: name it in layers_test.go, as docs/design.md section 10 places it", p.ours())
		}
		for _, path := range p.Imports {
			of, isOurs := strings.CutPrefix(path, module)
			if isOurs && !matchesAny(of, below) {
				t.Errorf("%s imports %s; its layer allows %v", p.ours(), of, below)
			}
			if isOurs && matches(of, "sim/...") && !matchesAny(p.ours(), mayImportSim) {
				t.Errorf("%s imports %s; only %v may", p.ours(), of, mayImportSim)
			}
		}
	}
}

func TestImportsOfAModuleComeFromOnePackage(t *testing.T) {
	for _, p := range list(t, "./...") {
		if matches(p.ours(), "sim/...") {
			continue
		}
		for _, path := range p.Imports {
			if !isThirdParty(path) {
				continue
			}
			name, patterns := importersOf(path)
			if name == "" {
				t.Errorf("%s imports %s, a module that layers_test.go does not know: it needs an entry there and in docs/decisions.md", p.ours(), path)
			} else if !matchesAny(p.ours(), patterns) {
				t.Errorf("%s imports %s; only %v may", p.ours(), path, patterns)
			}
		}
	}
}

// isThirdParty says whether an import path has a host name in front and is not ours.
func isThirdParty(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}

func importersOf(path string) (module string, patterns []string) {
	for module, patterns := range importers {
		if strings.HasPrefix(path+"/", strings.TrimSuffix(module, "/")+"/") {
			return module, patterns
		}
	}
	return "", nil
}

func TestLayersImportTestingOnlyInTheSimulation(t *testing.T) {
	for _, p := range list(t, "./...") {
		if slices.Contains(p.Imports, "testing") && !matchesAny(p.ours(), mayImportTesting) {
			t.Errorf("%s imports testing outside its tests; only %v may", p.ours(), mayImportTesting)
		}
	}
	for _, p := range list(t, "./cmd/cloudqueue") {
		if slices.Contains(p.Deps, "testing") {
			t.Error("cmd/cloudqueue depends on testing: see go list -deps ./cmd/cloudqueue")
		}
	}
}
