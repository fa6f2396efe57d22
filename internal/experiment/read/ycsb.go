package read

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/base/format"
	"assay/internal/experiment/trace"
)

// ImportYCSB turns a property file of YCSB's core workload into an experiment file. What can't be
// carried over without measuring something else is an *Error; what is carried over with a
// difference, or means nothing here, is a note. The stores are a placeholder: a property file does
// not name any. Defaults are those of site.ycsb.workloads.CoreWorkload.
func ImportYCSB(properties []byte, name string) (text []byte, notes []string, err error) {
	w, mistake := readYCSB(properties, name)
	if mistake != nil {
		return nil, nil, mistake
	}
	e, mistake := w.convert()
	if mistake != nil {
		return nil, nil, mistake
	}
	return e.write(w), w.notes, nil
}

// ycsbKeys are the properties that are read, or that are known and mean nothing here, with what is
// then said.
var ycsbKeys = map[string]string{
	"recordcount": "", "operationcount": "", "fieldcount": "", "fieldlength": "", "minfieldlength": "", "fieldlengthdistribution": "",
	"readproportion": "", "updateproportion": "", "insertproportion": "", "scanproportion": "", "readmodifywriteproportion": "", "deleteproportion": "",
	"requestdistribution": "", "hotspotdatafraction": "", "hotspotopnfraction": "", "exponential.percentile": "", "exponential.frac": "",
	"maxscanlength": "", "minscanlength": "", "scanlengthdistribution": "", "insertorder": "", "zeropadding": "",
	"threadcount": "", "target": "", "maxexecutiontime": "", "workload": "", "readallfields": "", "writeallfields": "",
	"insertstart": "", "insertcount": "", "zipfianconstant": "", "keyprefix": "",
	"table": "there are no tables: keys stand alone", "db": "stores are named under stores:",
	"fieldnameprefix": "values have no fields", "fieldlengthhistogram": "only fieldlengthdistribution=histogram reads it",
	"dataintegrity":   "every value that is read is checked anyway (verify: true)",
	"measurementtype": "all measurements are taken in each run", "histogram.buckets": "histograms are log-linear, 1/128 wide",
	"measurement.interval":     "response time is counted from the due time wherever the load is open",
	"measurement.trackjvm":     "what the worker's runtime reports is recorded anyway",
	"timeseries.granularity":   "sample: says how often samples are taken",
	"hdrhistogram.percentiles": "reports have p50, p99, p99.9, the maximum and the worst second",
	"hdrhistogram.fileoutput":  "assay report exports histograms", "hdrhistogram.output.path": "assay report exports histograms",
	"exporter": "assay report chooses the format", "exportfile": "assay report chooses the format", "reportlatencyforeacherror": "outcomes are counted by kind anyway",
	"latencytrackederrors": "outcomes are counted by kind anyway", "status.interval": "sample: says how often samples are taken", "warmupexecutiontime": "add a phase with unmeasured: true",
	"core_workload_insertion_retry_limit": "a driver never retries", "core_workload_insertion_retry_interval": "a driver never retries",
	"dotransactions": "a run loads and then measures",
}

// ycsbWorkload is a property file, read.
type ycsbWorkload struct {
	name   string
	in     *source
	values map[string]string
	places map[string]place
	notes  []string
}

