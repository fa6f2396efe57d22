package read

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// RateForm is a number of operations a second, or a rate that changes over time: segments, or A..B
// for a ramp over the whole phase.
type RateForm struct {
	Number   float64
	Segments []SegmentFile // none: Number
	list     bool          // they stand in a list, and so have numbers
}

// SegmentFile is a stretch of a rate over time. Exactly one of the forms is given.
type SegmentFile struct {
	From *float64     `yaml:"from" jsonschema_description:"Of a ramp: the rate at its begin."`
	To   *float64     `yaml:"to" jsonschema_description:"Of a ramp: the rate at its end."`
	Over DurationForm `yaml:"over" jsonschema_description:"How long a ramp, bursts or a sine go on. Default, of the last segment: to the phase's end."`

	At *float64 `yaml:"at" jsonschema_description:"A step: a rate that stays."`

	Burst *float64     `yaml:"burst" jsonschema_description:"The rate in bursts, each in the middle of its period."`
	Every DurationForm `yaml:"every" jsonschema_description:"Of bursts: how far apart they begin."`
	Above *float64     `yaml:"above" jsonschema_description:"Of bursts: the rate between them."`

	For DurationForm `yaml:"for" jsonschema_description:"How long a step goes on (default, of the last segment: to the phase's end), or each burst."`

	Sine *SineFile `yaml:"sine" jsonschema_description:"A rate that goes up and down, from low."`
	File *string   `yaml:"file" jsonschema_description:"A CSV file with the columns time_s and rate: the rate at each time, in straight lines between. Its last time is its end."`
}

// SineFile is a rate that goes up and down.
type SineFile struct {
	Low    *float64     `yaml:"low" jsonschema_description:"The lowest rate, with which it begins."`
	High   *float64     `yaml:"high" jsonschema_description:"The highest rate."`
	Period DurationForm `yaml:"period" jsonschema_description:"From one lowest rate to the next."`
}

const (
	rateWords     = "a number of operations a second, A..B for a ramp, or a list of segments such as {from: 1000, to: 20000, over: 60s}"
	segmentForms  = "{from: 1000, to: 20000, over: 60s}, {at: 5000, for: 30s}, {burst: 50000, every: 10s, for: 500ms, above: 2000}, {sine: {low: 1000, high: 9000, period: 20s}} or {file: rates.csv}"
	ratesFileSize = 1 << 20
)

func (f *RateForm) fromNode(n *node, path string) *Error {
	segments := []*node{n}
	switch n.kind {
	case null:
		return nil
	case scalar:
		text := strings.TrimSuffix(n.text, "/s") // each rate is of a second
		if low, high, ok := strings.Cut(text, ".."); ok && !n.quoted {
			from, known := parseNumber(low)
			to, both := parseNumber(high)
			if !known || !both {
				return n.expected(path, rateWords)
			}
			f.Segments = []SegmentFile{{From: &from, To: &to}}
			return nil
		}
		number, ok := parseNumber(text)
		if n.quoted || !ok {
			return n.expected(path, rateWords)
		}
		f.Number = number
		return nil
	case list:
		if segments, f.list = n.items, true; len(segments) == 0 {
			return n.at.fail(path, "an empty list: expected at least one segment").hint("expected %s", segmentForms)
		}
	}
	for i, item := range segments {
		if item.kind != table {
			return item.expected(path, "a segment").hint("expected %s", segmentForms)
		}
		var s SegmentFile
		at := path
		if f.list {
			at = join(path, fmt.Sprint(i))
		}
		if err := decodeStruct(item, reflect.ValueOf(&s).Elem(), at); err != nil {
			return err
		}
		f.Segments = append(f.Segments, s)
	}
	return nil
}

func (f *RateForm) changes() bool { return f != nil && len(f.Segments) > 0 }

// hasEnd reports whether the segments say by themselves how long they go on.
func (f *RateForm) hasEnd() bool {
	if !f.changes() {
		return false
	}
	last := f.Segments[len(f.Segments)-1]
	return last.Over > 0 || last.At != nil && last.For > 0 || last.File != nil
}

