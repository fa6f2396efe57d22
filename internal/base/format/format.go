// Package format writes numbers, times, lists and outside text for people. Everything that a reader
// sees goes through it, so that a rate looks the same in the table, the page and the finding.
//
// Numbers have three significant digits and an SI prefix unless said otherwise. Every function is
// pure and takes NaN and infinities as "not measured".
package format

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// Absent stands where nothing was measured, or where a store can't do what a column is about.
const Absent = "–"

// AtMost writes a figure that is a bound: "≤ 8.62 ms".
func AtMost(figure string) string { return "≤ " + figure }

var prefixes = []struct {
	factor float64
	sign   string
}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}

// SI writes v with three significant digits and an SI prefix, then the unit: "412 k", "1.42 MB".
// A number below 1 gets a prefix only where a unit carries it.
func SI(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Absent
	}
	if v == 0 {
		return strings.TrimSpace("0 " + unit)
	}
	for i, p := range prefixes {
		last := p.factor == 1 && unit == "" || p.factor == 1e-9
		// 999.6 k is 1.00 M once it is rounded: the prefix is chosen after rounding.
		rounded := round3(v / p.factor)
		if math.Abs(rounded) < 1 && !last {
			continue
		}
		if math.Abs(rounded) >= 1000 && i > 0 {
			p = prefixes[i-1]
			rounded = round3(v / p.factor)
		}
		return strings.TrimSpace(digits3(rounded) + " " + p.sign + unit)
	}
	panic("unreachable: the last prefix takes every number")
}

func round3(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		panic("strconv can't read what it wrote: " + err.Error())
	}
	return r
}

// digits3 writes three significant digits without an exponent.
func digits3(v float64) string {
	a := math.Abs(v)
	decimals := 0
	if a != 0 && a < 100 {
		decimals = 2 - int(math.Floor(math.Log10(a)))
	}
	return strconv.FormatFloat(v, 'f', min(decimals, 6), 64)
}

// Number writes a bare number: "412 k", "36.3", "0.0125".
func Number(v float64) string { return SI(v, "") }

// Tenths writes a number to a tenth, a small one to three digits: 90, 83.3, 0.125.
func Tenths(v float64) string {
	if v < 1 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// Rate writes operations a second: "412 k/s".
func Rate(perSecond float64) string {
	if math.IsNaN(perSecond) || math.IsInf(perSecond, 0) {
		return Absent
	}
	text := SI(perSecond, "")
	return text + "/s"
}

// Bytes writes an amount of bytes that was measured: "1.05 MB".
func Bytes(v float64) string { return SI(v, "B") }

// PerOperation writes an amount of one operation: "282 B", "0.98"; what is below a hundredth is
// chance, and written as such.
func PerOperation(v float64, unit string) string {
	switch {
	case v > 0 && v < 0.01:
		return strings.TrimSpace("<0.01 " + unit)
	case v > 0 && v < 1:
		return strings.TrimSpace(strconv.FormatFloat(v, 'f', 2, 64) + " " + unit)
	}
	return SI(v, unit)
}

// Latency writes nanoseconds: "1.25 ms".
func Latency(ns float64) string { return SI(ns/1e9, "s") }

// Seconds writes a length of time in a sentence: "0.50 s", "12.0 s", "2 min 05 s", "1 h 20 min".
func Seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return Absent
	case s < 0:
		return "-" + Seconds(-s)
	case s < 1:
		return SI(s, "s")
	case s < 99.95:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
	}
	return fmt.Sprintf("%d h %02d min", int(s)/3600, int(s)%3600/60)
}

