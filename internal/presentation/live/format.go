package live

import (
	"fmt"
	"time"

	"assay/internal/base/format"
	"assay/internal/execution/event"
)

func p99Text(ns *float64) string {
	if ns == nil {
		return format.Absent
	}
	return format.Latency(*ns)
}

// span writes "3/10 s", or "3.0 s" where no end is planned. What is short is written finer:
// "0.05/0.15 s".
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

// besideErrors says what is counted apart from errors, where there is some of it: records of a store that
// evicts which were missing, and conflicts.
func besideErrors(t event.Tick) (text string) {
	if t.Missing > 0 {
		text = fmt.Sprintf("  missing %d", t.Missing)
	}
	if t.Conflicts > 0 {
		text += fmt.Sprintf("  conflicts %d", t.Conflicts)
	}
	return text
}