// rate resolves how many operations a second a phase or group is asked for.
func (r workResolver) rate(p PhaseFile, resolved *experiment.Phase) *Error {
	if p.Rate == nil {
		if r.cellsHaveRates() {
			resolved.Arrivals = trace.Arrivals(p.Arrivals)
			return nil
		}
		if p.Arrivals != "" && p.Capacity == nil {
			return r.fail(r.in("arrivals"), "the phase %s has no rate: arrivals spread the operations of a rate", p.Name).
				hint("expected rate: OPERATIONS_A_SECOND beside it")
		}
		return nil
	}
	resolved.Arrivals = trace.Arrivals(orText(string(p.Arrivals), string(trace.Poisson)))
	if p.Rate.changes() {
		return r.rateOverTime(p, resolved)
	}
	resolved.Rate = p.Rate.Number
	return r.rateIn(resolved.Rate, "rate")
}

// cellsHaveRates reports whether rate is an axis.
func (r *resolver) cellsHaveRates() bool {
	return len(r.file.Rate) > 0 || slices.ContainsFunc(r.file.Cases, func(c CaseFile) bool {
		return slices.ContainsFunc(c.Changes, func(of change) bool { return of.path == "rate" })
	})
}

func (r workResolver) rateIn(rate float64, field ...string) *Error {
	if rate <= 0 || rate > rateMax {
		return r.fail(r.in(field...), "a rate is above 0 and at most 1e9 operations a second, not %v", rate)
	}
	return nil
}

// rateOverTime resolves segments, and with them how long the phase lasts.
func (r workResolver) rateOverTime(p PhaseFile, resolved *experiment.Phase) *Error {
	if len(p.Rate.Segments) > trace.SegmentsMax {
		return r.fail(r.in("rate"), "%d segments: at most %d", len(p.Rate.Segments), trace.SegmentsMax)
	}
	var sum time.Duration
	bursts := 0
	for i, file := range p.Rate.Segments {
		at := segmentResolver{r.below("rate"), p.Name, file}
		if p.Rate.list {
			at.within = r.below("rate", fmt.Sprint(i))
		}
		left := time.Duration(0) // for a segment without a length
		if i == len(p.Rate.Segments)-1 {
			left = resolved.Duration - sum
		}
		s, err := at.segment(left)
		if err != nil {
			return err
		}
		if s.Form == trace.FormBurst {
			bursts += int(s.Duration / s.Every)
		}
		sum += s.Duration
		resolved.Segments = append(resolved.Segments, s)
	}
	switch {
	case resolved.Duration == 0:
		resolved.Duration = sum
	case resolved.Duration != sum:
		return r.fail(r.in("for"), "the segments of the rate last %s, but the phase %s lasts %s", sum, p.Name, resolved.Duration).
			hint("leave for out, or the length of the last segment: it then goes on to the phase's end")
	}
	if bursts > trace.BurstsMax {
		return r.fail(r.in("rate"), "%d bursts: at most %d in a phase, as each is looked at by itself", bursts, trace.BurstsMax)
	}
	load, err := trace.NewLoad(resolved.Segments)
	if err != nil {
		return r.fail(r.in("rate"), "%s", err)
	}
	resolved.Rate = load.Total() / sum.Seconds()
	return r.fitsTrace(p, resolved, load.Operations())
}

// fitsTrace refuses a rate of which each operation would be an entry of a trace too long for memory.
func (r workResolver) fitsTrace(p PhaseFile, resolved *experiment.Phase, operations uint64) *Error {
	each := uint64(1)
	if batch := uint64(orCount(p.Batch, 1)); batch > 1 {
		each += batch
	}
	if keys := uint64(resolved.MultiRead); keys > 1 {
		each = max(each, 1+keys)
	}
	if resolved.Operations > 0 {
		operations = min(operations, resolved.Operations)
	}
	each += uint64(len(p.Request))
	if most := uint64(trace.DefaultEntriesMax) / each; operations > most {
		return r.fail(r.in("rate"), "a rate that changes has a due time for each operation: %s are more than the %s that fit a trace",
			format.Count(operations), format.Count(most)).hint("take a lower rate or a shorter phase")
	}
	return nil
}

// segmentResolver resolves one segment of a rate.
type segmentResolver struct {
	within
	phase string
	file  SegmentFile
}

