package site

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/wan"
)

// service answers the admin channel: the router for what it owns, the other parts for themselves.
type service struct {
	*router.Router
	site *Site
}

// Status gathers what every part says of itself.
func (s service) Status(context.Context) (*admin.Status, error) {
	out := &admin.Status{At: time.Now(), Federation: s.site.cfg.Federation, Site: string(s.site.cfg.Site),
		Router: s.process(), Store: s.store(), Broker: s.localBroker(), Topology: s.topology(), Listener: s.listener(),
		Out: s.OutLanes(), In: s.InLanes(), Parking: s.parking(), Refused: s.Refusals()}
	for _, l := range s.site.endpoint.Status() {
		out.Links = append(out.Links, link(l))
	}
	out.Refused = append(out.Refused, refusals("connection", s.site.endpoint.Refused())...)
	return out, nil
}

func (s service) process() admin.Router {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return admin.Router{Condition: admin.Condition{State: admin.Running, Since: s.site.started}, Version: s.site.version, PID: os.Getpid(),
		Started: s.site.started, Boot: s.site.boot.String(), DataDir: s.site.cfg.DataDir, HeapBytes: memory.HeapAlloc, Goroutines: runtime.NumGoroutine()}
}

func (s service) store() admin.Store {
	sp := s.site.spool
	id, usage, health := sp.Identity(), sp.Usage(), sp.Health()
	out := admin.Store{Condition: admin.Condition{State: admin.Running}, URL: s.site.cfg.Store.URL(), ID: id.Store.String(), Born: id.Born, Epoch: id.Epoch,
		LSN: sp.LastLSN(), UsedBytes: usage.Used, QuotaBytes: usage.Quota, ReserveBytes: usage.Reserve, FreeBytes: usage.Free,
		Segments: usage.Segments, QueuedBytes: uint64(usage.Queued)}
	switch {
	case health.Err != nil:
		out.Condition = admin.Condition{State: admin.Unwell, Reason: health.Err.Error(), Since: health.Since, Fix: "repair the disk, or make room on it; messages wait in the broker"}
		out.UnwellSince, out.LastError = health.Since, health.Err.Error()
	case usage.Full:
		out.Condition = admin.Condition{State: admin.Full, Reason: "the quota is used up but for the reserve", Fix: "raise store.quota, make room, or let the peers catch up"}
	}
	return out
}

func (s service) localBroker() admin.Broker {
	st := s.site.broker.Status()
	consuming, publishing := admin.FromPart(st.Consuming), admin.FromPart(st.Publishing)
	out := admin.Broker{Condition: consuming, URL: s.site.cfg.Broker.URL, Connections: []admin.BrokerConnection{
		{Condition: consuming, Name: "consuming"}, {Condition: publishing, Name: "publishing"}}, Publishers: s.Publishers()}
	if consuming.State.Healthy() {
		out.Condition = publishing
	}
	return out
}

func (s service) topology() admin.Topology {
	st := s.site.topology.Status()
	version, digest, origin := s.Router.Topology()
	out := admin.Topology{Condition: admin.FromPart(st.Part()), Version: version, Digest: hex.EncodeToString(digest[:]), Origin: origin, Source: st.Source, AppliedAt: st.Since}
	if st.Refused != nil {
		out.Problem = st.Refused.Why
	}
	return out
}

func (s service) listener() admin.Listener {
	id := s.site.identity.Identity()
	return admin.Listener{Condition: admin.FromPart(s.site.identity.State()), Address: s.site.endpoint.Addr().String(),
		Certificate: "site " + string(id.Site()), CertificateExpires: id.NotAfter()}
}

func (s service) parking() admin.Parking {
	out := admin.Parking{}
	reasons := map[string]uint64{}
	for _, p := range s.site.spool.Parked() {
		out.Messages++
		out.Bytes += p.Bytes
		reasons[p.Reason]++
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		out.Reasons = append(out.Reasons, admin.Count{Reason: reason, Count: reasons[reason]})
	}
	return out
}

func link(l wan.LinkStatus) admin.Link {
	out := admin.Link{Condition: admin.Condition{State: admin.State(l.State), Reason: l.Reason, Fix: l.Fix, Since: l.Since}, Peer: string(l.Peer),
		Connections: len(l.Connections), NextRetry: l.NextRetry, RTTSeconds: l.RTT.Seconds(), BytesSent: l.Sent.Bytes, BytesReceived: l.Received.Bytes,
		BatchesSent: l.Sent.Frames, BatchesReceived: l.Received.Frames, BacklogBytes: l.Queued}
	if !l.Hello.Store.IsZero() {
		out.PeerStore, out.PeerEpoch, out.PeerTopology = l.Hello.Store.String(), l.Hello.Epoch, l.Hello.TopologyVersion
	}
	for reason, n := range l.Verdicts {
		if reason != "OK" && reason != "DUP_OK" && reason != "LINK_LOST" { // LINK_LOST is no answer of the peer: the frame is sent again
			out.Refused = append(out.Refused, admin.Count{Reason: reason, Count: n})
		}
	}
	for reason, n := range l.Refused {
		out.Refused = append(out.Refused, admin.Count{Reason: reason, Count: n})
	}
	slices.SortFunc(out.Refused, func(a, b admin.Count) int { return cmp.Compare(a.Reason, b.Reason) })
	return out
}

func refusals(what string, counts map[string]uint64) []admin.Refusal {
	out := make([]admin.Refusal, 0, len(counts))
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, admin.Refusal{What: what, Count: admin.Count{Reason: reason, Count: counts[reason]}})
	}
	return out
}
