package report

import (
	"bytes"
	"encoding/csv"
	"html"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/internal/counters"
	"assay/internal/finding"
	"assay/internal/histogram"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/verdict"
)

// smallRun has two arms of one class, and phases that the test may change as each trial's.
func smallRun(change func(arm string, p *record.Phase)) *record.Run {
	shape := recordtest.Example()
	shape.Classes, shape.Blocks, shape.Seconds = shape.Classes[:1], 2, 20
	shape.Arms = []recordtest.Arm{shape.Arms[0], shape.Arms[3]} // pebble and bbolt
	run := recordtest.Run(shape)
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		for i := range trial.Phases {
			change(planned.Arm, &trial.Phases[i])
		}
	}
	return run
}

func viewOf(t *testing.T, run *record.Run) View {
	t.Helper()
	v, err := Build(run)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func tableOf(t *testing.T, v View, phase string) Table {
	t.Helper()
	for _, table := range v.Tables {
		if table.Phase == phase {
			return table
		}
	}
	t.Fatalf("there is no table of %s", phase)
	return Table{}
}

func rowOf(t *testing.T, table Table, arm string) Row {
	t.Helper()
	for _, r := range table.Rows {
		if r.Arm == arm {
			return r
		}
	}
	t.Fatalf("there is no row of %s", arm)
	return Row{}
}

// wide is the text report at a width at which no column is given up.
func wide(t *testing.T, v View) string { return textAt(t, v, 250) }

// A plot shows what the verdict judged: operations that failed are no work, and a last sample of less than half the width is noise.
func TestPlotsShowWhatWasJudged(t *testing.T) {
	run := smallRun(func(string, *record.Phase) {})
	trial := run.Plan[0].ID
	for i := range run.Series[trial] {
		if s := &run.Series[trial][i]; s.Phase == "put" {
			s.Bad = s.Operations - 10
		}
	}
	run.Series[trial] = append(run.Series[trial], record.Sample{Phase: "put", At: 20.1, Seconds: 0.1, Operations: 1_000_000})
	for _, s := range tableOf(t, viewOf(t, run), "put").Series {
		if s.Trial != trial {
			continue
		}
		if s.Samples != 20 || s.At[len(s.At)-1] != 20 {
			t.Errorf("%d samples are drawn, the last one to %g s, want 20 to 20 s", s.Samples, s.At[len(s.At)-1])
		}
		for i, rate := range s.Rate {
			if *rate != 10 {
				t.Fatalf("to %g s the rate is drawn at %g, but 10 operations a second ended well", s.At[i], *rate)
			}
		}
		return
	}
	t.Error("the trial is not drawn")
}

func TestWaitForHandlesIsShown(t *testing.T) {
	run := smallRun(func(arm string, p *record.Phase) {
		if arm == "bbolt" {
			p.HandleWaitNS = 2_500 * p.Operations[0].OK
		}
	})
	if text := wide(t, viewOf(t, run)); strings.Contains(text, "  wait") {
		t.Error("there is no pool, and yet a column of what was waited for it")
	}
	for i := range run.Experiment.Cells {
		run.Experiment.Cells[i].Handles, run.Experiment.Cells[i].PoolHandles = "pool", 2
	}
	v := viewOf(t, run)
	for arm, want := range map[string]float64{"bbolt": 2500, "pebble": 0} {
		if got := rowOf(t, tableOf(t, v, "put"), arm).WaitNS; got == nil || *got != want {
			t.Errorf("the wait of %s is %v ns, want %g", arm, got, want)
		}
	}
	if text := wide(t, v); !strings.Contains(text, "  wait") || !strings.Contains(text, "2.50 µs") || !strings.Contains(text, capital(waitMeaning)) {
		t.Error("the text lacks the wait, or what it means")
	}
	if page := htmlOf(t, v); !strings.Contains(page, "for a handle</small>") || !strings.Contains(page, capital(waitMeaning)) {
		t.Error("the page lacks the wait, or what it means")
	}
	if waits := csvColumn(t, v, "handle_wait_ns_per_op", "put", "bbolt", AllOperations); waits != "2500" {
		t.Errorf("the CSV has a wait of %q", waits)
	}
}

// csvColumn reads one field of one line back.
func csvColumn(t *testing.T, v View, column, phase, arm, operation string) string {
	t.Helper()
	var out bytes.Buffer
	if err := CSV(&out, v); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range lines[0] {
		at[name] = i
	}
	if _, known := at[column]; !known {
		t.Fatalf("there is no column %s", column)
	}
	for _, line := range lines[1:] {
		if line[at["phase"]] == phase && line[at["store"]] == arm && line[at["operation"]] == operation {
			return line[at[column]]
		}
	}
	t.Fatalf("there is no line of %s by %s in %s", operation, arm, phase)
	return ""
}

func spread(n, ns uint64) *histogram.Histogram {
	h := histogram.New()
	for range n {
		h.Record(ns)
	}
	return h
}

// mixedRun's phase get has reads of 4.9 µs, a quarter of them misses, and scans of 84 µs and 50 records.
func mixedRun() *record.Run {
	return smallRun(func(_ string, p *record.Phase) {
		if p.Name == "get" {
			p.Operations = []record.Operation{
				{Name: "read", OK: 3000, Miss: 1000, MaxNS: 9_000, Service: spread(4000, 4_900)},
				{Name: "scan", OK: 4000, Items: 200_000, MaxNS: 120_000, Service: spread(4000, 84_000)},
			}
			p.Attempted = 8000
		}
	})
}

func TestKindsOfOperationsStandApart(t *testing.T) {
	v := viewOf(t, mixedRun())
	table := tableOf(t, v, "get")
	kinds := rowOf(t, table, "bbolt").Kinds
	if len(kinds) != 2 {
		t.Fatalf("there are %d kinds of operations, want 2: %+v", len(kinds), kinds)
	}
	for i, want := range []struct {
		name   string
		p50    float64
		misses uint64
		items  float64
	}{{"read", 4_900, 2000, 0}, {"scan", 84_000, 0, 50}} {
		k := kinds[i]
		if k.Operation != want.name || k.Done != 8000 || k.Misses != want.misses {
			t.Errorf("kind %d is %+v", i, k)
		}
		if p50 := k.At(0.5); p50 == nil || math.Abs(*p50/want.p50-1) > 0.02 {
			t.Errorf("the median %s takes %v ns, want %g", k.Operation, p50, want.p50)
		}
		if (k.Items != nil) != (want.items > 0) || k.Items != nil && *k.Items != want.items {
			t.Errorf("a %s has %v items, want %g", k.Operation, k.Items, want.items)
		}
	}
	if rows := kindRows(tableOf(t, v, "put")); rows != nil {
		t.Errorf("a phase of one kind has %d lines of kinds", len(rows))
	}
	text := wide(t, v)
	line := func(beginning string) string {
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, beginning) {
				return line
			}
		}
		t.Fatalf("the text has no line that begins with %q", beginning)
		return ""
	}
	if scan := line("scan "); !strings.Contains(scan, "8,000") || !strings.Contains(scan, "50.0") || !strings.Contains(scan, "120 µs") {
		t.Errorf("the scans are %q", scan)
	}
	if read := line("read "); !strings.Contains(read, "2,000") || !strings.Contains(read, "9.00 µs") {
		t.Errorf("the reads are %q", read)
	}
	page := htmlOf(t, v)
	if n := strings.Count(page, `<details class="kinds">`); n != 1 {
		t.Errorf("%d tables of the page take kinds apart, want the one of get", n)
	}
	if !strings.Contains(page, "by itself: read, scan</summary>") {
		t.Error("the page does not name the kinds")
	}
	for column, want := range map[string]string{"items_per_op": "50", "attempted": "8000", "misses": "0", "max_ns": "120000", "ops_per_s": ""} {
		if got := csvColumn(t, v, column, "get", "bbolt", "scan"); got != want {
			t.Errorf("the CSV has %s=%q for the scans, want %q", column, got, want)
		}
	}
	if got := csvColumn(t, v, "misses", "get", "bbolt", AllOperations); got != "2000" {
		t.Errorf("the CSV has %q misses in all", got)
	}
}