// Moment writes a time of a series in seconds, as its axis has them: "0.30 s", "29.1 s", "2614 s".
func Moment(s float64) string {
	decimals := 2
	switch away := math.Abs(s); {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return Absent
	case away >= 99.95:
		decimals = 0
	case away >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(s, 'f', decimals, 64) + " s"
}

// Duration writes a duration as [Seconds] does.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

var binaryUnits = []struct {
	name  string
	bytes uint64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Limit writes a size that somebody chose exactly, in the unit in which it is shortest: "24 MiB",
// "1.5 MiB", "2 GB". Different sizes never have the same text.
func Limit(bytes uint64) string {
	best := Count(bytes) + " B"
	try := func(unit float64, name string) {
		text := strconv.FormatFloat(float64(bytes)/unit, 'f', -1, 64) + " " + name
		if float64(bytes) >= unit && len(text) < len(best) {
			best = text
		}
	}
	for _, unit := range binaryUnits {
		try(float64(unit.bytes), unit.name)
	}
	for _, unit := range prefixes[:4] {
		try(unit.factor, unit.sign+"B")
	}
	return best
}

// Count writes a whole number with commas: "1,000,000".
func Count(n uint64) string {
	if n > math.MaxInt64 {
		return strconv.FormatUint(n, 10)
	}
	return humanize.Comma(int64(n))
}

// Percent writes a share: "4.2 %", "56 %".
func Percent(share float64) string {
	switch p := 100 * share; {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return Absent
	case p != 0 && math.Abs(p) < 0.095:
		return strconv.FormatFloat(p, 'g', 2, 64) + " %"
	case math.Abs(p) < 9.95:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
}

// Factor writes a ratio: "1.42×", "12.7×", "1,432×", "<0.001×".
func Factor(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Absent
	case v > 0 && v < 0.0005:
		return "<0.001×"
	case v >= 999.5:
		return Count(uint64(math.Round(min(v, 1e15)))) + "×"
	}
	return strconv.FormatFloat(v, 'f', FactorDecimals(v), 64) + "×"
}

// FactorDecimals is how many decimals [Factor] gives a ratio.
func FactorDecimals(v float64) int {
	switch {
	case v == 0 || v >= 99.95:
		return 0
	case v >= 9.995:
		return 1
	case v < 0.0995:
		return 3
	}
	return 2
}

// wideFactor is how far an interval's end may lie from its value before its width says nothing.
const wideFactor = 10

// Times begins an interval that is a factor to each side.
const Times = "×÷"

// Within writes an interval as the share of the value that its half is: "±1.2 %". One that reaches
// beyond twice the value is a factor, "×÷2.3"; from ten on it is "wide". "" without an interval.
func Within(value, low, high float64) string {
	if value == 0 || math.IsNaN(value+low+high) {
		return ""
	}
	half := max(value-low, high-value) / math.Abs(value) * 100
	switch {
	case half < 9.95:
		return "±" + strconv.FormatFloat(half, 'f', 1, 64) + " %"
	case half < 100:
		return "±" + strconv.FormatFloat(half, 'f', 0, 64) + " %"
	}
	factor := high / value
	if low > 0 {
		factor = max(factor, value/low)
	}
	if factor >= wideFactor {
		return "wide"
	}
	return Times + strconv.FormatFloat(factor, 'f', 1, 64)
}

// Interval writes the ends of a ratio's interval: "1.38 to 1.47"; "" without one.
func Interval(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) {
		return ""
	}
	decimals := FactorDecimals(low)
	if high > 1000 {
		return "more than " + strconv.FormatFloat(low, 'f', decimals, 64)
	}
	return strconv.FormatFloat(low, 'f', decimals, 64) + " to " +
		strconv.FormatFloat(high, 'f', min(decimals, FactorDecimals(high)), 64)
}

// Quantile writes a quantile as a percentile: "p50", "p99.9", "max".
func Quantile(q float64) string {
	if q == 1 {
		return "max"
	}
	return fmt.Sprintf("p%.6g", 100*q)
}

// List writes "a, b and c".
func List(words []string) string { return english.WordSeries(words, "and") }

// ListMax writes at most most words and counts the rest: "a, b and 3 more".
func ListMax(words []string, most int) string {
	if more := len(words) - most; more > 1 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return List(words)
}

// labelsMost are how many labels are named in a line.
const labelsMost = 4

// Labels writes labels in a line, and counts those beyond four: "1, 2 and 4 threads".
func Labels(labels []string) string { return ListMax(InLine(labels), labelsMost) }

// InLine are labels for a line that names as many as [Labels] does: the last one that it names keeps the
// word that all end in.
func InLine(labels []string) []string {
	last := len(labels) - 1
	if last > labelsMost {
		last = labelsMost - 1
	}
	return WithOneWord(labels, last)
}

// WithOneWord are labels of which, where all end in the same word, the one at keeps alone has it: "1 thread",
// "2", "4". Labels of two parts, with a comma, stay whole.
func WithOneWord(labels []string, keeps int) []string {
	last := func(label string) (before, word string) {
		at := strings.LastIndexByte(label, ' ')
		return label[:max(at, 0)], strings.TrimSuffix(label[at+1:], "s")
	}
	_, common := last(labels[0])
	if slices.ContainsFunc(labels, func(label string) bool {
		before, word := last(label)
		return before == "" || word != common || strings.Contains(label, ", ")
	}) {
		return labels
	}
	shorter := slices.Clone(labels)
	for i, label := range labels {
		if i != keeps {
			shorter[i], _ = last(label)
		}
	}
	return shorter
}

// Plural writes a number with its noun: "1 block", "1,204 blocks". An empty many adds an s.
func Plural(n int, one, many string) string {
	return Count(uint64(max(n, 0))) + " " + english.PluralWord(n, one, many)
}

// Capital begins a text with a capital letter.
func Capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Uncapital begins a text as inside a sentence: "Host writes" is "host writes", and "CPU" stays.
func Uncapital(text string) string {
	if len(text) > 1 && text[1:2] == strings.ToUpper(text[1:2]) {
		return text
	}
	return strings.ToLower(text[:min(1, len(text))]) + text[min(1, len(text)):]
}
