package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cloudqueue/router/site"
	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
	"cloudqueue/topology/yamlfile"
)

// topologyPlace is where the topology is: the router file's place, unless flags name another etcd.
type topologyPlace struct {
	endpoints  []string
	federation string
}

func (a *app) topologyCommand() *cobra.Command {
	place := &topologyPlace{}
	c := group("topology", "Validate, plan, apply and show the topology",
		`  cloudqueue topology validate topology.yaml
  cloudqueue topology plan topology.yaml
  cloudqueue topology apply topology.yaml --comment 'sin gets orders too' --wait
  cloudqueue topology show`,
		a.topologyValidate(), a.topologyPlan(place), a.topologyApply(place), a.topologyShow(place))
	c.PersistentFlags().StringSliceVar(&place.endpoints, "etcd", nil, "etcd's endpoints (default: those in --config)")
	c.PersistentFlags().StringVar(&place.federation, "federation", site.DefaultFederation,
		"the federation, with --etcd")
	return c
}

// store opens the etcd that holds the topology. file is the one that the call is about; empty for none.
func (p *topologyPlace) store(a *app, file string) (*etcd.Store, error) {
	if len(p.endpoints) > 0 {
		if err := checkEndpoints(p.endpoints); err != nil {
			return nil, err
		}
		return etcd.New(etcd.Config{Endpoints: p.endpoints, Federation: p.federation, Timeout: a.timeout})
	}
	config, err := site.ReadConfig(a.configPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fail(exitUsage, "name etcd with --etcd, or the router's file with --config", "%w", err)
	}
	if err != nil {
		return nil, err
	}
	if config.Etcd == nil {
		return nil, notInEtcd(config.TopologyFile, file)
	}
	return openEtcd(config)
}

// notInEtcd is the refusal of a site whose topology is a file, inForce.
func notInEtcd(inForce, file string) error {
	if path, err := filepath.Abs(file); file == "" || file == "-" || err != nil || path == inForce {
		file = "FILE"
	}
	compare := "cloudqueue topology plan " + quoted(file) + " --against " + quoted(inForce)
	return fail(exitRefused,
		"edit that file: its router follows it live, and `cloudqueue status` says what it runs; what another one would change: "+compare,
		"this site's topology is the file %s, not in etcd", inForce)
}

// checkEndpoints wants URLs, or host:port as etcdctl takes it: of anything else the client would only say that it does
// not answer.
func checkEndpoints(endpoints []string) error {
	for _, endpoint := range endpoints {
		_, hostPort, isURL := strings.Cut(endpoint, "://")
		if !isURL {
			hostPort = endpoint
		}
		if _, _, err := net.SplitHostPort(hostPort); err != nil {
			return fail(exitUsage, "write for example --etcd https://etcd-1:2379,https://etcd-2:2379",
				"%q is not an endpoint of etcd", endpoint)
		}
	}
	return nil
}

func openEtcd(config *site.Config) (*etcd.Store, error) {
	tlsConfig, err := config.Etcd.TLS()
	if err != nil {
		return nil, err
	}
	return etcd.New(etcd.Config{Endpoints: config.Etcd.Endpoints, Federation: config.Federation, TLS: tlsConfig,
		Timeout: config.Etcd.Timeout})
}

// readTopology reads what the router of a file would.
func readTopology(ctx context.Context, config *site.Config) (stored topology.Stored, name string, err error) {
	if config.Etcd == nil {
		file := topology.NewFile(config.TopologyFile)
		stored, err = file.Read(ctx)
		return stored, file.Name(), err
	}
	store, err := openEtcd(config)
	if err != nil {
		return stored, "etcd", err
	}
	stored, err = store.Get(ctx)
	return stored, store.Source().Name(), errors.Join(err, store.Close())
}

// readDocument reads and checks a file; - is standard input.
func (a *app) readDocument(path string) (*topology.Document, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fail(exitUsage, "name the topology's file, or - for standard input", "%w", err)
		}
		defer f.Close() // read only
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, yamlfile.MaxSource+1))
	if err != nil {
		return nil, fail(exitUsage, "name the topology's file, or - for standard input", "%w", err)
	}
	return topology.Parse(path, src)
}

// refusedPlan says which word apply takes for what a plan would do.
func refusedPlan(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, topology.ErrStrands):
		return &failure{exitRefused, err,
			"if that is meant: topology apply with --accept-stranding, or in a plain file accept-stranding: [the digest above]"}
	case errors.Is(err, topology.ErrMassRemoval):
		return &failure{exitRefused, err,
			"if that is meant: topology apply with --accept-mass-removal, or in a plain file accept-stranding: [the digest above]"}
	}
	return &failure{exitRefused, err, "change the document in a way that the text above names"}
}

// unreachableEtcd gives errors that are not about the document the code for etcd.
func unreachableEtcd(err error) error {
	var f *failure
	var problems topology.Problems
	switch {
	case err == nil || errors.As(err, &f) || errors.As(err, &problems) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, topology.ErrMissing):
		return &failure{exitNo, err,
			"look at --federation and --version if you gave one; the first one comes by cloudqueue topology apply FILE"}
	case errors.Is(err, etcd.ErrConflict):
		return &failure{exitRefused, err, "plan again, and apply what you then want"}
	case errors.Is(err, etcd.ErrUnknown):
		return &failure{exitFailed, err, "look with `cloudqueue topology show`, then apply again if it is not there"}
	case errors.Is(err, topology.ErrRefused), errors.Is(err, topology.ErrStrands),
		errors.Is(err, topology.ErrMassRemoval):
		return refusedPlan(err)
	case errors.Is(err, etcd.ErrTooLarge), errors.Is(err, etcd.ErrDamaged), errors.Is(err, etcd.ErrFormat):
		return &failure{exitFailed, err, ""}
	}
	return &failure{exitUnreachable, err, "see that etcd runs, and which endpoints --config or --etcd names"}
}
