package record

import "assay/internal/evidence/host"

// Resource returns the value of a series of [host.Catalogue] in this sample, in the series' own
// unit, whether it stands in Resources or in a field. False: it was not measured, or not read for
// this sample. Costly series are read more seldom than samples are taken.
func (s Sample) Resource(name string) (value float64, measured bool) {
	switch name {
	case "worker.cpu":
		return s.perSecond(s.CPUSeconds)
	case "worker.rss":
		return asFloat(s.RSSBytes)
	case "worker.read":
		return s.perSecond(floatOf(s.ReadBytes))
	case "worker.write":
		return s.perSecond(floatOf(s.WriteBytes))
	case "data.bytes":
		return asFloat(s.DiskBytes)
	case "machine.steal":
		return pointed(s.Steal)
	case "machine.foreign":
		return pointed(s.Foreign)
	}
	return s.Resources.Get(name)
}

func (s Sample) perSecond(amount *float64) (float64, bool) {
	if amount == nil || s.Seconds <= 0 {
		return 0, false
	}
	return *amount / s.Seconds, true
}

func floatOf(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func asFloat(n *uint64) (float64, bool) { return pointed(floatOf(n)) }

func pointed(p *float64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return *p, true
}

// ResourcesOf returns the series of [host.Catalogue] that have at least one value in the samples,
// in the catalogue's order.
func ResourcesOf(samples []Sample) []host.Series {
	var present []host.Series
	for _, name := range resourceNames(samples) {
		for i := range samples {
			if _, measured := samples[i].Resource(name); measured {
				series, _ := host.SeriesOf(name)
				present = append(present, series)
				break
			}
		}
	}
	return present
}

// resourceNames are those of the catalogue, and of each server where there are several.
func resourceNames(samples []Sample) (names []string) {
	for _, series := range host.Catalogue {
		names = append(names, series.Name)
	}
	seen := map[string]bool{}
	for i := range samples {
		for name := range samples[i].Resources.All() {
			if number, _ := host.ServerNumber(name); number > 0 && !seen[name] {
				if _, known := host.SeriesOf(name); known {
					seen[name], names = true, append(names, name)
				}
			}
		}
	}
	host.InOrder(names)
	return names
}
