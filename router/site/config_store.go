package site

import (
	"net/url"
	"path/filepath"

	"cloudqueue/topology/yamlfile"
)

// StoreConfig tells where the spool is.
type StoreConfig struct {
	Dir         string // of file://
	Quota       uint64 // bytes; 0: the spool's default
	LaneQuota   uint64 // bytes that one lane may use; 0: half of the quota; as much as Quota: no limit of its own
	SegmentSize uint64 // bytes; 0: the spool's default
}

// URL is the store's URL.
func (s StoreConfig) URL() string { return "file://" + s.Dir }

type storeSchema struct {
	URL         string        `yaml:"url"`
	Quota       yamlfile.Size `yaml:"quota"`
	LaneQuota   yamlfile.Size `yaml:"lane-quota"`
	SegmentSize yamlfile.Size `yaml:"segment-size"`
}

// Limits of the store's keys.
const (
	minSegment  = 1 << 20 // chosen: below it the segments' own parts (header, checkpoint, footer) outweigh what they hold
	maxSegment  = 1 << 30 // spool.Config's limit
	minSegments = 8       // spool.Config's limit: of a quota
)

func (p *configParser) fillStore() {
	in := p.in.Store
	p.out.Store = StoreConfig{Dir: filepath.Join(p.out.DataDir, "spool"), Quota: uint64(in.Quota), LaneQuota: uint64(in.LaneQuota), SegmentSize: uint64(in.SegmentSize)}
	if in.SegmentSize != 0 && (in.SegmentSize < minSegment || in.SegmentSize > maxSegment) {
		p.file.Report("store.segment-size", "64MiB", "%s is outside of 1MiB to 1GiB", in.SegmentSize)
	} else if in.Quota != 0 && in.Quota < minSegments*in.SegmentSize {
		p.file.Report("store.quota", (minSegments*in.SegmentSize).String()+" or more, or smaller segments", "%s is less than %d segments", in.Quota, minSegments)
	}
	switch {
	case in.LaneQuota != 0 && in.LaneQuota < minSegment:
		p.file.Report("store.lane-quota", "1MiB or more, or leave it away for half of the quota", "%s is less than 1MiB", in.LaneQuota)
	case in.Quota != 0 && in.LaneQuota > in.Quota:
		p.file.Report("store.lane-quota", in.Quota.String()+" for no limit of a lane's own", "%s is more than the quota", in.LaneQuota)
	}
	if in.URL == "" {
		return
	}
	dir, what := StoreDir(in.URL)
	if what != "" {
		p.file.Report("store.url", "file:///var/lib/cloudqueue/spool", "%s", what)
	}
	p.out.Store.Dir = dir
}

// StoreDir gives the directory that a store's URL names, or says what is wrong with it.
func StoreDir(text string) (dir, what string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", "this is not a URL"
	case u.Scheme == "hdfs":
		return "", "stores on HDFS come with a later version"
	case u.Scheme != "file":
		return "", "a store's URL begins with file://"
	case u.Host != "":
		return "", "a store's path is absolute: three slashes follow file:"
	case u.RawQuery != "" || u.Fragment != "":
		return "", "a store's URL has no parameters"
	case !filepath.IsAbs(u.Path) || filepath.Clean(u.Path) == "/":
		return "", "a store needs a folder of its own"
	}
	return filepath.Clean(u.Path), ""
}
