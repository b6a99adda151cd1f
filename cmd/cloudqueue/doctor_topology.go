package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"cloudqueue/topology"
)

func (d *doctor) checkTopology(ctx context.Context) []finding {
	const part = "topology"
	stored, name, err := d.readTopology(ctx, d.config)
	switch {
	case errors.Is(err, topology.ErrMissing) && d.config.Etcd != nil:
		return []finding{broken(part, "cloudqueue topology apply FILE", fmt.Errorf("%s holds no topology", name))}
	case err != nil && d.config.Etcd != nil:
		return []finding{d.withoutEtcd(part, err)}
	case err != nil:
		return []finding{broken(part, "write it, or mend topology.file in the router's file", err)}
	}
	document, err := stored.Open(name)
	if err != nil {
		return []finding{broken(part, "cloudqueue topology validate FILE", err)}
	}
	d.document = document
	return d.checkDocument(part, document)
}

// withoutEtcd tells a site that has a last good copy to go on with from one that waits.
func (d *doctor) withoutEtcd(part string, err error) finding {
	const fix = "see that etcd runs, and etcd in the router's file"
	if _, missing := os.Stat(d.config.LastGoodTopology()); missing != nil {
		return broken(part, fix, fmt.Errorf("%w; there is no last good copy yet: a router waits", err))
	}
	return atRisk(part, fix, "%v; a router goes on with its last good copy", err)
}

func (d *doctor) checkDocument(part string, document *topology.Document) []finding {
	if document.Federation() != d.config.Federation {
		return []finding{broken(part, "write the same federation in both", fmt.Errorf("the topology is of federation %s, this router of %s", document.Federation(), d.config.Federation))}
	}
	if _, ok := document.Site(d.config.Site); !ok {
		return []finding{broken(part, "add the site to the topology, or mend site in the router's file", fmt.Errorf("the topology has no site %s", d.config.Site))}
	}
	findings := []finding{good(part, "digest %.12s, from here: %s, to here: %s, %s", fmt.Sprintf("%x", document.Digest()), count(len(document.RoutesFrom(d.config.Site)), "route"),
		count(len(document.RoutesTo(d.config.Site)), "route"), count(len(document.Peers(d.config.Site)), "peer"))}
	for _, w := range document.Warnings() {
		findings = append(findings, atRisk(part, w.Write, "%s: %s", w.Path, w.What))
	}
	return findings
}
