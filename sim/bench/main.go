// Command bench measures Cloudqueue beside RabbitMQ's own bridges, Shovel and Federation, between two RabbitMQ nodes on
// this machine.
//
//	publisher ─► RabbitMQ a ─► bridge ─► counting proxy ─► bridge ─► RabbitMQ b ─► consumer
//
//	bench -router bin/cloudqueue [-rounds 5] [-seconds 10] [-only shovel] [-json results.json]
//
// Every round runs each bridge once, in an order that turns from round to round, so that what else the machine does falls
// on all of them. A run has two parts. At saturation the publisher keeps at most 30,000 messages under way: messages
// per second, CPU seconds per million messages of each process (publisher, consumer and proxy are one, "load and proxy"), and
// bytes between the sites per message, all over the same window after a warm-up. Then at 500 messages a second: the time
// from publish to receipt, less that of a run without a bridge ("direct") in the same round. Every run ends with the queue drained, and counts what is lost.
//
// Ratios are taken within a round and reported as median, lowest and highest: absolute figures of a small machine differ
// by a quarter between runs. Bytes are those in TCP and UDP payloads, without packet headers; that favours the bridges on TCP, whose acks
// are not seen. Read bridge.go for how each is set up, run.go for what is measured, report.go for how it is put together.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	router  string
	rounds  int
	seconds int
	only    string
	json    string
}

func main() {
	var o options
	flag.StringVar(&o.router, "router", "bin/cloudqueue", "the cloudqueue binary")
	flag.IntVar(&o.rounds, "rounds", 5, "how often to measure each bridge")
	flag.IntVar(&o.seconds, "seconds", 10, "length of each measured window; the warm-up is a third of it")
	flag.StringVar(&o.only, "only", "", "measure only this bridge beside direct: cloudqueue, cloudqueue-queues, shovel or federation")
	flag.StringVar(&o.json, "json", "", "write every measurement to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := measure(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure runs all rounds and prints the report.
func measure(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "cloudqueue-bench.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.router, err = filepath.Abs(o.router); err != nil {
		return err
	}
	l, err := newLab(ctx, dir)
	if err != nil {
		return err
	}
	defer l.close()

	names := bridgeNames(o.only)
	var all []Measurement
	for round := range o.rounds {
		for i := range names {
			name := names[(i+round)%len(names)]
			m, err := l.run(ctx, name, o)
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, name, err)
			}
			m.Round = round + 1
			fmt.Fprintln(os.Stderr, m)
			all = append(all, m)
		}
	}
	fmt.Print(report(all))
	return writeJSON(o.json, all)
}

func bridgeNames(only string) []string {
	if only != "" {
		return []string{direct, only}
	}
	return []string{direct, cloudqueue, queues, shovel, federation}
}

func writeJSON(path string, all []Measurement) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		At           time.Time
		Measurements []Measurement
	}{time.Now(), all}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