func TestMissesAreShownWhereAnyArmHasThem(t *testing.T) {
	v := viewOf(t, mixedRun())
	for phase, want := range map[string]bool{"get": true, "put": false} {
		v := v
		v.Tables = []Table{tableOf(t, v, phase)}
		if got := strings.Contains(wide(t, v), "misses"); got != want {
			t.Errorf("the text of %s has a column of misses: %v", phase, got)
		}
		if got := strings.Contains(htmlOf(t, v), ">Misses<small>"); got != want {
			t.Errorf("the page of %s has a column of misses: %v", phase, got)
		}
	}
}

func TestTooFewOperationsForAPercentile(t *testing.T) {
	for _, c := range []struct {
		n        uint64
		quantile float64
		want     bool
	}{{1, 0.5, true}, {2, 0.5, false}, {99, 0.99, true}, {100, 0.99, false}, {300, 0.999, true}, {1000, 0.999, false}, {9999, 0.9999, true}, {10_000, 0.9999, false}, {1, 1, false}} {
		if got := tooFew(c.n, c.quantile); got != c.want {
			t.Errorf("%d operations are too few for the quantile %g: %v", c.n, c.quantile, got)
		}
	}
	v := viewOf(t, smallRun(func(arm string, p *record.Phase) {
		if p.Name == "put" && arm == "bbolt" {
			p.Operations[0].Service, p.Operations[0].OK, p.Attempted = spread(150, 7_000), 150, 150
		}
	}))
	v.Tables = []Table{tableOf(t, v, "put")}
	row := rowOf(t, v.Tables[0], "bbolt")
	if row.At(0.99) == nil || row.At(0.999) != nil || row.At(0.9999) != nil || row.At(1) == nil {
		t.Errorf("300 operations have the percentiles %v", row.Latency)
	}
	const foot = "– under p99.9: too few operations"
	if !strings.Contains(wide(t, v), foot) || !strings.Contains(htmlOf(t, v), foot) {
		t.Error("the text or the page does not say that p99.9 has too few operations")
	}
	if got := csvColumn(t, v, "latency_too_few", "put", "bbolt", AllOperations); got != "p99.9 p99.99" {
		t.Errorf("the CSV says of what there is too little: %q", got)
	}
}

