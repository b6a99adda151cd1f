package site

import (
	"context"
	"errors"
	"time"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/amqpwire"
	"cloudqueue/router"
	"cloudqueue/topology"
	"cloudqueue/wan"
)

// broker shows a local broker as the router wants it.
type broker struct{ *localbroker.Broker }

func (b broker) Consumer(source federation.Source, left ...federation.Source) router.Consumer {
	return b.Broker.Consumer(source, left...)
}

func (b broker) Leftover(source federation.Source, left ...federation.Source) router.Consumer {
	return b.Broker.Leftover(source, left...)
}

func (b broker) Publisher(index uint32) router.Publisher { return b.Broker.Publisher(index) }

func (b broker) CheckExchange(ctx context.Context, name, declare string) error {
	err := b.Broker.CheckExchange(ctx, name, declare)
	if errors.Is(err, localbroker.ErrMissing) {
		return errors.Join(router.ErrExchangeMissing, err)
	}
	return err
}

// peers shows an endpoint as the router wants it.
type peers struct{ endpoint *wan.Endpoint }

func (p peers) SetPeers(list []topology.Peer, reachable bool) {
	out := make([]wan.Peer, len(list))
	for i, peer := range list {
		out[i] = wan.Peer{Site: peer.Site, Addresses: peer.Listen, Dial: peer.Dials, PeerDials: reachable}
	}
	p.endpoint.SetPeers(out)
}

func (p peers) Drain(ctx context.Context) error { return p.endpoint.Drain(ctx) }

// handler hands what comes over the links to the router.
type handler struct{ *router.Router }

func (h handler) Up(l *wan.Link)                 { h.Router.Up(l) }
func (h handler) Down(l *wan.Link, reason error) { h.Router.Down(l, reason) }
func (h handler) Copy(l *wan.Link, c federation.Copy, answer func(federation.Verdict, time.Duration)) {
	h.Router.Copy(l, c, answer)
}
func (h handler) Control(l *wan.Link, f federation.Frame) { h.Router.Control(l, f) }

// properties reads and edits AMQP properties for the router.
type properties struct{}

func (properties) Facts(raw []byte) (router.PropertyFacts, error) {
	f, err := amqpwire.Read(raw)
	out := router.PropertyFacts{ID: f.ID, Transient: f.DeliveryMode == 1, TTL: federation.NoTTL}
	if f.HasExpiration {
		out.TTL = f.Expiration
	}
	for _, s := range f.Path {
		out.Path = append(out.Path, federation.SiteID(s))
	}
	return out, err
}

func (properties) Deliver(raw []byte, e router.DeliveryEdit) ([]byte, error) {
	edit := amqpwire.Edit{ID: e.ID, Origin: string(e.Origin), Time: e.Time, Duplicate: e.Duplicate, DropLocal: true, DropForged: true, ClearUserID: !e.TrustUserID}
	for _, s := range e.Path {
		edit.Path = append(edit.Path, string(s))
	}
	if e.Remaining != federation.NoTTL {
		edit.SetExpiration, edit.Expiration = true, e.Remaining
	}
	return amqpwire.Rewrite(raw, edit)
}
