// Package metrics shows a run that goes on to programs: OpenMetrics over HTTP, by Prometheus' own
// client library. It copies what the run loop tells it, and never makes it wait for a reader.
package metrics

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/execution/event"
)

const (
	// kept is how long a phase that has ended is still shown, so that one shorter than the time
	// between two scrapes is not missed.
	kept = 5 * time.Minute

	// schema is that of native histograms: 32 buckets from a value to its double, each 2.2 % wide.
	schema = 5
)

var (
	of          = []string{"run", "trial", "store", "cell", "phase"}
	ofOperation = append(of[:len(of):len(of)], "operation")

	operationsDesc = describe("operations_total", "Operations that have ended, by outcome.", append(ofOperation[:len(ofOperation):len(ofOperation)], "outcome"))
	writtenDesc    = describe("written_bytes_total", "Bytes of keys and values that operations have written.", ofOperation)
	readDesc       = describe("read_bytes_total", "Bytes of values that operations have read.", ofOperation)
	serviceDesc    = describe("service_seconds", "Time from the call of an operation to its return. Its sum is of the buckets' middles, within 0.4 %.", ofOperation)
	responseDesc   = describe("response_seconds", "Time from the moment an operation of open load was due to its return. Its sum is of the buckets' middles, within 0.4 %.", ofOperation)

	elapsedDesc  = describe("phase_seconds", "Time since the phase began, at the last sample.", of)
	quantileDesc = describe("interval_service_seconds", "Service time of all operations of the last sample.", append(of[:len(of):len(of)], "quantile"))
	recordsDesc  = describe("records", "Live records, by the trace's arithmetic.", of)
	cpuDesc      = describe("worker_cpu_seconds_total", "CPU time that the phase's processes have used, with the store if it is embedded.", of)
	resourceDesc = describe("resource", "A series of the machine, the worker or a server, in the unit that docs/run-directory/telemetry.csv gives.", append(of[:len(of):len(of)], "series"))
	statDesc     = describe("store_stat", "A counter that the store reports of itself.", append(of[:len(of):len(of)], "stat"))
	ratesDesc    = describe("samples_total", "Samples that were taken of the phase.", of)
)

func describe(name, help string, labels []string) *prometheus.Desc {
	return prometheus.NewDesc("assay_"+name, help, labels, nil)
}

// Meter is an [event.Meter] and a [prometheus.Collector]. Its methods may be called from several
// goroutines.
type Meter struct {
	run string
	now func() time.Time

	guard  sync.Mutex
	phases []*phase // in the order in which they began
	news   bool     // something was reported since the last collection
}

// phase has what was reported of one.
type phase struct {
	labels   []string
	totals   []counters.Total // copies; histograms stay as they were read last
	sample   record.Sample    // the last
	samples  uint64
	cpu      float64
	cpuKnown bool
	resource map[string]float64 // as read last: costly ones are not in each sample
	stats    map[string]float64
	began    time.Time
	ended    time.Time // zero: it goes on
}

// New returns a meter of a run.
func New(run string) *Meter { return &Meter{run: run, now: time.Now} }

// Measured takes what a phase has measured.
func (m *Meter) Measured(e *event.Measured) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.news = true
	p := m.phase([]string{m.run, e.Trial.ID, e.Trial.Arm, e.Cell, e.Phase})
	p.take(e.Totals)
	if e.Sample != nil {
		p.see(e.Sample)
	}
	if e.Over {
		p.ended = m.now()
	}
}

// phase finds the phase of some labels, or begins it; the caller holds guard. A trial that runs again
// has another name.
func (m *Meter) phase(labels []string) *phase {
	if n := len(m.phases); n > 0 && m.phases[n-1].is(labels) {
		return m.phases[n-1]
	}
	p := &phase{labels: labels, began: m.now(), resource: map[string]float64{}, stats: map[string]float64{}}
	for _, other := range m.phases {
		if other.ended.IsZero() {
			other.ended = m.now() // it failed: its end was not reported
		}
	}
	m.phases = append(m.phases, p)
	return p
}

func (p *phase) is(labels []string) bool {
	for i, label := range labels {
		if p.labels[i] != label {
			return false
		}
	}
	return true
}

// take copies totals. Histograms that were not read stay as they were.
func (p *phase) take(totals []counters.Total) {
	before := p.totals
	p.totals = append([]counters.Total(nil), totals...)
	for i := range p.totals {
		t := &p.totals[i]
		if t.Service == nil && i < len(before) {
			t.Service, t.Response = before[i].Service, before[i].Response
			continue
		}
		t.Service, t.Response = copied(t.Service), copied(t.Response)
	}
}

