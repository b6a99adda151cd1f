package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"cloudqueue/topology"
)

// largest is a document near the limits: 100 sites and 9,900 routes, 0.9 MB.
func largest() []byte {
	var b strings.Builder
	b.WriteString("sites:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "  s%d: {listen: [s%d.example.net:7443]}\n", i, i)
	}
	b.WriteString("routes:\n")
	for i := range 9900 {
		fmt.Fprintf(&b, "  r%d: {from: {site: s%d, exchange: e, keys: ['k.%d.#']}, to: [{site: s%d}, {site: s%d, queue: q}]}\n", i, i%100, i, (i+1)%100, (i+2)%100)
	}
	return []byte(b.String())
}

// What a router does at each change of the largest topology.
func BenchmarkParse9900RoutesAndPlan(b *testing.B) {
	src := largest()
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := topology.Parse("t", src)
		if err != nil {
			b.Fatal(err)
		}
		if p := topology.MakePlan(d, d); !p.Empty() {
			b.Fatal(p.Changes)
		}
	}
}
