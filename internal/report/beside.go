package report

import (
	"maps"
	"math"
	"slices"
	"strings"

	"assay/internal/host"
	"assay/internal/record"
)

// How many numbers the report keeps of what was measured beside the rates.
const (
	besideStepsMax   = 240
	besideStepsMin   = 40
	besideNumbersMax = 400_000
	besideEach       = 16 // series of a trial that are reckoned with
)

// How the values of a step are put together.
type gathering int

const (
	mean gathering = iota // of rates, by time
	last                  // of levels
	most                  // of latencies
)

// own are the series that a sample has besides those of host.Catalogue.
var own = []struct {
	Resource
	gather gathering
	value  func(s record.Sample) *float64
}{
	{Resource{Name: "latency.p99", Unit: "s", Meaning: "99th percentile of the service times in a sample"}, most, func(s record.Sample) *float64 { return seconds(s.P99NS) }},
	{Resource{Name: "latency.max", Unit: "s", Meaning: "longest service time in a sample"}, most, func(s record.Sample) *float64 { return seconds(s.MaxNS) }},
	{Resource{Name: "data.records", Meaning: "live records, by the trace's arithmetic"}, last, func(s record.Sample) *float64 { return asFloat(s.Records) }},
}

func seconds(ns *float64) *float64 {
	if ns == nil {
		return nil
	}
	s := *ns / 1e9
	return &s
}

// first are the names that are offered first, measured or not. The first shownMax of them are drawn without being asked for.
var first = []string{"worker.cpu", "worker.rss", "worker.write", "worker.read", "latency.p99", "latency.max", "data.bytes", "data.records", "machine.steal", "machine.foreign"}

const shownMax = 3

// storePrefix stands before the names of a store's own counters.
const storePrefix = "store."

// readings returns all that a sample says besides its rate.
func readings(s record.Sample) map[string]float64 {
	all := map[string]float64{}
	for name, v := range s.Stats {
		all[storePrefix+name] = v
	}
	maps.Copy(all, s.Resources)
	for _, series := range host.Catalogue {
		if v, measured := s.Resource(series.Name); measured {
			all[series.Name] = v
		}
	}
	for _, o := range own {
		if v := o.value(s); v != nil {
			all[o.Name] = *v
		}
	}
	return all
}

func gatheringOf(name string) gathering {
	for _, o := range own {
		if o.Name == name {
			return o.gather
		}
	}
	if series, ok := host.SeriesOf(name); ok && series.Kind == host.Rate {
		return mean
	}
	return last
}

// besideOf takes what was measured beside the rate of one phase, in steps; nil if there is nothing.
func (b *builder) besideOf(samples []record.Sample, phase string) *Beside {
	var taken []record.Sample
	for _, s := range samples {
		if s.Phase == phase && s.Seconds > 0 {
			taken = append(taken, s)
		}
	}
	steps := min(len(taken), max(besideStepsMin, min(besideStepsMax, besideNumbersMax/max(b.samples*besideEach, 1))))
	kept := Beside{Values: map[string][]*float64{}}
	for step := range steps {
		of := taken[step*len(taken)/steps : (step+1)*len(taken)/steps]
		kept.At = append(kept.At, milli(of[len(of)-1].At))
		for name, v := range gathered(of) {
			if kept.Values[name] == nil {
				kept.Values[name] = make([]*float64, steps)
				b.beside[name] = true
			}
			rounded := round4(v)
			kept.Values[name][step] = &rounded
		}
	}
	if len(kept.Values) == 0 {
		return nil
	}
	return &kept
}

// gathered puts the readings of a step together.
func gathered(samples []record.Sample) map[string]float64 {
	values, seconds := map[string]float64{}, map[string]float64{}
	for _, s := range samples {
		for name, v := range readings(s) {
			before, seen := values[name]
			switch gatheringOf(name) {
			case mean:
				values[name] += v * s.Seconds
				seconds[name] += s.Seconds
			case most:
				if !seen {
					before = v
				}
				values[name] = math.Max(before, v)
			case last:
				values[name] = v
			}
		}
	}
	for name, length := range seconds {
		values[name] /= length
	}
	return values
}

// offered lists what was measured in any table, and those of the first that were not.
func (b *builder) offered() []Resource {
	names := slices.Clone(first)
	for _, series := range host.Catalogue {
		names = append(names, series.Name)
	}
	names = append(names, slices.Sorted(maps.Keys(b.beside))...)
	var offered []Resource
	for i, name := range names {
		if slices.Contains(names[:i], name) || i >= len(first) && !b.beside[name] {
			continue
		}
		r := Resource{Name: name}
		if series, ok := host.SeriesOf(name); ok {
			r.Unit, r.Meaning = series.Unit, series.Meaning
		} else if strings.HasPrefix(name, storePrefix) {
			r.Meaning = "the store's own counter, as it stands"
		}
		for _, o := range own {
			if o.Name == name {
				r = o.Resource
			}
		}
		r.Title, r.Shown, r.Missing = titleOf(name), i < shownMax, !b.beside[name]
		r.Group, r.Short = "First of all", r.Title
		if i >= len(first) {
			r.Group, r.Short = groupOf(name)
		}
		offered = append(offered, r)
	}
	return offered
}

// groupOf returns what a name is of, and its title within that.
func groupOf(name string) (group, short string) {
	whose, what, _ := strings.Cut(name, ".")
	group = map[string]string{"store": "The store’s own", "data": "Data directory", "limit": "Memory limit"}[whose]
	if group == "" {
		group = capital(whose)
	}
	return group, titleOf(what)
}

// titleOf makes a name readable: "worker.run_wait" is "worker run wait".
func titleOf(name string) string {
	titles := map[string]string{"worker.cpu": "CPU", "worker.rss": "Memory (RSS)", "worker.write": "Host writes", "worker.read": "Host reads",
		"latency.p99": "p99", "latency.max": "Longest operation", "data.bytes": "Disk", "data.records": "Records", "machine.steal": "Steal", "machine.foreign": "Foreign load"}
	if title, ok := titles[name]; ok {
		return title
	}
	words := strings.Fields(strings.NewReplacer(".", " ", "_", " ").Replace(name))
	for i, word := range words {
		if slices.Contains([]string{"cpu", "io", "pss", "rss", "wal"}, word) {
			words[i] = strings.ToUpper(word)
		}
	}
	return capital(strings.Join(words, " "))
}
