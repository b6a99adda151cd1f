package site

import (
	"context"
	"encoding/hex"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// service answers the admin channel: the router for what it owns, the other parts for themselves.
type service struct {
	router *router.Router
	site   *Site
}

// Books, and the calls that follow it, are the router's alone.
func (s service) Books(ctx context.Context) (*admin.Books, error) { return s.router.Books(ctx) }

func (s service) Parked(ctx context.Context, f admin.ParkFilter) (*admin.ParkedList, error) {
	return s.router.Parked(ctx, f)
}

func (s service) ShowParked(ctx context.Context, id string) (*admin.ParkedMessage, error) {
	return s.router.ShowParked(ctx, id)
}

func (s service) Redrive(ctx context.Context, a admin.ParkAction) (*admin.ParkResult, error) {
	return s.router.Redrive(ctx, a)
}

func (s service) Drop(ctx context.Context, a admin.ParkAction) (*admin.ParkResult, error) {
	return s.router.Drop(ctx, a)
}

func (s service) Void(ctx context.Context, q admin.VoidRequest) (*admin.VoidResult, error) {
	return s.router.Void(ctx, q)
}

// Status gathers what every part says of itself.
func (s service) Status(context.Context) (*admin.Status, error) {
	out := s.router.OutLanes()
	return &admin.Status{At: time.Now(), Federation: s.site.cfg.Federation, Site: string(s.site.cfg.Site),
		Router: s.process(), Store: s.store(), Broker: s.localBroker(), Topology: s.topology(), Listener: s.listener(),
		Links: s.links(out), Out: out, In: s.inLanes(), Parking: s.parking(), Refused: append(s.router.Refusals(), s.connections()...)}, nil
}

// since gives a condition without a date the start of the router: it has been so since then.
func (s service) since(c admin.Condition) admin.Condition {
	if c.Since.IsZero() {
		c.Since = s.site.started
	}
	return c
}

// inLanes gives those that nobody has opened yet the start of the router as their date.
func (s service) inLanes() []admin.InLane {
	lanes := s.router.InLanes()
	for i := range lanes {
		lanes[i].Condition = s.since(lanes[i].Condition)
	}
	return lanes
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
	corrupt := slices.DeleteFunc(sp.Corrupt(), s.abandoned)
	for _, c := range corrupt {
		out.Quarantined = append(out.Quarantined, c.Error())
	}
	out.Condition.Since = health.Since
	switch health.Condition {
	case spool.Unwell:
		out.State, out.UnwellSince = admin.Unwell, health.Since
		out.Reason, out.Fix = router.StoreTrouble(sp.Place(), health)
		if health.Err != nil {
			out.LastError = health.Err.Error()
		}
	case spool.Full:
		out.State = admin.Full
		out.Reason, out.Fix = router.FullStore(health.Full)
	case spool.Degraded:
		if len(corrupt) > 0 || health.Cleaning != nil { // else what is corrupt was voided since, or nobody waits for it
			out.State, out.Reason, out.Fix = degraded(corrupt, health.Cleaning)
		}
	}
	if health.Condition == spool.Full && health.Cleaning != nil {
		out.Reason += "; space does not come back: " + health.Cleaning.Error()
	}
	return out
}

// abandoned tells whether nobody waits any more for what was lost.
func (s service) abandoned(c *spool.CorruptError) bool {
	if c.Batch == (federation.BatchName{}) { // segments are missing, and nobody knows what of
		return s.router.MissingVoided()
	}
	return s.router.Abandoned(c.Batch)
}

// degraded is what is wrong with a store that takes everything: what is corrupt goes before what is not cleaned.
func degraded(corrupt []*spool.CorruptError, cleaning error) (state admin.State, reason, fix string) {
	if len(corrupt) > 0 {
		return admin.Corrupt, corrupt[0].Error(), corrupt[0].Fix()
	}
	return admin.Degraded, "space of the store does not come back: " + cleaning.Error(), "repair the disk, or the rights of its folder, before the store is full"
}

func (s service) localBroker() admin.Broker {
	st := s.site.broker.Status()
	consuming, publishing := admin.FromPart(st.Consuming), admin.FromPart(st.Publishing)
	out := admin.Broker{Condition: consuming, URL: s.site.cfg.Broker.URL, Product: st.Product, Version: st.Version, Publishers: s.router.Publishers(),
		Connections: []admin.BrokerConnection{{Condition: consuming, Name: "consuming", NextRetry: st.ConsumingRetry},
			{Condition: publishing, Name: "publishing", NextRetry: st.PublishingRetry, Alarm: st.Alarm}}}
	if consuming.State.Healthy() {
		out.Condition = publishing
	}
	return out
}

func (s service) topology() admin.Topology {
	st := s.site.topology.Status()
	version, digest, origin := s.router.Topology()
	if st.From != "" && st.Digest == digest { // began with the copy on disk, and the source has the same
		origin = st.From
	}
	out := admin.Topology{Condition: s.since(admin.FromPart(st.Part())), Version: version, Digest: hex.EncodeToString(digest[:]), Origin: string(origin), Source: st.Source, AppliedAt: st.Since}
	if st.Refused != nil {
		out.Problem = st.Refused.Why
	}
	return out
}

func (s service) parking() admin.Parking {
	out := admin.Parking{Condition: admin.Condition{State: admin.Running, Since: s.site.started}}
	reasons := map[string]admin.Count{}
	for _, p := range s.site.spool.Parked() {
		if out.Messages == 0 || p.Last.Before(out.Since) {
			out.Since = p.Last
		}
		out.Messages++
		out.Bytes += p.Bytes
		c := reasons[p.Reason]
		c.Reason, c.Count = p.Reason, c.Count+1
		if p.Last.After(c.Last) {
			c.Last, c.Detail = p.Last, router.ParkName(p.ID)
		}
		reasons[p.Reason] = c
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		out.Reasons = append(out.Reasons, reasons[reason])
	}
	if out.Messages > 0 {
		out.State, out.Reason = admin.Held, "messages that could not be delivered wait for a person's word; their lanes go on"
		out.Fix = "cloudqueue parking list; then redrive what was mended, and drop what nobody wants"
	}
	return out
}