func copied(h *histogram.Histogram) *histogram.Histogram {
	if h == nil {
		return nil
	}
	c := histogram.New()
	c.Add(h)
	return c
}

func (p *phase) see(s *record.Sample) {
	p.sample = *s
	p.samples++
	if s.CPUSeconds != nil {
		p.cpu += *s.CPUSeconds
		p.cpuKnown = true
	}
	maps.Insert(p.resource, s.Resources.All())
	for _, name := range []string{"worker.rss", "worker.read", "worker.write", "data.bytes", "machine.steal", "machine.foreign"} {
		if value, measured := s.Resource(name); measured {
			p.resource[name] = value
		}
	}
	maps.Insert(p.stats, s.Stats.All())
}

// Describe is that of [prometheus.Collector].
func (m *Meter) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{operationsDesc, writtenDesc, readDesc, serviceDesc, responseDesc, elapsedDesc,
		quantileDesc, recordsDesc, cpuDesc, resourceDesc, statDesc, ratesDesc} {
		to <- d
	}
}

// Collect is that of [prometheus.Collector].
func (m *Meter) Collect(to chan<- prometheus.Metric) {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.news = false
	shown := m.phases[:0]
	for _, p := range m.phases {
		if p.ended.IsZero() || m.now().Sub(p.ended) < kept {
			shown = append(shown, p)
			p.collect(to)
		}
	}
	clear(m.phases[len(shown):])
	m.phases = shown
}

func (p *phase) collect(to chan<- prometheus.Metric) {
	put := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string) {
		labels := append(p.labels[:len(p.labels):len(p.labels)], more...)
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	for i := range p.totals {
		t := &p.totals[i]
		name := t.Operation.String()
		for outcome, n := range t.Outcomes {
			if n > 0 || counters.Outcome(outcome) == counters.OK { // a counter that appears late has no rate
				put(operationsDesc, prometheus.CounterValue, float64(n), name, counters.Outcome(outcome).String())
			}
		}
		put(writtenDesc, prometheus.CounterValue, float64(t.BytesWritten), name)
		put(readDesc, prometheus.CounterValue, float64(t.BytesRead), name)
		p.latency(to, serviceDesc, t.Service, name)
		p.latency(to, responseDesc, t.Response, name)
	}
	put(ratesDesc, prometheus.CounterValue, float64(p.samples))
	if p.samples == 0 {
		return
	}
	s := &p.sample
	put(elapsedDesc, prometheus.GaugeValue, s.At)
	for quantile, ns := range map[string]*float64{"0.5": s.P50NS, "0.99": s.P99NS, "1": s.MaxNS} {
		if ns != nil {
			put(quantileDesc, prometheus.GaugeValue, *ns/1e9, quantile)
		}
	}
	if s.Records != nil {
		put(recordsDesc, prometheus.GaugeValue, float64(*s.Records))
	}
	if p.cpuKnown {
		put(cpuDesc, prometheus.CounterValue, p.cpu)
	}
	for name, value := range p.resource {
		put(resourceDesc, prometheus.GaugeValue, value, name)
	}
	for name, value := range p.stats {
		put(statDesc, prometheus.GaugeValue, value, name)
	}
}

// latency gives a histogram as a native one: counts are exact, and a value lies in the bucket of its
// own bucket's middle.
func (p *phase) latency(to chan<- prometheus.Metric, d *prometheus.Desc, h *histogram.Histogram, operation string) {
	if h == nil {
		return
	}
	var count, zero uint64
	var sum float64
	buckets := map[int]int64{}
	for bucket, n := range h.All() {
		seconds := histogram.Middle(bucket) / 1e9
		count += n
		sum += seconds * float64(n)
		if seconds == 0 {
			zero += n
			continue
		}
		buckets[nativeBucket(seconds)] += int64(n)
	}
	labels := append(p.labels[:len(p.labels):len(p.labels)], operation)
	m, err := prometheus.NewConstNativeHistogram(d, count, sum, buckets, nil, zero, schema, 0, p.began, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	to <- m
}

// nativeBucket is the bucket in which Prometheus counts a value above zero: its upper bound is
// 2^(bucket/2^schema), and belongs to it.
func nativeBucket(seconds float64) int { return int(math.Ceil(math.Log2(seconds) * (1 << schema))) }
