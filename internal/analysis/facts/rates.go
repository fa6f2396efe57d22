package facts

import (
	"maps"
	"math"
	"slices"
	"time"

	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/evidence/record"
)

// Rates is the series of a phase: good operations a second, with what was sampled beside them. Kept
// are the samples that it is of. A last sample of less than half the usual length is left out, for
// its rate is mostly noise; so are those that end after the phase's time (0: it has none) was over
// by half a sample, when no operation begins any more.
func Rates(samples []record.Sample, phase string, limit time.Duration) (s series.Series, kept []record.Sample) {
	kept = ofRate(samples, phase, limit)
	if len(kept) == 0 {
		return s, nil
	}
	s.Begin = max(kept[0].At-kept[0].Seconds, 0)
	for _, sample := range kept {
		good := sample.Operations - min(sample.Bad, sample.Operations)
		s.Ends, s.Rates = append(s.Ends, sample.At), append(s.Rates, float64(good)/sample.Seconds)
	}
	if slices.ContainsFunc(kept, func(s record.Sample) bool { return s.Stopped != "" }) {
		for _, sample := range kept {
			s.Interrupted = append(s.Interrupted, sample.Stopped != "")
		}
	}
	s.Records = valuesOf(kept, func(s record.Sample) (float64, bool) { return whole(s.Records) })
	s.Bytes = valuesOf(kept, func(s record.Sample) (float64, bool) { return whole(s.DiskBytes) })
	s.MaxSeconds = valuesOf(kept, func(s record.Sample) (float64, bool) {
		if s.MaxNS == nil {
			return 0, false
		}
		return *s.MaxNS / 1e9, true
	})
	engine := map[string]bool{}
	for _, sample := range kept {
		for name := range sample.Stats.All() {
			engine[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(engine)) {
		values := valuesOf(kept, func(s record.Sample) (float64, bool) { return s.Stats.Get(name) })
		s.Resources = append(s.Resources, series.Resource{Name: name, Engine: true, Values: values})
	}
	for _, resource := range record.ResourcesOf(kept) {
		values := valuesOf(kept, func(s record.Sample) (float64, bool) { return s.Resource(resource.Name) })
		s.Resources = append(s.Resources, series.Resource{Name: resource.Name, Values: values})
	}
	return s, kept
}

// ofRate selects the samples that a rate is made of: see [Rates].
func ofRate(samples []record.Sample, phase string, limit time.Duration) []record.Sample {
	is := func(sample record.Sample) bool { return sample.Phase == phase && sample.Seconds > 0 }
	var lengths []float64
	for _, sample := range samples {
		if is(sample) {
			lengths = append(lengths, sample.Seconds)
		}
	}
	width := stat.Median(lengths)
	return selected(samples, func(s record.Sample) bool {
		return is(s) && s.Seconds >= width/2 && (limit <= 0 || s.At <= limit.Seconds()+width/2)
	})
}

// valuesOf is NaN where a value was not measured; nil if it never was.
func valuesOf(samples []record.Sample, value func(record.Sample) (float64, bool)) []float64 {
	values, measured := make([]float64, len(samples)), false
	for i, sample := range samples {
		v, ok := value(sample)
		if !ok {
			v = math.NaN()
		}
		values[i], measured = v, measured || ok
	}
	if !measured {
		return nil
	}
	return values
}

func whole(n *uint64) (value float64, measured bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

// selected returns the samples that are to be kept: a part of the list itself where they stand
// together, as those of a phase do.
func selected(samples []record.Sample, keep func(record.Sample) bool) []record.Sample {
	from := slices.IndexFunc(samples, keep)
	if from < 0 {
		return nil
	}
	rest := samples[from:]
	until := slices.IndexFunc(rest, func(s record.Sample) bool { return !keep(s) })
	if until < 0 {
		return rest
	}
	if slices.IndexFunc(rest[until:], keep) < 0 {
		return rest[:until:until]
	}
	return slices.DeleteFunc(slices.Clone(rest), func(s record.Sample) bool { return !keep(s) })
}