func TestCPUTimeBelowItsTicks(t *testing.T) {
	v := viewOf(t, smallRun(func(arm string, p *record.Phase) {
		used := 0.1
		if arm == "bbolt" {
			used = 0.09
		}
		p.Process.CPUSeconds = &used
	}))
	table := tableOf(t, v, "put")
	if r := rowOf(t, table, "bbolt"); r.CPUNS != nil || !r.CPUTooShort {
		t.Errorf("nine ticks are shared out: %v", r.CPUNS)
	}
	if r := rowOf(t, table, "pebble"); r.CPUNS == nil || r.CPUTooShort {
		t.Error("ten ticks are too few")
	}
	if !strings.Contains(wide(t, v), cpuTooShortText) || !strings.Contains(htmlOf(t, v), cpuTooShortText) {
		t.Error("the text or the page does not say why there is no CPU time an operation")
	}
}

// Under open load a worker spins until operations are due: its CPU time is no cost of the store's, and is shown as none.
func TestCPUTimeOfOpenLoadIsNotShown(t *testing.T) {
	run := smallRun(func(_ string, p *record.Phase) {
		used := 10.0
		p.Process.CPUSeconds, p.Open = &used, p.Name == "put"
	})
	for i := range run.Experiment.Phases {
		if run.Experiment.Phases[i].Name == "put" {
			run.Experiment.Phases[i].Rate = 1000
		}
	}
	v := viewOf(t, run)
	for phase, open := range map[string]bool{"put": true, "get": false} {
		table := tableOf(t, v, phase)
		row := rowOf(t, table, "pebble")
		if row.CPUNS == nil {
			t.Fatalf("JSON lacks the CPU time of %s, which is measured", phase)
		}
		shown := latencyText(*row.CPUNS)
		one := v
		one.Tables = []Table{table}
		text, page := wide(t, one), htmlOf(t, one)
		page = html.UnescapeString(page[:strings.Index(page, `id="report-data"`)]) // the JSON has it
		number := string(numberHTML(shown))
		if strings.Contains(text, shown) == open || strings.Contains(page, number) == open || (csvColumn(t, one, "cpu_ns_per_op", phase, "pebble", AllOperations) == "") != open {
			t.Errorf("whether %s is of open load is %t, and its CPU time of %s is shown otherwise", phase, open, shown)
		}
		if strings.Count(text, cpuOpenText) != strings.Count(page, cpuOpenText) || strings.Count(text, cpuOpenText) != map[bool]int{true: 1}[open] {
			t.Errorf("the reason is not said once where it holds (%s, open load %t)", phase, open)
		}
	}
}

