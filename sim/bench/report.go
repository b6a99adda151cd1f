package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the tables: medians of each bridge, then Cloudqueue's ratios to the others.
func report(all []Measurement) string {
	var b strings.Builder
	byBridge := group(all)
	medians(&b, byBridge)
	for _, pair := range [][2]string{{cloudqueue, federation}, {cloudqueue, shovel}, {queues, shovel}} {
		ratios(&b, byBridge, pair[0], pair[1])
	}
	return b.String()
}

// group sorts measurements by bridge, each by round.
func group(all []Measurement) map[string][]Measurement {
	byBridge := map[string][]Measurement{}
	for _, m := range all {
		byBridge[m.Bridge] = append(byBridge[m.Bridge], m)
	}
	return byBridge
}

func medians(b *strings.Builder, byBridge map[string][]Measurement) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "medians\tmsg/s\tB/msg\tp50\tp99\tadded p50\tadded p99\tlost\tdup.\tCPU s per million messages\t")
	for _, name := range []string{direct, cloudqueue, queues, shovel, federation} {
		runs := byBridge[name]
		if len(runs) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t\n", name,
			median(values(runs, func(m Measurement) float64 { return m.MessagesPerSecond })),
			median(values(runs, func(m Measurement) float64 { return m.BytesPerMessage })),
			milliseconds(runs, func(m Measurement) time.Duration { return m.P50 }),
			milliseconds(runs, func(m Measurement) time.Duration { return m.P99 }),
			milliseconds(runs, func(m Measurement) time.Duration { return m.P50 - base(byBridge, m.Round).P50 }),
			milliseconds(runs, func(m Measurement) time.Duration { return m.P99 - base(byBridge, m.Round).P99 }),
			total(runs, func(m Measurement) int { return m.Lost }), total(runs, func(m Measurement) int { return m.Duplicates }), cpus(runs))
	}
	w.Flush() // into memory
}

// base is the run without a bridge in the same round.
func base(byBridge map[string][]Measurement, round int) Measurement {
	for _, m := range byBridge[direct] {
		if m.Round == round {
			return m
		}
	}
	return Measurement{}
}

// cpus lists the median of every process.
func cpus(runs []Measurement) string {
	var list []string
	for _, process := range slices.Sorted(maps.Keys(runs[0].CPUPerMillion)) {
		list = append(list, fmt.Sprintf("%s %.0f", process, median(values(runs, func(m Measurement) float64 { return m.CPUPerMillion[process] }))))
	}
	return strings.Join(list, ", ")
}

// ratios compares one bridge with another, round by round.
func ratios(b *strings.Builder, byBridge map[string][]Measurement, one, other string) {
	ours, theirs := byBridge[one], byBridge[other]
	if len(ours) == 0 || len(theirs) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s / %s, by round: median (lowest to highest)\n", one, other)
	for _, row := range []struct {
		name string
		of   func(Measurement) float64
	}{
		{"messages per second", func(m Measurement) float64 { return m.MessagesPerSecond }},
		{"bytes per message", func(m Measurement) float64 { return m.BytesPerMessage }},
		{"CPU of all processes", allCPU},
		{"latency p50", func(m Measurement) float64 { return float64(m.P50) }},
		{"latency p99", func(m Measurement) float64 { return float64(m.P99) }},
	} {
		var all []float64
		for i := range min(len(ours), len(theirs)) {
			if divisor := row.of(theirs[i]); divisor != 0 {
				all = append(all, row.of(ours[i])/divisor)
			}
		}
		if len(all) > 0 {
			fmt.Fprintf(b, "  %-22s %.2f (%.2f to %.2f)\n", row.name, median(all), slices.Min(all), slices.Max(all))
		}
	}
}

func allCPU(m Measurement) float64 {
	sum := 0.0
	for _, seconds := range m.CPUPerMillion {
		sum += seconds
	}
	return sum
}

func values(runs []Measurement, of func(Measurement) float64) []float64 {
	var all []float64
	for _, m := range runs {
		all = append(all, of(m))
	}
	return all
}

func milliseconds(runs []Measurement, of func(Measurement) time.Duration) string {
	return fmt.Sprintf("%.2f ms", median(values(runs, func(m Measurement) float64 { return of(m).Seconds() * 1000 })))
}

func total(runs []Measurement, of func(Measurement) int) int {
	sum := 0
	for _, m := range runs {
		sum += of(m)
	}
	return sum
}

// median is the middle one, or the mean of the two in the middle.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
