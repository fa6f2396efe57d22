package store

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Scale is how the values of a range that is tuned follow one another.
type Scale string

// The scales.
const (
	Log    Scale = "log"    // each the same number of times the one before
	Linear Scale = "linear" // each the same amount above it
	List   Scale = "list"   // those that are named, in their order
)

// tuneLevels is how many values of a log or linear range are tried at most.
const tuneLevels = 8

// TuneLevels returns the values that tuning tries of the option, from the lowest: those that [Option].Tune
// says, as text that [Option.Check] takes. None: the option is not tuned. The error says what is wrong
// with Tune.
func (o Option) TuneLevels() ([]string, error) {
	if o.Tune == "" {
		return nil, nil
	}
	words := strings.Fields(o.Tune)
	var levels []string
	switch scale := Scale(words[0]); {
	case scale == List:
		levels = words[1:]
	case (scale == Log || scale == Linear) && len(words) == 3:
		low, lowErr := o.number(words[1])
		high, highErr := o.number(words[2])
		if lowErr != nil || highErr != nil || low >= high || scale == Log && low <= 0 {
			return nil, fmt.Errorf("option %s: %q is no range of type %s from a lower to a higher bound", o.Name, o.Tune, o.Type)
		}
		levels = spaced(low, high, scale, o.Type == Bytes)
	default:
		return nil, fmt.Errorf("option %s: expected log LOW HIGH, linear LOW HIGH or list VALUE VALUE, got %q", o.Name, o.Tune)
	}
	if len(levels) < 2 {
		return nil, fmt.Errorf("option %s: %q has fewer than two values", o.Name, o.Tune)
	}
	for _, level := range levels {
		if err := o.Check(level); err != nil {
			return nil, fmt.Errorf("option %s: %q: %w", o.Name, o.Tune, err)
		}
	}
	return levels, nil
}

// number is a bound of a range: only numbers have one.
func (o Option) number(text string) (int64, error) {
	switch o.Type {
	case Bytes:
		return ParseBytes(text)
	case Int:
		return strconv.ParseInt(text, 10, 32)
	}
	return 0, fmt.Errorf("type %s has no range", o.Type)
}

// spaced are whole numbers from low to high, both among them. Of bytes they are whole KiB or MiB where a
// half of one is little: no store tells such values apart.
func spaced(low, high int64, scale Scale, bytes bool) (levels []string) {
	n := min(tuneLevels, int(min(high-low, tuneLevels))+1)
	for k := range n {
		share := float64(k) / float64(n-1)
		at := float64(low) + share*float64(high-low)
		if scale == Log {
			at = float64(low) * math.Pow(float64(high)/float64(low), share)
		}
		at = math.Round(at)
		unit, name := 1.0, ""
		switch {
		case bytes && math.Mod(at, 1<<30) == 0:
			unit, name = 1<<30, "GiB"
		case bytes && (at >= 8<<20 || math.Mod(at, 1<<20) == 0):
			unit, name = 1<<20, "MiB"
		case bytes && at >= 1<<10:
			unit, name = 1<<10, "KiB"
		}
		levels = append(levels, strconv.FormatInt(int64(math.Round(at/unit)), 10)+name)
	}
	return slices.Compact(levels)
}
