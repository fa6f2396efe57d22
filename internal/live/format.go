package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// duration writes ns in three digits or so, with the unit that fits.
func duration(ns *float64) string {
	if ns == nil {
		return "–"
	}
	// A value that rounds up to 1000 of a unit belongs to the next one.
	units := []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	for i, unit := range units {
		value := *ns / unit.ns
		if value < 999.5 || i == len(units)-1 {
			if value < 99.95 && unit.ns > 1 {
				return fmt.Sprintf("%.1f %s", value, unit.name)
			}
			return fmt.Sprintf("%.0f %s", value, unit.name)
		}
	}
	panic("unreachable: the last unit takes every value")
}

// grouped writes a rate with commas between groups of three digits.
func grouped(value float64) string {
	digits := strconv.FormatFloat(value, 'f', 0, 64)
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// span writes "3/10 s", or "3.0 s" where no end is planned. What is short is written finer: "0.05/0.15 s".
func span(elapsed, planned time.Duration) string {
	decimals := 0
	switch whole := max(elapsed, planned); {
	case whole < time.Second:
		decimals = 2
	case whole < 10*time.Second:
		decimals = 1
	}
	if planned <= 0 {
		return fmt.Sprintf("%.*f s", decimals, elapsed.Seconds())
	}
	return fmt.Sprintf("%.*f/%.*f s", decimals, elapsed.Seconds(), decimals, planned.Seconds())
}

// left writes the time that is left, coarsely.
func left(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// oneLine takes out what would break a line or move the cursor: texts come from drivers and servers.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
