package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// JVM is what an arm asks of the JVM that runs its client.
type JVM struct {
	Client      string   `json:"client,omitempty"` // group:artifact:version or a path; "": the version that Assay was built with
	Jars        string   `json:"jars,omitempty"`   // the jar, or the folder of jars, that Client stands for
	HeapBytes   uint64   `json:"heap_bytes,omitempty"`
	DirectBytes uint64   `json:"direct_bytes,omitempty"`
	Collector   string   `json:"collector,omitempty"`
	Flags       []string `json:"flags,omitempty"`
}

// collectors are the JVM's options by the collectors' names.
var collectors = map[string]string{
	"serial": "-XX:+UseSerialGC", "parallel": "-XX:+UseParallelGC", "g1": "-XX:+UseG1GC", "z": "-XX:+UseZGC", "shenandoah": "-XX:+UseShenandoahGC",
}

// Collectors are the names that [JVM.Collector] may have.
func Collectors() []string { return slices.Sorted(maps.Keys(collectors)) }

// Arguments returns the options of the JVM, without the client's jars.
func (j *JVM) Arguments() (arguments []string) {
	if j == nil {
		return nil
	}
	if j.HeapBytes > 0 {
		arguments = append(arguments, fmt.Sprintf("-Xmx%d", j.HeapBytes))
	}
	if j.DirectBytes > 0 {
		arguments = append(arguments, fmt.Sprintf("-XX:MaxDirectMemorySize=%d", j.DirectBytes))
	}
	if j.Collector != "" {
		arguments = append(arguments, collectors[j.Collector])
	}
	return append(arguments, j.Flags...)
}

// jvmPrefix stands before the names of a JVM's options among all options of a store.
const jvmPrefix = "java."

// options are those that AllOptions has of the JVM.
func (j *JVM) options() map[string]string {
	all := map[string]string{}
	if j == nil {
		return all
	}
	for name, value := range map[string]string{
		"client": j.Client, jvmPrefix + "heap": bytesText(j.HeapBytes), jvmPrefix + "direct": bytesText(j.DirectBytes),
		jvmPrefix + "collector": j.Collector, jvmPrefix + "flags": strings.Join(j.Flags, " "),
	} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

// bytesText is a size as the JVM's users write it; "" if none is asked.
func bytesText(bytes uint64) string {
	switch {
	case bytes == 0:
		return ""
	case bytes%(1<<20) == 0:
		return strconv.FormatUint(bytes>>20, 10) + "MiB"
	default:
		return strconv.FormatUint(bytes, 10)
	}
}