// Resident memory may be above a limit that held: then the report says so, and what counted against it.
func TestMemoryAboveItsLimit(t *testing.T) {
	const limit = 48 << 20
	run := smallRun(func(arm string, p *record.Phase) {
		used := uint64(40e6)
		if arm == "bbolt" {
			used = 76.5e6
		}
		p.Process.RSSMaxBytes = &used
	})
	peak := uint64(limit + 4096)
	for _, trial := range run.Trials {
		trial.Memory = &record.Memory{PeakBytes: &peak}
	}
	const words = "Memory of bbolt is above the limit of 48 MiB"
	for _, c := range []struct {
		limit int64
		want  bool
	}{{0, false}, {limit, true}, {1 << 30, false}} {
		for i := range run.Experiment.Cells {
			run.Experiment.Cells[i].MemoryLimit = c.limit
		}
		v := viewOf(t, run)
		text, page := wide(t, v), htmlOf(t, v)
		page = page[:strings.Index(page, `id="report-data"`)]
		if strings.Contains(text, words) != c.want || strings.Contains(page, words) != c.want {
			t.Errorf("with a limit of %d, it is said: %t", c.limit, !c.want)
		}
		if c.want && (!strings.Contains(text, "What did was 48 MiB at most.") || !strings.Contains(page, "What did was 48 MiB at most.")) {
			t.Errorf("what counted against the limit is not said:\n%s", text)
		}
	}
	for _, trial := range run.Trials {
		for i := range trial.Phases {
			trial.Phases[i].Process.ServerRSSMaxBytes = new(uint64(76.5e6))
		}
	}
	for i := range run.Experiment.Cells {
		run.Experiment.Cells[i].MemoryLimit = limit
	}
	if text := wide(t, viewOf(t, run)); !strings.Contains(text, "above the limit of 48 MiB: what a server takes does not count against it.") {
		t.Errorf("a server's memory is not told from its client's:\n%s", text)
	}
}

// batchedRun's phase put writes batches of 100.
func batchedRun() *record.Run {
	run := smallRun(func(_ string, p *record.Phase) {
		if p.Name == "put" {
			p.Batch = 100
			p.Operations[0].Items = 100 * p.Operations[0].OK
		}
	})
	for i := range run.Experiment.Phases {
		if run.Experiment.Phases[i].Name == "put" {
			run.Experiment.Phases[i].Batch = 100
		}
	}
	return run
}

