package format

import (
	"regexp"
	"slices"
	"strings"
)

var resourceTitles = map[string]string{"worker.cpu": "CPU", "worker.rss": "Memory (RSS)", "worker.write": "Host writes",
	"worker.read": "Host reads", "latency.p99": "p99", "latency.max": "Longest operation", "data.bytes": "Disk",
	"data.records": "Records", "worker.faults_major": "Major page faults", "machine.steal": "Steal", "machine.foreign": "Foreign load"}

// serverNumber finds which of several servers a resource is of.
var serverNumber = regexp.MustCompile(`^server(\d+)(?:\.|$)`)

// ResourceTitle makes a name readable: "worker.run_wait" is "Worker run wait".
func ResourceTitle(name string) string {
	if title, ok := resourceTitles[name]; ok {
		return title
	}
	name = serverNumber.ReplaceAllString(name, "server $1.")
	words := strings.Fields(strings.NewReplacer(".", " ", "_", " ").Replace(Clean(name)))
	for i, word := range words {
		if slices.Contains([]string{"cpu", "io", "pss", "rss", "wal"}, word) {
			words[i] = strings.ToUpper(word)
		}
	}
	return Capital(strings.Join(words, " "))
}

// ResourceWords names resources in a sentence: "worker.run_wait" is "run wait".
func ResourceWords(names []string) (words []string) {
	for _, name := range names {
		if title, ok := resourceTitles[name]; ok {
			words = append(words, Uncapital(title))
			continue
		}
		if strings.HasPrefix(name, "server") {
			words = append(words, CleanMax(Uncapital(ResourceTitle(name)), 40))
			continue
		}
		_, what, cut := strings.Cut(name, ".")
		if !cut {
			what = name
		}
		words = append(words, CleanMax(strings.ReplaceAll(what, "_", " "), 40))
	}
	return words
}
