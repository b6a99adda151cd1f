package site

import (
	"cmp"

	"cloudqueue/router/admin"
)

// dataDir takes the folder of everything that the router keeps; its admin socket must have a path that the system takes.
func (p *configParser) dataDir(value string) string {
	p.out.DataDir = p.path(cmp.Or(value, DefaultDataDir))
	if socket := p.out.AdminSocket(); len(socket) > admin.MaxSocketPath {
		p.file.Report("data-dir", "a shorter path", "the admin socket %s has %d bytes, a Unix socket's path at most %d", socket, len(socket), admin.MaxSocketPath)
	}
	return p.out.DataDir
}
