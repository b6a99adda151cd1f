package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/router/site"
	"cloudqueue/wan/pki"
)

func (a *app) pkiCommand() *cobra.Command {
	return group("pki", "Make the certificates of the sites",
		`  cloudqueue pki init --dir ca --federation acme
  cloudqueue pki issue ams nyc --dir ca --out certificates`,
		a.pkiInit(), a.pkiIssue())
}

func dirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "dir", "cloudqueue-ca", "the authority's folder")
}

func (a *app) pkiInit() *cobra.Command {
	var dir, name string
	c := &cobra.Command{
		Use:   "init",
		Short: "Make the authority of a federation",
		Long: `Make an authority whose certificates are good for one federation alone. Keep its folder away from the sites:
whoever has ca.key can impersonate any site.`,
		Example: "  cloudqueue pki init --dir ca --federation acme",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !federation.ValidName(name) {
				return fail(exitUsage, "write 1 to 63 of a-z, 0-9 and -", "%q is not a name of a federation", name)
			}
			authority, err := pki.Create(dir, name, time.Now())
			if errors.Is(err, fs.ErrExist) {
				return fail(exitRefused, "use it with `cloudqueue pki issue`, or name another folder with --dir",
					"there is an authority in %s already", dir)
			}
			if err != nil {
				return notAFolder(err, "--dir")
			}
			return a.print(map[string]any{"federation": authority.Federation(), "dir": dir,
				"not_after": authority.NotAfter()}, func(w io.Writer) {
				fmt.Fprintf(w, "authority of %s in %s, good until %s\nnext: cloudqueue pki issue SITE... --dir %s\n",
					authority.Federation(), dir, authority.NotAfter().Format(time.DateOnly), dir)
			})
		},
	}
	dirFlag(c, &dir)
	c.Flags().StringVar(&name, "federation", site.DefaultFederation, "the federation's name, as in the topology")
	return c
}

// issued is one site's certificate.
type issued struct {
	Site        string `json:"site"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Authorities string `json:"authorities"`
}

// notAFolder says which flag named a file where a folder is wanted.
func notAFolder(err error, flag string) error {
	if !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return &failure{exitUsage, err, "name a folder with " + flag}
}

func (a *app) pkiIssue() *cobra.Command {
	var dir, out string
	var days int
	c := &cobra.Command{
		Use:   "issue SITE...",
		Short: "Issue a certificate for each site",
		Long: `Issue SITE.crt and SITE.key for each site, with ca.crt beside them. A certificate that is there already is replaced;
a running router takes the new one by itself.`,
		Example: `  cloudqueue pki issue ams nyc --dir ca --out certificates
  cloudqueue pki issue ams --days 30`,
		Args: args(1, -1, "the site"),
		RunE: func(_ *cobra.Command, sites []string) error {
			if days < 1 || days > 3650 {
				return fail(exitUsage, "write for example --days 365", "--days %d is not in 1 to 3650", days)
			}
			for _, name := range sites {
				if !federation.ValidName(name) {
					return fail(exitUsage, "write 1 to 63 of a-z, 0-9 and -", "%q is not a name of a site", name)
				}
			}
			authority, err := pki.Open(dir)
			if errors.Is(err, fs.ErrNotExist) {
				return fail(exitUsage, "make one with `cloudqueue pki init`, or name its folder with --dir", "%w", err)
			}
			if err != nil {
				return notAFolder(err, "--dir")
			}
			return a.issue(authority, sites, out, time.Duration(days)*24*time.Hour)
		},
	}
	dirFlag(c, &dir)
	c.Flags().StringVar(&out, "out", ".", "where to put the files")
	c.Flags().IntVar(&days, "days", 365, "how long the certificates are good")
	return c
}

func (a *app) issue(authority *pki.Authority, sites []string, out string, life time.Duration) error {
	var all []issued
	for _, name := range sites {
		if err := authority.IssueTo(out, federation.SiteID(name), life, time.Now()); err != nil {
			return notAFolder(err, "--out")
		}
		all = append(all, issued{name, filepath.Join(out, name+".crt"), filepath.Join(out, name+".key"),
			filepath.Join(out, pki.AuthorityCertificate)})
	}
	return a.print(all, func(w io.Writer) {
		g := newGrid("SITE", "CERTIFICATE", "KEY", "AUTHORITIES")
		for _, i := range all {
			g.add(i.Site, i.Certificate, i.Key, i.Authorities)
		}
		g.write(w)
	})
}
