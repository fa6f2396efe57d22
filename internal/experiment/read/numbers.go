package read

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"assay/store"
)

// thousands are the suffixes of plain numbers, in either case.
var thousands = map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9}

// parseNumber reads 5, 0.5, 1_000, 1e6 and 10k.
func parseNumber(text string) (float64, bool) {
	text = strings.ReplaceAll(text, "_", "")
	factor := 1.0
	if text != "" {
		last := len(text) - 1
		if f, ok := thousands[strings.ToLower(text[last:])]; ok {
			text, factor = text[:last], f
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	number *= factor
	return number, err == nil && !math.IsNaN(number) && !math.IsInf(number, 0) && !strings.ContainsAny(text, "xXpP")
}

// wholeNumber bounds the exponent, so that no short text is a number of a million digits.
var wholeNumber = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?([kKmMgG])?$`)

// parseWhole reads a whole number up to 2^64−1 exactly, in the forms of parseNumber.
func parseWhole(text string) (uint64, bool) {
	parts := wholeNumber.FindStringSubmatch(strings.ReplaceAll(text, "_", ""))
	if parts == nil {
		return 0, false
	}
	number, ok := new(big.Rat).SetString(parts[1] + parts[2])
	if !ok {
		return 0, false
	}
	if parts[3] != "" {
		number.Mul(number, new(big.Rat).SetFloat64(thousands[strings.ToLower(parts[3])]))
	}
	return number.Num().Uint64(), number.IsInt() && number.Num().IsUint64()
}

var unitAtEnd = regexp.MustCompile(`^(.*[0-9. ])([a-zA-Z]+)$`)

var byteUnits = []string{"TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "kB", "B"}

// withByteUnit writes the unit of a text such as "512mb" as store.ParseBytes knows it.
func withByteUnit(text string) string {
	text = strings.ReplaceAll(text, "_", "")
	parts := unitAtEnd.FindStringSubmatch(text)
	if parts == nil {
		return text
	}
	for _, unit := range byteUnits {
		if strings.EqualFold(parts[2], unit) {
			return parts[1] + unit
		}
	}
	return text
}

// bytes reads a number of bytes. A bare k, m or g is refused, because tools disagree on whether it
// is a power of 1000.
func (n *node) bytes(path, what string) (uint64, *Error) {
	number, err := store.ParseBytes(withByteUnit(n.text))
	if err == nil {
		return uint64(number), nil
	}
	e := n.expected(path, what)
	if _, parsed := parseNumber(n.text); parsed {
		if parts := unitAtEnd.FindStringSubmatch(n.text); parts != nil {
			letter, number := parts[2], strings.TrimSpace(parts[1])
			return 0, e.hint("write %s%siB for a power of 1024, or %s%sB for a power of 1000",
				number, strings.ToUpper(letter), number, strings.ReplaceAll(strings.ToUpper(letter), "K", "k"))
		}
	}
	return 0, e
}

var (
	durationParts = regexp.MustCompile(`([0-9.]+) *([a-zµμ]+) *`)
	durationWords = map[string]string{
		"sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m",
		"minutes": "m",
		"hr":      "h", "hrs": "h", "hour": "h", "hours": "h", "msec": "ms", "millis": "ms",
		"milliseconds": "ms", "usec": "us",
	}
)

// parseDuration reads a Go duration, also with a space before the unit or with the unit as a word:
// "10 s", "2min".
func parseDuration(text string) (time.Duration, bool) {
	short := durationParts.ReplaceAllStringFunc(text, func(part string) string {
		p := durationParts.FindStringSubmatch(part)
		if unit, ok := durationWords[p[2]]; ok {
			return p[1] + unit
		}
		return p[1] + p[2]
	})
	duration, err := time.ParseDuration(short)
	return duration, err == nil
}
