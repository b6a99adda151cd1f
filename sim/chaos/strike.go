package chaos

import (
	"context"
	"errors"
	"time"

	"cloudqueue/sim/parts"
)

// part names what a kind strikes.
func part(k Kind) string {
	switch k {
	case PauseAMS:
		return string(KillAMS)
	case PauseNYC:
		return string(KillNYC)
	}
	return string(k)
}

// sites are those whose router or broker a kind strikes. Without etcd every router goes on: all of them must.
func sites(k Kind) []string {
	switch part(k) {
	case string(KillAMS), string(KillSource):
		return []string{"ams"}
	case string(KillNYC):
		return []string{"nyc"}
	case string(KillSIN):
		return []string{"sin"}
	case string(KillTarget):
		return []string{"nyc", "sin"}
	}
	return siteNames
}

// strike does one thing to one part and brings it back.
func (w *World) strike(ctx context.Context, strike Strike) error {
	switch strike.Kind {
	case KillAMS:
		return kill(ctx, w.sites.Site("ams"), strike.Down)
	case KillNYC:
		return kill(ctx, w.sites.Site("nyc"), strike.Down)
	case KillSIN:
		return kill(ctx, w.sites.Site("sin"), strike.Down)
	case KillSource:
		return kill(ctx, w.source, strike.Down)
	case KillTarget:
		return kill(ctx, w.target, strike.Down)
	case KillEtcd:
		return kill(ctx, w.etcd, strike.Down)
	case PauseAMS:
		return pause(ctx, w.sites.Site("ams").Process(), strike.Down)
	case PauseNYC:
		return pause(ctx, w.sites.Site("nyc").Process(), strike.Down)
	}
	panic("chaos: no such kind: " + string(strike.Kind))
}

// killable is a part that starts again on its data: a router, etcd, RabbitMQ.
type killable interface {
	Kill()
	Start(context.Context) error
}

func kill(ctx context.Context, part killable, down time.Duration) error {
	part.Kill()
	if err := sleep(ctx, down); err != nil {
		return err
	}
	return part.Start(ctx)
}

func pause(ctx context.Context, process *parts.Process, down time.Duration) error {
	if err := process.Pause(); err != nil {
		return err
	}
	return errors.Join(sleep(ctx, down), process.Resume())
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until calls try four times a second until it returns nil or ctx ends; then the error carries try's last one.
func until(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if sleep(ctx, 250*time.Millisecond) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}