// segment resolves a segment. left is how long the phase goes on from its begin; 0 or less: not known,
// or the segment is not the last one.
func (r segmentResolver) segment(left time.Duration) (trace.Segment, *Error) {
	f := r.file
	var forms []string
	for _, form := range []struct {
		name  string
		given bool
	}{{"from and to", f.From != nil || f.To != nil}, {"at", f.At != nil}, {"burst", f.Burst != nil}, {"sine", f.Sine != nil}, {"file", f.File != nil}} {
		if form.given {
			forms = append(forms, form.name)
		}
	}
	if len(forms) != 1 {
		what := "a segment says what the rate is"
		if len(forms) > 1 {
			what = "a segment is one of these, not " + strings.Join(forms, " and ")
		}
		return trace.Segment{}, r.fail(r.in(), "%s", what).hint("expected %s", segmentForms)
	}
	switch forms[0] {
	case "at":
		return r.step(left)
	case "burst":
		return r.burst(left)
	case "sine":
		return r.sine(left)
	case "file":
		return r.fromFile()
	}
	return r.ramp(left)
}

// length is how long a segment lasts.
func (r segmentResolver) length(field string, given DurationForm, left time.Duration) (time.Duration, *Error) {
	switch {
	case given > 0:
		return time.Duration(given), nil
	case left > 0:
		return left, nil
	}
	return 0, r.fail(r.in(), "the segment has no length").
		hint("expected %s: DURATION, or for: DURATION in the phase %s, to whose end the last segment goes on", field, r.phase)
}

// only refuses fields that have no meaning in a form.
func (r segmentResolver) only(form string, fields ...string) *Error {
	for _, name := range fieldNames(reflect.TypeFor[SegmentFile]()) {
		if r.has(r.in(name)) && !slices.Contains(fields, name) {
			e := r.fail(r.in(name), "%s has no %s", form, name)
			if name == "for" && slices.Contains(fields, "over") {
				return e.hint("expected over: DURATION")
			}
			if name == "over" && slices.Contains(fields, "for") {
				return e.hint("expected for: DURATION")
			}
			return e.hint("expected %s", strings.Join(fields, ", "))
		}
	}
	return nil
}

// rateOf is a rate of a segment, which may be 0 for a while.
func (r segmentResolver) rateOf(rate *float64, form string, field ...string) (float64, *Error) {
	if rate == nil {
		return 0, r.fail(r.in(), "%s without %s", form, strings.Join(field, ".")).hint("expected %s", segmentForms)
	}
	if *rate < 0 || *rate > rateMax {
		return 0, r.fail(r.in(field...), "a rate is 0 to 1e9 operations a second, not %v", *rate)
	}
	return *rate, nil
}

func (r segmentResolver) ramp(left time.Duration) (s trace.Segment, err *Error) {
	s.Form = trace.FormRamp
	if err = r.only("a ramp", "from", "to", "over"); err != nil {
		return s, err
	}
	if s.From, err = r.rateOf(r.file.From, "a ramp", "from"); err != nil {
		return s, err
	}
	if s.To, err = r.rateOf(r.file.To, "a ramp", "to"); err != nil {
		return s, err
	}
	s.Duration, err = r.length("over", r.file.Over, left)
	return s, err
}

func (r segmentResolver) step(left time.Duration) (s trace.Segment, err *Error) {
	s.Form = trace.FormStep
	if err = r.only("a step", "at", "for"); err != nil {
		return s, err
	}
	if s.To, err = r.rateOf(r.file.At, "a step", "at"); err != nil {
		return s, err
	}
	s.Duration, err = r.length("for", r.file.For, left)
	return s, err
}

func (r segmentResolver) burst(left time.Duration) (s trace.Segment, err *Error) {
	s.Form, s.Every, s.Length = trace.FormBurst, time.Duration(r.file.Every), time.Duration(r.file.For)
	if err = r.only("a burst", "burst", "every", "for", "above", "over"); err != nil {
		return s, err
	}
	if s.To, err = r.rateOf(r.file.Burst, "a burst", "burst"); err != nil {
		return s, err
	}
	if s.From, err = r.rateOf(r.file.Above, "a burst", "above"); err != nil {
		return s, err
	}
	if s.Every == 0 || s.Length == 0 {
		return s, r.fail(r.in(), "bursts have a length and a distance").hint("expected for: DURATION and every: DURATION")
	}
	if s.Length >= s.Every {
		return s, r.fail(r.in("for"), "a burst of %s does not end before the next one, %s later", s.Length, s.Every)
	}
	if s.Duration, err = r.length("over", r.file.Over, left); err == nil && s.Duration < s.Every {
		return s, r.fail(r.in("every"), "the segment lasts %s: less than one period of %s", s.Duration, s.Every)
	}
	return s, err
}

