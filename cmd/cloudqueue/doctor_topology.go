package main

import (
	"context"
	"errors"
	"fmt"

	"cloudqueue/topology"
)

func (d *doctor) checkTopology(ctx context.Context) []finding {
	const part = "topology"
	stored, name, err := d.readTopology(ctx, d.config)
	switch {
	case errors.Is(err, topology.ErrMissing) && d.config.Etcd != nil:
		return []finding{broken(part, "cloudqueue topology apply FILE", fmt.Errorf("%s holds no topology", name))}
	case err != nil && d.config.Etcd != nil:
		return []finding{d.withoutEtcd(ctx, part, err)}
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

func (d *doctor) checkDocument(part string, document *topology.Document) []finding {
	if document.Federation() != d.config.Federation {
		return []finding{broken(part, "write the same federation in both",
			fmt.Errorf("the topology is of federation %s, this router of %s", document.Federation(),
				d.config.Federation))}
	}
	if _, ok := document.Site(d.config.Site); !ok {
		return []finding{broken(part, "add the site to the topology, or mend site in the router's file",
			fmt.Errorf("the topology has no site %s", d.config.Site))}
	}
	findings := []finding{good(part, "digest %.12s, from here: %s, to here: %s, %s",
		fmt.Sprintf("%x", document.Digest()), count(len(document.RoutesFrom(d.config.Site)), "route"),
		count(len(document.RoutesTo(d.config.Site)), "route"), count(len(document.Peers(d.config.Site)), "peer"))}
	for _, w := range document.Warnings() {
		findings = append(findings, atRisk(part, w.Write, "%s: %s", w.Path, w.What))
	}
	return findings
}