// readYCSB reads Java's property syntax: key=value, key: value or key value, # and ! comments, \ at
// the line's end.
func readYCSB(text []byte, name string) (*ycsbWorkload, *Error) {
	in := newSource(name, string(text), false)
	whole := place{in: in}
	if len(text) > sourceBytesMax {
		return nil, whole.fail("", "the file has %d bytes: a workload has at most %d", len(text), sourceBytesMax)
	}
	if !utf8.Valid(text) {
		return nil, whole.fail("", "the file is not UTF-8 text")
	}
	if begin := strings.TrimLeft(string(text), " \t\r\n\ufeff"); strings.HasPrefix(begin, "<") || strings.HasPrefix(begin, "{") {
		return nil, place{in: in, line: 1, column: 1, width: 1}.fail("", "this is no property file: it begins as XML or JSON does").
			hint("expected lines of key=value, as the workloads of YCSB have them")
	}
	w := &ycsbWorkload{name: name, in: in, values: map[string]string{}, places: map[string]place{}}
	for i := 0; i < len(in.lines); i++ {
		first := i
		line := strings.TrimSpace(in.lines[i])
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for strings.HasSuffix(line, `\`) && i+1 < len(in.lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(in.lines[i])
		}
		end := strings.IndexAny(line, "=: \t")
		key, value := line, ""
		if end >= 0 {
			key = line[:end]
			value = strings.TrimSpace(strings.TrimLeft(line[end:], " \t"))
			value = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(value, "="), ":"))
		}
		indent := utf8.RuneCountInString(in.lines[first]) - utf8.RuneCountInString(strings.TrimLeft(in.lines[first], " \t"))
		at := place{in: in, line: first + 1, column: 1 + indent, width: utf8.RuneCountInString(key)}
		if key == "" {
			return nil, at.fail("", "a value without a key").hint("expected key=value")
		}
		if _, twice := w.values[key]; twice {
			w.note("%s stands there twice: the last one counts, as in Java", key)
		}
		w.values[key], w.places[key] = value, at
	}
	for _, key := range slices.Sorted(maps.Keys(w.values)) {
		meaning, known := ycsbKeys[key]
		switch {
		case !known:
			unknown := fmt.Sprintf("%s (line %d) is not a property of the core workload and was left out", key, w.places[key].line)
			if near := format.Nearest(key, slices.Sorted(maps.Keys(ycsbKeys))); near != "" {
				unknown += fmt.Sprintf("; did you mean %s?", near)
			}
			w.notes = append(w.notes, unknown)
		case meaning != "":
			w.note("%s was left out: %s", key, meaning)
		}
	}
	return w, nil
}

func (w *ycsbWorkload) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

func (w *ycsbWorkload) fail(key, format string, args ...any) *Error {
	return w.places[key].fail(key, format, args...)
}

func (w *ycsbWorkload) text(key, otherwise string) string {
	if value, ok := w.values[key]; ok && value != "" {
		return value
	}
	return otherwise
}

func (w *ycsbWorkload) count(key string, otherwise uint64) (uint64, *Error) {
	value, ok := w.values[key]
	if !ok || value == "" {
		return otherwise, nil
	}
	number, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return 0, w.fail(key, "%s: expected a whole number, got %q", key, value)
	}
	return number, nil
}

func (w *ycsbWorkload) share(key string, otherwise float64) (float64, *Error) {
	value, ok := w.values[key]
	if !ok || value == "" {
		return otherwise, nil
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil || !(number >= 0 && number <= 1e9) {
		return 0, w.fail(key, "%s: expected a number of 0 or more, got %q", key, value)
	}
	return number, nil
}

// choice returns one of the names that can be carried over; names that YCSB has and Assay has not
// are in missing, with the reason.
func (w *ycsbWorkload) choice(key, otherwise string, names []string, missing map[string]string) (string, *Error) {
	value := w.text(key, otherwise)
	if slices.Contains(names, value) {
		return value, nil
	}
	if why, ok := missing[value]; ok {
		return "", w.fail(key, "%s=%s can't be carried over: %s", key, value, why)
	}
	return "", w.fail(key, "%s: unknown value %q", key, value).hint("expected one of %s", strings.Join(names, ", ")).near(value, names)
}

// ycsbExperiment is what a workload becomes.
type ycsbExperiment struct {
	records, operations, threads, seconds uint64
	mix                                   []string
	order, keys, scan                     string
	values                                string // lengths: "bytes: 100"
	target                                float64
}

func (w *ycsbWorkload) convert() (*ycsbExperiment, *Error) {
	e := &ycsbExperiment{}
	for _, step := range []func(*ycsbExperiment) *Error{w.class, w.amounts, w.mix, w.order, w.keys, w.scan, w.fields} {
		if err := step(e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (w *ycsbWorkload) class(*ycsbExperiment) *Error {
	switch class := w.text("workload", ""); class {
	case "site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core": // the last is go-ycsb's name
	case "":
		w.note("no workload class is named: CoreWorkload was assumed")
	default:
		return w.fail("workload", "the workload class %s can't be carried over", class).
			hint("expected site.ycsb.workloads.CoreWorkload")
	}
	return nil
}

func (w *ycsbWorkload) amounts(e *ycsbExperiment) (err *Error) {
	for _, field := range []struct {
		key       string
		into      *uint64
		otherwise uint64
	}{
		{"recordcount", &e.records, 0}, {"operationcount", &e.operations, 0}, {"threadcount", &e.threads, 1},
		{"maxexecutiontime", &e.seconds, 0},
	} {
		if *field.into, err = w.count(field.key, field.otherwise); err != nil {
			return err
		}
	}
	if _, given := w.values["recordcount"]; !given {
		e.records = defaultRecords
		w.note("no recordcount: YCSB expects one on its command line; %d stand here", e.records)
	}
	if e.operations == 0 && e.seconds == 0 {
		e.seconds = 10
		w.note("neither operationcount nor maxexecutiontime: ten seconds stand here")
	}
	if e.seconds > 10*365*24*3600 {
		return w.fail("maxexecutiontime", "%d seconds are more than ten years", e.seconds)
	}
	if e.target, err = w.share("target", 0); err != nil {
		return err
	}
	if e.target > 0 {
		w.note("target became rate: the load is open and response time counts from the due time; YCSB delays its threads, so that a stall slows the load down")
	}
	for _, key := range []string{"insertstart", "insertcount"} {
		number, err := w.count(key, 0)
		if err != nil {
			return err
		}
		if number != 0 && (key == "insertstart" || number != e.records) {
			return w.fail(key, "%s=%d can't be carried over: a load stores all records, from 0 on", key, number)
		}
	}
	return nil
}

func (w *ycsbWorkload) mix(e *ycsbExperiment) *Error {
	total := 0.0
	deletes, err := w.share("deleteproportion", 0)
	if err != nil {
		return err
	}
	for _, operation := range []struct {
		key, name string
		otherwise float64
	}{
		{"readproportion", "read", 0.95}, {"updateproportion", "update", 0.05}, {"insertproportion", "insert", 0},
		{"scanproportion", "scan", 0}, {"readmodifywriteproportion", "read_modify_write", 0},
		{"deleteproportion", "delete", 0},
	} {
		share, err := w.share(operation.key, operation.otherwise)
		if err != nil {
			return err
		}
		if share > 0 && e.records == 0 && operation.name != "insert" {
			return w.fail("recordcount", "recordcount=0 loads no records, and %s works on them", operation.key).
				hint("expected at least 1, or inserts alone")
		}
		if operation.name == "update" && share > 0 && deletes > 0 {
			operation.name = "upsert"
			w.note("update became upsert: beside deletes a key may be gone")
		}
		if share > 0 {
			e.mix = append(e.mix, fmt.Sprintf("%s: %s", operation.name, number(share)))
			total += share
		}
	}
	if total == 0 {
		return place{in: w.in, line: 1, column: 1, width: 1}.fail("readproportion", "all proportions are 0: there is nothing to do")
	}
	if total < 0.999 || total > 1.001 {
		w.note("the proportions add up to %s, not 1: they are taken as weights, as YCSB does", number(total))
	}
	return nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (w *ycsbWorkload) order(e *ycsbExperiment) *Error {
	distribution, err := w.choice("requestdistribution", "uniform",
		[]string{"uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"}, nil)
	if err != nil {
		return err
	}
	switch distribution {
	case "zipfian":
		theta, err := w.share("zipfianconstant", trace.YCSBTheta)
		switch {
		case err != nil:
			return err
		case theta <= 0 || theta > thetaMax:
			return w.fail("zipfianconstant", "zipfianconstant is above 0 and at most %d, not %s", thetaMax, number(theta))
		case theta == trace.YCSBTheta:
			e.order = "scrambled_zipfian" // what YCSB's "zipfian" is: CoreWorkload makes a ScrambledZipfianGenerator
		default:
			e.order = fmt.Sprintf("{distribution: zipfian, theta: %s}", number(theta))
			w.note("zipfianconstant=%s: a true zipfian of that exponent; YCSB's scrambled one has 0.99 alone", number(theta))
		}
	case "hotspot":
		data, err := w.share("hotspotdatafraction", defaultHotRecords)
		if err != nil {
			return err
		}
		operations, err := w.share("hotspotopnfraction", defaultHotOperations)
		if err != nil {
			return err
		}
		if data <= 0 || data > 1 {
			return w.fail("hotspotdatafraction", "hotspotdatafraction is above 0 and at most 1, not %s", number(data))
		}
		if operations > 1 {
			return w.fail("hotspotopnfraction", "hotspotopnfraction is at most 1, not %s", number(operations))
		}
		e.order = fmt.Sprintf("{distribution: hotspot, hot_records: %s, hot_operations: %s}", number(data), number(operations))
	case "exponential":
		percentile, err := w.share("exponential.percentile", 100*defaultFrontOperations)
		if err != nil {
			return err
		}
		records, err := w.share("exponential.frac", defaultFrontRecords)
		if err != nil {
			return err
		}
		order := trace.Order{Distribution: trace.Exponential, HotRecords: records, HotOperations: percentile / 100}
		if order.Check() != nil {
			key := "exponential.percentile"
			if _, given := w.values[key]; !given {
				key = "exponential.frac"
			}
			return w.fail(key, "exponential.percentile=%s and exponential.frac=%s: expected above 0 and below 100, and above 0 and at most 1",
				number(percentile), number(records))
		}
		e.order = distribution
		if percentile != 100*defaultFrontOperations || records != defaultFrontRecords {
			e.order = fmt.Sprintf("{distribution: exponential, hot_records: %s, hot_operations: %s}", number(records), number(percentile/100))
		}
	default:
		e.order = distribution
	}
	return nil
}

func (w *ycsbWorkload) keys(e *ycsbExperiment) *Error {
	order, err := w.choice("insertorder", "hashed", []string{"hashed", "ordered"}, nil)
	if err != nil {
		return err
	}
	digits, err := w.count("zeropadding", 1)
	if err != nil {
		return err
	}
	prefix := strconv.Quote(w.text("keyprefix", "user"))
	if order == "hashed" {
		e.keys = fmt.Sprintf("{format: ycsb, prefix: %s}", prefix)
		if digits > 1 {
			return w.fail("zeropadding", "zeropadding=%d can't be carried over with hashed keys: Assay does not pad them", digits)
		}
		return nil
	}
	if digits > 20 {
		return w.fail("zeropadding", "zeropadding=%d can't be carried over: keys are padded to at most 20 digits", digits)
	}
	e.keys = fmt.Sprintf("{format: decimal, prefix: %s, digits: %d}", prefix, digits)
	return nil
}

func (w *ycsbWorkload) scan(e *ycsbExperiment) *Error {
	least, err := w.count("minscanlength", 1)
	if err != nil {
		return err
	}
	most, err := w.count("maxscanlength", 1000)
	if err != nil {
		return err
	}
	distribution, err := w.choice("scanlengthdistribution", "uniform", scanDistributions, nil)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(e.mix, func(part string) bool { return strings.HasPrefix(part, "scan:") }) {
		return nil // the published files set lengths in workloads without scans, too
	}
	if least < 1 || least > most || most > scanMax {
		return w.fail("maxscanlength", "scans of %d to %d records can't be carried over: expected 1 to %d", least, most, scanMax)
	}
	e.scan = fmt.Sprintf("{min: %d, max: %d, distribution: %s}", least, most, distribution)
	return nil
}

func (w *ycsbWorkload) fields(e *ycsbExperiment) *Error {
	count, err := w.count("fieldcount", 10)
	if err != nil {
		return err
	}
	length, err := w.count("fieldlength", 100)
	if err != nil {
		return err
	}
	lengths, err := w.choice("fieldlengthdistribution", "constant", []string{"constant", "uniform", "zipfian"}, map[string]string{
		"histogram": "its file stands elsewhere; give its lengths as values: {sizes: [{bytes: …, weight: …}]}"})
	if err != nil {
		return err
	}
	least, err := w.count("minfieldlength", 1)
	if err != nil {
		return err
	}
	if lengths == "constant" && w.values["minfieldlength"] != "" {
		w.note("minfieldlength was left out: with fields of constant length it has no effect")
	}
	if count > valueBytesMax || length > valueBytesMax || count*length > valueBytesMax {
		return w.fail("fieldlength", "records of %d fields of %d bytes are above 1GiB", count, length)
	}
	e.values = fmt.Sprintf("bytes: %d", count*length)
	if lengths == "constant" {
		w.note("a record is one value of %d bytes (%d fields of %d)", count*length, count, length)
	} else if err := w.mixedLengths(e, lengths, count, least, length); err != nil {
		return err
	}
	writes := slices.ContainsFunc(e.mix, func(part string) bool {
		return strings.HasPrefix(part, "update") || strings.HasPrefix(part, "read_modify_write")
	})
	if writes && w.text("writeallfields", "false") != "true" && count > 1 {
		w.note("an update writes the whole value, as with writeallfields=true; this file would write one field of %d", count)
	}
	if w.text("readallfields", "true") == "false" {
		w.note("a read reads the whole value; readallfields=false would read one field of %d", count)
	}
	return nil
}

// ycsbSizes is how many lengths stand for those of records whose fields have each a length of its own:
// each for as many of the records.
const ycsbSizes = 16

// mixedFieldsMax bounds the sums that are counted: of more, lengths are much the same.
const mixedFieldsMax = 1 << 24

// mixedLengths makes values of the lengths that the sum of a record's fields has, whose own are
// distributed from least to most.
func (w *ycsbWorkload) mixedLengths(e *ycsbExperiment, distribution string, fields, least, most uint64) *Error {
	if least > most || most == 0 {
		return w.fail("minfieldlength", "fields of %d to %d bytes: expected the least first", least, most)
	}
	if fields*fields*most*(most-least+1) > mixedFieldsMax*64 || fields*most > mixedFieldsMax {
		return w.fail("fieldlengthdistribution", "the sums of %d fields of %d to %d bytes are too many to count; give lengths as values: {sizes: [{bytes: …, weight: …}]}",
			fields, least, most)
	}
	one, all := make([]float64, most+1), 0.0
	for length := least; length <= most; length++ {
		one[length] = 1
		if distribution == "zipfian" { // the shortest is the most frequent
			one[length] = math.Pow(float64(length-least+1), -trace.YCSBTheta)
		}
		all += one[length]
	}
	sums := []float64{1}
	for range fields {
		next := make([]float64, uint64(len(sums))+most)
		for have, p := range sums {
			for length := least; p > 0 && length <= most; length++ {
				next[uint64(have)+length] += p * one[length] / all
			}
		}
		sums = next
	}
	// Of each sixteenth of the records, by length, the mean.
	var sizes []string
	mean, part, weight, passed := 0.0, 0.0, 0.0, 0.0
	end := func() {
		if weight > 0 {
			sizes = append(sizes, fmt.Sprintf("{bytes: %d, weight: 1}", int(math.Round(part/weight))))
		}
		part, weight = 0, 0
	}
	for length, p := range sums {
		mean += p * float64(length)
		for p > 0 {
			take := p
			if len(sizes) < ycsbSizes-1 {
				take = min(p, max(float64(len(sizes)+1)/ycsbSizes-passed, 0))
			}
			part, weight, passed, p = part+take*float64(length), weight+take, passed+take, p-take
			if p > 0 {
				end()
			}
		}
	}
	end()
	e.values = fmt.Sprintf("sizes: [%s]", strings.Join(sizes, ", "))
	w.note("a record is one value of the length of its %d fields together, %s from %d to %d bytes each: %d lengths stand for theirs, %.0f bytes in the mean",
		fields, distribution, least, most, len(sizes), mean)
	return nil
}

// write puts the experiment into a file, with the notes as comments.
func (e *ycsbExperiment) write(w *ycsbWorkload) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made from a property file of YCSB. What differs:\n")
	for _, note := range w.notes {
		fmt.Fprintf(&b, "#  * %s\n", oneLine(note))
	}
	fmt.Fprintf(&b, "name: %q\nabout: %q\n\n", plainNameOf(w.name), "YCSB workload from "+oneLine(w.name))
	fmt.Fprintf(&b, "# A property file names no store: these are an example.\nstores: [bbolt, goleveldb, pebble, badger, pogreb, sqlite]\ndurability: [D1, D3]\n\n")
	fmt.Fprintf(&b, "records: %d\nkeys: %s\nvalues: {%s, repeated: 0}\nthreads: %d\n\n", e.records, e.keys, e.values, e.threads)
	b.WriteString("phases:\n")
	if e.records > 0 {
		b.WriteString("  - name: load\n    load: true\n")
	}
	fmt.Fprintf(&b, "  - name: run\n    mix: {%s}\n    order: %s\n", strings.Join(e.mix, ", "), e.order)
	if e.scan != "" {
		fmt.Fprintf(&b, "    scan: %s\n", e.scan)
	}
	if e.operations > 0 {
		fmt.Fprintf(&b, "    operations: %d\n", e.operations)
	}
	if e.seconds > 0 {
		fmt.Fprintf(&b, "    for: %ds\n", e.seconds)
	}
	if e.target > 0 {
		fmt.Fprintf(&b, "    rate: %s\n", number(e.target))
	}
	b.WriteString("\nblocks: 3\n")
	return []byte(b.String())
}

// oneLine keeps a text from ending the comment or the line that it stands in.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
}

// plainNameOf makes an experiment's name of a file's.
func plainNameOf(file string) string {
	base := file[strings.LastIndexAny(file, `/\`)+1:]
	base = strings.TrimSuffix(base, ".properties")
	plain := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && plainName("a"+string(r)) {
			return r
		}
		return '-'
	}, base)
	plain = strings.TrimLeft(plain, "._+-")
	if plain == "" {
		return "ycsb"
	}
	return plain[:min(len(plain), nameBytesMax)]
}
