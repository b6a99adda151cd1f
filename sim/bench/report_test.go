package main

import (
	"strings"
	"testing"
	"time"
)

func TestReportPutsRatiosTogetherByRound(t *testing.T) {
	run := func(round int, bridge string, rate, bytes float64, p50 time.Duration) Measurement {
		return Measurement{Round: round, Bridge: bridge, MessagesPerSecond: rate, BytesPerMessage: bytes, P50: p50, CPUPerMillion: map[string]float64{"broker a": 50}}
	}
	all := []Measurement{
		run(1, direct, 20000, 0, time.Millisecond), run(1, cloudqueue, 9000, 250, 3*time.Millisecond), run(1, shovel, 10000, 1000, 2*time.Millisecond),
		run(1, queues, 9500, 250, 3*time.Millisecond),
		run(2, direct, 10000, 0, 2*time.Millisecond), run(2, cloudqueue, 6000, 250, 5*time.Millisecond), run(2, shovel, 5000, 1000, 3*time.Millisecond),
	}

	text := report(all)

	for _, want := range []string{
		"cloudqueue   7500    250  4.00 ms",                         // medians
		"2.50 ms",                                                   // added p50: the median of 2 and 3, not that of the medians
		"messages per second    1.05 (0.90 to 1.20)",                // 9000/10000, 6000/5000
		"bytes per message      0.25 (0.25 to 0.25)",                //
		"cloudqueue / shovel, by round: median (lowest to highest)", //
		"cloudqueue-queues / shovel, by round: median (lowest to highest)\n  messages per second    0.95 (0.95 to 0.95)", //
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

func TestMedianOfAnEvenNumberIsTheMeanOfTheMiddle(t *testing.T) {
	for _, test := range []struct {
		all  []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(test.all); got != test.want {
			t.Errorf("median of %v = %v, want %v", test.all, got, test.want)
		}
	}
}
