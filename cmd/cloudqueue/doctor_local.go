package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/wan/pki"
)

func (d *doctor) checkDataDir(context.Context) []finding {
	const part = "data folder"
	dir := d.config.DataDir
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []finding{broken(part, "as the router's user: mkdir -m 700 -p "+dir, err)}
	}
	if err != nil {
		return []finding{broken(part, "run it as the router's user", err)}
	}
	if !info.IsDir() {
		return []finding{broken(part, "name another data-dir", fmt.Errorf("%s is not a folder", dir))}
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return []finding{broken(part, "run it as the router's user, or give that user the folder", err)}
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return []finding{broken(part, "look at its disk", err)}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return []finding{atRisk(part, "chmod go-w "+dir, "others may write to %s", dir)}
	}
	return []finding{good(part, "%s can be written to", dir)}
}

func (d *doctor) checkCertificates(context.Context) []finding {
	const part = "certificates"
	renew := renewCertificate(d.config.Site)
	files, err := pki.Load(d.config.Certificates.Paths(), nil)
	if err != nil {
		return []finding{broken(part, renew, err)}
	}
	id := files.Identity()
	if id.Site() != d.config.Site || id.Federation() != d.config.Federation {
		return []finding{broken(part, renew, otherIdentity(id, d.config))}
	}
	switch c := site.Certificate(id, time.Now()); c.State {
	case admin.Down:
		return []finding{broken(part, c.Fix, errors.New(c.Reason))}
	case admin.Degraded:
		return []finding{atRisk(part, c.Fix, "%s", c.Reason)}
	}
	return []finding{good(part, "site %s of %s, until %s", id.Site(), id.Federation(),
		id.NotAfter().Format(time.DateOnly))}
}

func (d *doctor) checkStore(ctx context.Context) []finding {
	const part = "store"
	place := placeOf(d.config)
	err := place.checkHome(ctx)
	if errors.Is(err, spool.ErrNotInitialised) {
		return []finding{broken(part, place.howToMake(), fmt.Errorf("there is none in %s", place.dir))}
	}
	if err != nil {
		return []finding{broken(part, cmp.Or(classify(err).fix, "look at its disk"), err)}
	}
	free, total, err := place.space(ctx)
	if err != nil {
		return []finding{broken(part, "look at its disk", err)}
	}
	findings := []finding{d.spaceFinding(part, place.dir, free, total)}
	err = place.read(ctx, func(sp *spool.Spool) error {
		var disk *spool.DiskFullError
		if errors.As(sp.Health().Full, &disk) && disk.Small() { // says more than the space that is free
			findings = []finding{broken(part, disk.Fix(), disk)}
		}
		findings = append(findings, good(part, "%s: store %s, epoch %d, LSN %d, used %s", place.url(),
			sp.Identity().Store, sp.Identity().Epoch, sp.LastLSN(), bytesText(sp.Usage().Used)))
		for _, c := range sp.Corrupt() {
			findings = append(findings, broken(part, "cloudqueue spool ls --segments "+place.url(), c))
		}
		return nil
	})
	if err != nil {
		findings = append(findings, broken(part, "cloudqueue spool ls "+place.url(), err))
	}
	return findings
}

// leastFreePercent of a disk should be free (chosen: the router's default quota leaves as much of what it found free).
const leastFreePercent = 5

func (d *doctor) spaceFinding(part, dir string, free, total uint64) finding {
	if free < total/100*leastFreePercent {
		return atRisk(part, "free space on the disk of "+dir+"; the router's own part of it is bounded by store.quota",
			"free %s of %s: under %d %%; a router whose disk is full takes nothing, and drains", bytesText(free),
			bytesText(total), leastFreePercent)
	}
	if quota := d.config.Store.Quota; quota > total {
		return atRisk(part, "lower store.quota", "the quota %s exceeds the disk's %s", bytesText(quota),
			bytesText(total))
	}
	return good(part, "free %s of %s", bytesText(free), bytesText(total))
}

func (d *doctor) checkListener(context.Context) []finding {
	const part = "listener"
	if d.running {
		return []finding{good(part, "%s is the running router's", d.config.Listen)}
	}
	conn, err := net.ListenPacket("udp", d.config.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return []finding{broken(part, "end the other program (ss -lunp), or choose another listen", err)}
	}
	if err != nil {
		return []finding{broken(part, "write listen: \":7443\", or the address of an interface of this machine", err)}
	}
	if err := conn.Close(); err != nil {
		return []finding{broken(part, "look at the network", err)}
	}
	return []finding{good(part, "UDP %s is free", d.config.Listen),
		{part, levelUnknown, "whether firewalls let UDP through to it", ""}}
}
