// Package demo is `cloudqueue demo`: three sites on one machine, faults while messages flow, and a balance at the end that
// is taken at the brokers.
//
//	this process                                     child processes
//	  embedded broker ams ◀───────────────────────── router ams ──┐
//	  embedded broker nyc ◀───────────────────────── router nyc ──┼── UDP proxies of this process
//	  embedded broker sin ◀───────────────────────── router sin ──┘
//	  embedded etcd (the topology)   publishers, judge
//
// It uses nothing but the product's own commands and an AMQP client, as an admin and a service would. Nothing of it
// outlives the process. Start reading at Run.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"cloudqueue/sim/check"
)

// Options of a demo.
type Options struct {
	Binary   string // cloudqueue itself: the routers are its child processes
	Dir      string // for stores and logs; empty: a temporary folder that is removed
	Messages int    // published in all; at least 1
	DropOne  bool   // one delivered message is removed by hand before the judge looks
	Stay     bool   // keep everything running until the context ends, and say how to attach a client
	Terminal bool   // out is one: progress changes in place
}

// ErrUnbalanced is Run's error when the judge found an offence.
var ErrUnbalanced = errors.New("the balance does not add up")

// timeout bounds everything but Stay: ten times what the demo takes on two busy cores.
const timeout = 5 * time.Minute

// Run runs the demo and writes what happens to out.
func Run(ctx context.Context, out io.Writer, o Options) error {
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "cq-demo-") // short: a Unix socket lies below it
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.Dir = dir
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s := newScreen(out, o.Terminal)
	w, err := newWorld(bounded, o, s)
	if err != nil {
		return errors.Join(err, w.close())
	}
	err = w.play(bounded, o)
	if err == nil && o.Stay {
		w.sayHowToAttach()
		<-ctx.Done()
	}
	return errors.Join(err, w.close())
}

// play publishes, breaks and heals, and judges.
func (w *world) play(ctx context.Context, o Options) error {
	flows := w.flows(o.Messages)
	published := w.publish(ctx, flows)
	for _, step := range w.story() {
		if err := w.reach(ctx, flows, step.share); err != nil {
			return err
		}
		w.screen.say(step.text)
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	if err := <-published; err != nil {
		return err
	}
	w.screen.say("everything is published and confirmed; waiting for the last ones to arrive")
	if err := w.drained(ctx, flows); err != nil {
		w.screen.say(err.Error())
	}
	if o.DropOne {
		w.dropOne(flows)
	}
	return w.judge(flows)
}

func (w *world) judge(flows []*flow) error {
	report := check.Report{}
	for _, f := range flows {
		for _, h := range w.histories(f) {
			report.Verdicts = append(report.Verdicts, check.Judge(h))
		}
	}
	w.screen.end()
	fmt.Fprintf(w.screen.out, "\n%s\n", report)
	if !report.OK() {
		return ErrUnbalanced
	}
	w.screen.say(balance(report.Sum()))
	return nil
}

func balance(v check.Verdict) string {
	return fmt.Sprintf("balance: published %d, delivered %d, lost %d, inversions %d, unflagged duplicates %d, flagged %d",
		v.Confirmed, v.Distinct, v.Lost.Count, v.Inversions.Count, v.Duplicates.Count, v.Flagged)
}
