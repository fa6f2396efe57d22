package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// absent stands where nothing was measured.
const absent = "–"

var prefixes = []struct {
	factor float64
	sign   string
}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}

// si writes a number with three significant digits and an SI prefix: "412 k", "1.42 M", "36.3". The unit follows
// the prefix: "412 kB". Numbers below 1 get a prefix only where there is a unit to carry it.
func si(v float64, unit string) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strings.TrimSpace(strconv.FormatFloat(v, 'g', 3, 64) + " " + unit)
	}
	for i, p := range prefixes {
		last := p.factor == 1 && unit == "" || p.factor == 1e-9
		// 999.6 k is 1.00 M once it is rounded: the prefix is chosen after rounding.
		if rounded := round3(v / p.factor); math.Abs(rounded) >= 1 || last {
			if math.Abs(rounded) >= 1000 && i > 0 {
				p = prefixes[i-1]
				rounded = round3(v / p.factor)
			}
			return strings.TrimSpace(digits3(rounded) + " " + p.sign + unit)
		}
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

// digits3 writes a number with three significant digits and no exponent.
func digits3(v float64) string {
	a := math.Abs(v)
	decimals := 0
	switch {
	case a == 0:
	case a < 100:
		decimals = 2 - int(math.Floor(math.Log10(a)))
	}
	return strconv.FormatFloat(v, 'f', min(decimals, 6), 64)
}

func rateText(v float64) string    { return si(v, "") + "/s" }
func bytesText(v float64) string   { return si(v, "B") }
func latencyText(v float64) string { return si(v/1e9, "s") }

var binaryUnits = []struct {
	name  string
	bytes uint64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// givenInBinary says if a number of bytes that somebody chose was meant in binary units: it is of whole quarters of a MiB, which no
// round decimal number is (2 GB is of whole KiB), or less than a MiB, and of whole KiB.
func givenInBinary(bytes uint64) bool {
	if bytes < 1<<20 {
		return bytes > 0 && bytes%(1<<10) == 0
	}
	return bytes%(1<<18) == 0
}

// limitText writes a limit in the units in which it was given: "24 MiB", "1.5 GiB", "2.00 GB".
func limitText(bytes uint64) string {
	if givenInBinary(bytes) {
		return binaryText(bytes)
	}
	return bytesText(float64(bytes))
}

// binaryText writes bytes in binary units, with four significant digits at most: "24 MiB", "1.885 GiB".
func binaryText(bytes uint64) string {
	for _, unit := range binaryUnits {
		if bytes >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(bytes)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}

// smallest is the least amount per operation that is written as a number: what is below it is chance.
const smallest = 0.01

// perOperationText writes an amount of an operation: "0.98", "64.0", "1.27 k"; "<0.01" for next to nothing.
func perOperationText(v float64, unit string) string {
	switch {
	case v == 0 || v >= 1:
		return si(v, unit)
	case v < smallest:
		return strings.TrimSpace("<" + strconv.FormatFloat(smallest, 'f', 2, 64) + " " + unit)
	}
	return strings.TrimSpace(strconv.FormatFloat(v, 'f', 2, 64) + " " + unit)
}

func allocBytesText(v float64) string { return perOperationText(v, "B") }
func allocsText(v float64) string     { return perOperationText(v, "") }

func maybe(v *float64, text func(float64) string) string {
	if v == nil {
		return absent
	}
	return text(*v)
}

// ratioText writes a ratio: "1.42×", "12.7×", "1432×"; below a tenth with a digit more.
func ratioText(v float64) string {
	if v > 0 && v < 0.0005 {
		return "<0.001×"
	}
	return strconv.FormatFloat(v, 'f', ratioDecimals(v), 64) + "×"
}

func ratioDecimals(v float64) int {
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

// An interval that is not within wideMax times the value says nothing but that it is wide.
const wideMax = 10

// within writes an interval as the share of the value that its half is: "±1.2 %". One that reaches beyond twice the value
// is written as the factor, "×÷2.3", for it is even on a logarithmic scale; from wideMax on, it is "wide". "–" without an
// interval.
func (e Estimate) within() string {
	if e.Value == 0 || e.Low == nil || e.High == nil {
		return absent
	}
	half := max(e.Value-*e.Low, *e.High-e.Value) / math.Abs(e.Value) * 100
	switch {
	case half < 9.95:
		return "±" + strconv.FormatFloat(half, 'f', 1, 64) + " %"
	case half < 100:
		return "±" + strconv.FormatFloat(half, 'f', 0, 64) + " %"
	}
	factor := *e.High / e.Value
	if *e.Low > 0 {
		factor = max(factor, e.Value / *e.Low)
	}
	if factor >= wideMax {
		return "wide"
	}
	return "×÷" + strconv.FormatFloat(factor, 'f', 1, 64)
}

// ratioRange writes the interval of a ratio, with the ratio's own decimals: "1.38–1.47"; "wide" where it says nothing; "" without an interval.
func (e Estimate) ratioRange() string {
	if e.Low == nil || e.High == nil {
		return ""
	}
	if e.Value > 0 && *e.High/e.Value >= wideMax*wideMax {
		return "wide"
	}
	decimals := ratioDecimals(e.Value)
	return strconv.FormatFloat(*e.Low, 'f', decimals, 64) + "–" + strconv.FormatFloat(*e.High, 'f', decimals, 64)
}

// count writes a whole number with commas: "1,000,000".
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// alignDecimals pads texts so that decimal points and unit prefixes stand under each other: for one table column in
// a fixed-width face. Texts that are no numbers are set right.
func alignDecimals(texts []string) []string {
	type part struct{ whole, fraction, unit string }
	parts := make([]part, len(texts))
	var whole, fraction, unit int
	for i, text := range texts {
		number, rest, _ := strings.Cut(text, " ")
		if number == "" || strings.Trim(number, "0123456789.,") != "" {
			parts[i] = part{whole: text}
			continue
		}
		p := part{unit: rest}
		if at := strings.IndexByte(number, '.'); at >= 0 {
			p.whole, p.fraction = number[:at], number[at:]
		} else {
			p.whole = number
		}
		parts[i] = p
		whole, fraction, unit = max(whole, len(p.whole)), max(fraction, len(p.fraction)), max(unit, runes(p.unit))
	}
	aligned := make([]string, len(texts))
	width := whole + fraction
	if unit > 0 {
		width += 1 + unit
	}
	for i, p := range parts {
		if p.unit == "" && p.fraction == "" && !startsWithDigit(p.whole) {
			aligned[i] = strings.Repeat(" ", max(0, width-runes(p.whole))) + p.whole
			continue
		}
		text := strings.Repeat(" ", whole-len(p.whole)) + p.whole + p.fraction + strings.Repeat(" ", fraction-len(p.fraction))
		if unit > 0 {
			text += " " + p.unit + strings.Repeat(" ", unit-runes(p.unit))
		}
		aligned[i] = text
	}
	return aligned
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func runes(s string) int { return len([]rune(s)) }

// percentileNames writes quantiles as percentiles: "p50, p99.9, max".
func percentileNames(quantiles []float64) string {
	var names []string
	for _, q := range quantiles {
		if q == 1 {
			names = append(names, "max")
			continue
		}
		names = append(names, fmt.Sprintf("p%.6g", 100*q))
	}
	return strings.Join(names, ", ")
}
