package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assay/internal/spec"
	"assay/internal/stat"
)

// rate writes operations a second with three digits: "412 k/s".
func rate(perSecond float64) string { return scaled(perSecond, 1000, "", " k", " M", " G") + "/s" }

// size writes bytes: "1.05 MB".
func size(bytes float64) string { return scaled(bytes, 1000, " B", " kB", " MB", " GB", " TB") }

// binary writes a limit in the unit in which it was most likely given: "40 MiB", "2.00 GB".
func binary(bytes int64) string {
	switch {
	case bytes%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return size(float64(bytes))
}

// scaled writes a number with three significant digits and the largest unit that leaves it at 1 or more.
func scaled(v, step float64, units ...string) string {
	unit := 0
	for math.Abs(v) >= step*0.9995 && unit < len(units)-1 {
		v /= step
		unit++
	}
	return significant(v) + units[unit]
}

// toOne writes a ratio to one, and of one that is next to nothing only that.
func toOne(ratio float64) string {
	if ratio < 0.0005 {
		return "<0.001"
	}
	return significant(ratio)
}

func significant(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || a == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.01:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// ratioMax is how far from 1 a ratio may lie for its figure to say something: an interval from two wild blocks goes on for ever.
const ratioMax = 1000

// boundless says whether an interval holds everything from no difference to one that no two stores have.
func boundless(i stat.Interval) bool {
	return i.Contains(1) && (i.High > ratioMax || i.Low < 1.0/ratioMax)
}

// intervalText writes the interval of a ratio, or that it tells nothing.
func intervalText(i stat.Interval) string {
	if boundless(i) {
		return "95 % interval beyond 1,000 times: not told apart"
	}
	return fmt.Sprintf("95 %% interval %s to %s", significant(i.Low), times(i.High))
}

// times writes a factor with three digits, and of one that is beyond ratioMax only that.
func times(factor float64) string {
	if factor > ratioMax {
		return "more than 1,000"
	}
	return significant(factor)
}

// count writes a whole number with commas.
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func percent(share float64) string {
	if math.Abs(share) < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func seconds(s float64) string { return significant(s) + " s" }

// list writes "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(uint64(n)) + " " + many
}

// className writes a cell's durability class with its window: "D2(100ms)".
func className(c spec.Cell) string {
	if c.LossWindow > 0 {
		return fmt.Sprintf("%s(%s)", c.Durability, time.Duration(c.LossWindow))
	}
	return string(c.Durability)
}

// duration writes nanoseconds: "1.25 ms".
func duration(ns float64) string { return scaled(ns, 1000, " ns", " µs", " ms", " s") }
