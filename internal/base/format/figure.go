package format

import "strings"

// Figure writes a value of a metric with its unit: "rate" is operations a second, "p99" ns, all
// others are bytes.
func Figure(metric string, v float64) string {
	switch {
	case metric == "rate":
		return Rate(v)
	case strings.HasPrefix(metric, "p"):
		return Latency(v)
	}
	return Bytes(v)
}
