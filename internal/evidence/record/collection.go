package record

import "strings"

// IsCollection reports whether a counter is the time for which a collector of the JVM stopped all
// threads: that of cycles beside them is not.
func IsCollection(name string) bool {
	collector, isTime := strings.CutSuffix(name, "_ns")
	return isTime && strings.HasPrefix(collector, "jvm_gc_") && !strings.Contains(collector, "cycles") && !strings.Contains(collector, "concurrent")
}
