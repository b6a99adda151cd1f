package yamlfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written with a unit: 64MiB, 500GiB, 10kB.
type Size uint64

// Bandwidth is a number of bits per second, written with a unit: 400Mbit, 10Gbit.
type Bandwidth uint64

type duration time.Duration

type unit struct {
	suffix string
	factor float64
}

var (
	sizeUnits = []unit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
		{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"B", 1}}
	bandwidthUnits = []unit{{"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"Tbit", 1e12}, {"bit", 1}}
	durationUnits  = []unit{{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"w", 604800e9}}
)

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := parseUnit(string(text), sizeUnits, "size", "64MiB or 500GB")
	*s = Size(v)
	return err
}

// String gives the size in the largest unit that keeps it whole.
func (s Size) String() string { return formatUnit(uint64(s), sizeUnits[:5], "B") }

// UnmarshalText reads a bandwidth.
func (b *Bandwidth) UnmarshalText(text []byte) error {
	v, err := parseUnit(string(text), bandwidthUnits, "bandwidth", "400Mbit or 10Gbit (bits per second)")
	*b = Bandwidth(v)
	return err
}

// String gives the bandwidth in the largest unit that keeps it whole.
func (b Bandwidth) String() string { return formatUnit(uint64(b), bandwidthUnits[:4], "bit") }

func (d *duration) UnmarshalText(text []byte) error {
	v, err := parseUnit(string(text), durationUnits, "duration", "30s, 6h or 500ms")
	*d = duration(v)
	return err
}

// parseUnit reads a decimal number with a unit. The same letters in another case get the right ones shown.
func parseUnit(text string, units []unit, what, example string) (int64, error) {
	digits := strings.TrimLeft(text, "0123456789.")
	number, err := strconv.ParseFloat(text[:len(text)-len(digits)], 64)
	if err != nil {
		return 0, &Mistake{What: fmt.Sprintf("%q is not a %s", text, what), Write: example}
	}
	suffix := strings.TrimPrefix(digits, " ")
	if suffix == "" {
		return 0, &Mistake{What: fmt.Sprintf("the %s %q has no unit", what, text), Write: example}
	}
	for _, u := range units {
		if u.suffix != suffix {
			continue
		}
		if v := number * u.factor; v < math.MaxInt64 {
			return int64(v), nil
		}
		return 0, &Mistake{What: fmt.Sprintf("the %s %q is too large", what, text), Write: example}
	}
	write := "a unit of " + suffixes(units)
	for _, u := range units {
		if strings.EqualFold(u.suffix, suffix) {
			write = strings.TrimSuffix(text, suffix) + u.suffix
		}
	}
	return 0, &Mistake{What: fmt.Sprintf("%q is not a unit of a %s", suffix, what), Write: write}
}

func suffixes(units []unit) string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.suffix
	}
	return strings.Join(names, ", ")
}

func formatUnit(v uint64, ascending []unit, base string) string {
	for i := len(ascending) - 1; i >= 0; i-- {
		if f := uint64(ascending[i].factor); v >= f && v%f == 0 {
			return strconv.FormatUint(v/f, 10) + ascending[i].suffix
		}
	}
	return strconv.FormatUint(v, 10) + base
}
