package verdict

import (
	"math"
	"strconv"

	"assay/internal/stat"
)

// clock writes the times of a series: with three digits, and with as many decimals as tell one sample from the next.
type clock struct {
	step     float64 // seconds of a usual sample
	decimals int     // with which step is written to within 1 %
}

// clockDecimalsMax is a nanosecond's.
const clockDecimalsMax = 9

func clockOf(s stat.Series) clock {
	lengths := make([]float64, len(s.Ends))
	for i := range lengths {
		lengths[i] = s.Ends[i] - beginning(s, i)
	}
	c := clock{step: stat.Median(lengths)}
	for scale := 1.0; c.decimals < clockDecimalsMax && math.Abs(c.step*scale-math.Round(c.step*scale)) > 0.01*c.step*scale; scale *= 10 {
		c.decimals++
	}
	return c
}

// number writes a time without its unit.
func (c clock) number(seconds float64) string {
	decimals := c.decimals
	switch away := math.Abs(seconds); {
	case away <= c.step/1000: // what rounding leaves of a difference
		return "0"
	case away < 10:
		decimals = max(decimals, 2)
	case away < 100:
		decimals = max(decimals, 1)
	}
	return strconv.FormatFloat(seconds, 'f', decimals, 64)
}

func (c clock) seconds(seconds float64) string { return c.number(seconds) + " s" }

// clockOfPeriod writes a period, an estimate that may be finer than a sample, with three digits.
func clockOfPeriod(seconds float64) clock {
	return clock{decimals: min(max(2-int(math.Floor(math.Log10(seconds))), 0), clockDecimalsMax)}
}