func (r segmentResolver) sine(left time.Duration) (s trace.Segment, err *Error) {
	s.Form, s.Every = trace.FormSine, time.Duration(r.file.Sine.Period)
	if err = r.only("a sine", "sine", "over"); err != nil {
		return s, err
	}
	if s.From, err = r.rateOf(r.file.Sine.Low, "a sine", "sine", "low"); err != nil {
		return s, err
	}
	if s.To, err = r.rateOf(r.file.Sine.High, "a sine", "sine", "high"); err != nil {
		return s, err
	}
	switch {
	case s.Every == 0:
		return s, r.fail(r.in("sine"), "a sine without its period").hint("expected period: DURATION")
	case s.From > s.To:
		return s, r.fail(r.in("sine", "low"), "low is %v, above high, which is %v", s.From, s.To)
	}
	s.Duration, err = r.length("over", r.file.Over, left)
	return s, err
}

// fromFile reads a rate over time from a file with a header line.
func (r segmentResolver) fromFile() (s trace.Segment, err *Error) {
	s.Form = trace.FormFile
	if err = r.only("a file of rates", "file"); err != nil {
		return s, err
	}
	name := *r.file.File
	if name != "" && !filepath.IsAbs(name) {
		name = filepath.Join(r.folder, name)
	}
	text, failure := bounded.ReadFile(name, ratesFileSize)
	if failure != nil {
		return s, r.fail(r.in("file"), "the file of rates can't be read: %s", failure)
	}
	if s.Points, failure = parseRates(string(text)); failure != nil {
		return s, r.fail(r.in("file"), "%s: %s", *r.file.File, failure).hint("expected a line time_s,rate and then a line for each time, in seconds, such as 0,1000")
	}
	s.Duration = s.Points[len(s.Points)-1].At
	return s, nil
}

// parseRates reads lines of time_s and rate. Times count from the first one.
func parseRates(text string) (points []trace.Point, err error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
	header := fieldsOf(lines[0])
	timeAt, rateAt := slices.Index(header, "time_s"), slices.Index(header, "rate")
	if timeAt < 0 || rateAt < 0 {
		return nil, fmt.Errorf("line 1 does not name the columns time_s and rate, but %q", lines[0])
	}
	first := 0.0
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := fieldsOf(line)
		if len(fields) != len(header) {
			return nil, fmt.Errorf("line %d has %s, line 1 has %d", i+2, format.Plural(len(fields), "column", ""), len(header))
		}
		at, timeOK := parseNumber(fields[timeAt])
		rate, rateOK := parseNumber(fields[rateAt])
		switch {
		case !timeOK || !rateOK:
			return nil, fmt.Errorf("line %d is no time and rate: %q", i+2, line)
		case rate < 0 || rate > rateMax:
			return nil, fmt.Errorf("line %d has a rate of %v: expected 0 to 1e9 operations a second", i+2, rate)
		case len(points) == trace.PointsMax:
			return nil, fmt.Errorf("more than %d lines", trace.PointsMax)
		case len(points) == 0:
			first = at
		}
		if at-first > secondsMax {
			return nil, fmt.Errorf("line %d is %v s after the first", i+2, at-first)
		}
		point := trace.Point{At: time.Duration((at - first) * 1e9), Rate: rate}
		if n := len(points); n > 0 && point.At < points[n-1].At || point.At < 0 {
			return nil, fmt.Errorf("line %d is before the line above it", i+2)
		}
		points = append(points, point)
	}
	if len(points) < 2 || points[len(points)-1].At == 0 {
		return nil, fmt.Errorf("%s of time: expected two at least", format.Plural(len(points), "line", ""))
	}
	return points, nil
}

// secondsMax is a century, beyond which a duration would overflow.
const secondsMax = 100 * 365 * 86_400

func fieldsOf(line string) (fields []string) {
	for field := range strings.SplitSeq(line, ",") {
		fields = append(fields, strings.TrimSpace(field))
	}
	return fields
}