func TestBatchesAreNoOperationsBesideRecords(t *testing.T) {
	v := viewOf(t, batchedRun())
	row := rowOf(t, tableOf(t, v, "put"), "bbolt")
	if row.Records == nil || row.Records.Value < 50*row.Rate.Value {
		t.Fatalf("%v records a second stand beside %g batches a second", row.Records, row.Rate.Value)
	}
	text := wide(t, v)
	for _, want := range []string{"batches/s", "records/s", si(row.Records.Value, ""), " batches/s. A/A"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	page := htmlOf(t, v)
	for _, want := range []string{"<small>batches/s</small>", "Records<small>per s</small>", ">put<small>records/s</small>", "batches a second. Thick"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	grid := glanceOf(v)
	for i, column := range grid.Parts[0].Columns {
		want := map[string]string{"put": "records/s"}[column.Phase]
		if column.Unit != want {
			t.Errorf("at a glance, %s is in %q", column.Phase, column.Unit)
		}
		for _, r := range grid.Parts[0].Rows {
			if r.Arm == "bbolt" && column.Phase == "put" && r.Squares[i].Rate != si(row.Records.Value, "") {
				t.Errorf("at a glance, batches have %s, want the records' rate", r.Squares[i].Rate)
			}
		}
	}
	if got := csvColumn(t, v, "records_per_s", "put", "bbolt", AllOperations); got != csvNumber(&row.Records.Value) {
		t.Errorf("the CSV has %q records a second", got)
	}
	if strings.Contains(wide(t, exampleView(t)), "batches/s") {
		t.Error("single operations are called batches")
	}
}

func TestDurabilityIsClaimed(t *testing.T) {
	if text := textOf(t, false, 100); !strings.Contains(text, "Durability D3, claimed") {
		t.Error("the text states a durability that nobody measured as if it were a fact")
	}
}

func TestLimitsStandInTheirUnits(t *testing.T) {
	for bytes, want := range map[uint64]string{24 << 20: "24 MiB", 3 << 29: "1.5 GiB", 1 << 30: "1 GiB", 2e9: "2.00 GB", 24e6: "24.0 MB", 512 << 10: "512 KiB", 1000: "1.00 kB", 1025 << 20: "1.001 GiB"} {
		if got := limitText(bytes); got != want {
			t.Errorf("%d bytes are written as %q, want %q", bytes, got, want)
		}
	}
	run := smallRun(func(string, *record.Phase) {})
	run.Experiment.Cells[0].DiskQuota, run.Experiment.Cells[0].MemoryLimit = 24<<20, 256<<20
	if cell := viewOf(t, run).Tables[0].Cell; !strings.Contains(cell, "256 MiB memory limit, 24 MiB disk quota") {
		t.Errorf("the cell is %q", cell)
	}
}

func TestWorstNamesItsSample(t *testing.T) {
	v := viewOf(t, smallRun(func(_ string, p *record.Phase) { p.SampleNS = 250e6 }))
	if text := wide(t, v); !strings.Contains(text, "Worst: the lowest rate of any 250 ms after the warm-up.") {
		t.Error("the text does not say of how long the worst rate is")
	}
	if page := htmlOf(t, v); !strings.Contains(page, `<th scope="col">Worst 250 ms<small>`) {
		t.Error("the page does not say of how long the worst rate is")
	}
}

func TestRefusedPercentilesAreNamedInCSV(t *testing.T) {
	r := Row{Arm: "a", Latencies: Latencies{Latency: []Point{{0.5, 100}}, Refused: []float64{0.99, 1}, RefusedFor: string(verdict.RefusedLate)}}
	line := csvLines(Table{}, r, nil)[0]
	if len(line) != len(csvHeader) {
		t.Fatalf("a line has %d fields of %d", len(line), len(csvHeader))
	}
	for i, name := range csvHeader {
		want := map[string]string{"latency_refused": "p99 max; dispatch late", "p50_ns": "100", "p99_ns": "", "latency_too_few": ""}
		if text, known := want[name]; known && line[i] != text {
			t.Errorf("%s is %q, want %q", name, line[i], text)
		}
	}
}

// A kind is refused for what whole phases say, and where its row is not, a doubt says why.
func TestRefusedPercentilesOfAKindAreExplained(t *testing.T) {
	view := func(behindNS uint64, lateNS int) View {
		run := smallRun(func(_ string, p *record.Phase) {
			if p.Name != "get" {
				return
			}
			p.Open, p.BehindNS, p.Attempted = true, behindNS, 100_000
			p.Late, p.LatenessMaxNS = make([]uint64, counters.LatenessWords), uint64(lateNS)
			if lateNS > 0 {
				p.Late[counters.LatenessWord(uint64(lateNS))] = 100_000
			}
			p.Operations = []record.Operation{
				{Name: "read", OK: 40_000, MaxNS: 1_000_000, Response: spread(40_000, 1_000_000)},
				{Name: "scan", OK: 60_000, Items: 60_000, MaxNS: 800_000_000, Response: spread(60_000, 50_000_000)},
			}
		})
		for i := range run.Experiment.Phases {
			if run.Experiment.Phases[i].Name == "get" {
				run.Experiment.Phases[i].Rate = 5_000
			}
		}
		return viewOf(t, run)
	}
	row := rowOf(t, tableOf(t, view(700_000_000, 0), "get"), "bbolt")
	for _, k := range row.Kinds {
		if len(row.Refused)+len(k.Refused) > 0 {
			t.Errorf("behind by its longest scan: %v are refused, and of %s %v for %q", row.Refused, k.Operation, k.Refused, k.RefusedFor)
		}
	}
	v := view(0, 400_000)
	row = rowOf(t, tableOf(t, v, "get"), "bbolt")
	if read, scan := row.Kinds[0], row.Kinds[1]; row.Refuses(0.5) || !read.Refuses(0.5) || scan.Refuses(0.5) {
		t.Fatalf("p50 of all: %v, of reads: %v, of scans: %v", row.Refuses(0.5), read.Refuses(0.5), scan.Refuses(0.5))
	}
	const want = "p50, p90, p99, p99.9, p99.99 of read alone refused: dispatch late (more than a tenth of each would be the harness's); not counted by kind: each is taken to have the same share"
	if !slices.Contains(row.Doubts, want) || !strings.Contains(htmlOf(t, v), html.EscapeString(want)) {
		t.Errorf("the doubts are %q", row.Doubts)
	}
	if slices.ContainsFunc(row.Doubts, func(doubt string) bool { return strings.Contains(doubt, "of scan") }) {
		t.Errorf("scans are not refused, the doubts are %q", row.Doubts)
	}
}

// The verdict's figures and the report's own p99.99 stand in one row.
func TestPercentilesRiseToTheMaximum(t *testing.T) {
	const ns = 1_003_520 // the lowest value of its bucket, whose middle lies above
	v := viewOf(t, smallRun(func(_ string, p *record.Phase) {
		for i := range p.Operations {
			p.Operations[i].Service, p.Operations[i].MaxNS = spread(20_000, ns), ns
		}
	}))
	for _, r := range v.Tables[0].Rows {
		for _, p := range r.Latency {
			if p.NS != ns {
				t.Errorf("quantile %g of %s is %g ns, and all operations took %d", p.Quantile, r.Arm, p.NS, ns)
			}
		}
	}
}

// A block that something spoiled is left out where its arm has others, and shown where it has none: the sentence must say which.
func TestSpoiledBlocksAreOnlyLeftOutWhereTheyAre(t *testing.T) {
	spoil := func(blocks ...int) View {
		run := smallRun(func(string, *record.Phase) {})
		for _, planned := range run.Plan {
			for _, block := range blocks {
				if planned.Arm == "bbolt" && planned.Block == block {
					trial := run.Trials[planned.ID]
					trial.State = record.Marked
					trial.Marks = []finding.Mark{{Message: finding.New(finding.MarkForeign, "least", 0.4, "most", 0.4), Phase: "put"}}
				}
			}
		}
		return viewOf(t, run)
	}
	sentence := func(v View) string {
		for _, f := range v.Findings {
			if f.Code == string(finding.FaultForeign) {
				return f.Sentence
			}
		}
		t.Fatal("that others used the machine is not found")
		return ""
	}
	if got := sentence(spoil(1)); !strings.Contains(got, "left out") || !strings.HasPrefix(got, "Something else") {
		t.Errorf("of one of two blocks it says %q", got)
	}
	if got := sentence(spoil(1, 2)); strings.Contains(got, "left out") || !strings.Contains(got, "its figures are of these blocks, for it has no others: put at D0") {
		t.Errorf("of both blocks it says %q", got)
	}
	members := []Finding{{Code: string(finding.FaultForeign), Arm: "a", Place: "put at D0", Faulty: true}, {Code: string(finding.FaultForeign), Arm: "b", Place: "put at D0"}}
	if got := together(members, nil); !strings.Contains(got, "where there are others") {
		t.Errorf("of an arm with others and one without it says %q", got)
	}
}

func TestSentencesBeginWithACapitalOrAName(t *testing.T) {
	trials := []plan.Trial{{Arm: "bbolt"}}
	for sentence, want := range map[string]string{"the disk was full.": "The disk was full.", "bbolt stalled.": "bbolt stalled.", "p99 of bbolt is refused.": "p99 of bbolt is refused.", "pages are cold.": "Pages are cold."} {
		if got := begun(sentence, trials); got != want {
			t.Errorf("%q begins as %q", sentence, got)
		}
	}
}

func TestTextTellsDoubts(t *testing.T) {
	table := Table{Rows: []Row{
		{Arm: "a", Trials: []string{"b1-a", "b2-a"}, Doubts: []string{"two blocks are few", "b1-a: a drift of 3 % fits as well", "b2-a: a drift of 4 % fits as well"}},
		{Arm: "b", Trials: []string{"run/b1-b"}, Doubts: []string{"two blocks are few", "4 blocks are few", "b1-b: a drift of 5.5 % fits as well"}},
	}}
	want := []string{"a, b: two blocks are few", "a, b: a drift of 3 % fits as well – one of 3 trials", "b: 4 blocks are few"}
	if got := doubtKinds(table); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the doubts are %q, want %q", got, want)
	}
	v := viewOf(t, smallRun(func(string, *record.Phase) {}))
	doubted := 0
	text := strings.Join(strings.Fields(wide(t, v)), " ")
	for _, table := range v.Tables {
		for _, doubt := range doubtKinds(table) {
			doubted++
			if !strings.Contains(text, strings.Join(strings.Fields(doubt), " ")) {
				t.Errorf("the text lacks the doubt %q", doubt)
			}
		}
	}
	if doubted == 0 {
		t.Error("nothing is doubted, so nothing was checked")
	}
}
