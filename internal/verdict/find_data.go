package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/keyval"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
	"assay/internal/trace"
	"assay/store"
)

// findClasses: which stores ran in which class, where there are several.
func findClasses(run *record.Run, s *Summary) []Finding {
	var classes []string
	arms := map[string][]string{}
	for i := range s.Tables {
		t := &s.Tables[i]
		if !slices.Contains(classes, t.Class) {
			classes = append(classes, t.Class)
		}
		for _, r := range t.Rows {
			if r.Role == plan.Measured && r.Rate != nil && !slices.Contains(arms[t.Class], r.Arm) {
				arms[t.Class] = append(arms[t.Class], r.Arm)
			}
		}
	}
	if len(classes) < 2 {
		return nil
	}
	var evidence []string
	for _, class := range classes {
		slices.Sort(arms[class])
		ran := list(arms[class])
		if ran == "" {
			ran = "no store has a figure"
		}
		evidence = append(evidence, class+": "+ran)
	}
	return []Finding{{Code: FindClasses, Severity: Notice,
		Sentence: fmt.Sprintf("The stores ran in %d durability classes, %s. Each class has tables of its own: rates of different classes are answers to different questions.", len(classes), list(classes)),
		Evidence: evidence, Remedy: "compare within a class only"}}
}

// syncMicrosBelievable: no device answers a sync of 4 KiB sooner without a cache that it claims to survive with. `assay doctor`
// has the same line.
const syncMicrosBelievable = 20

func quotaInMemory(run *record.Run) bool {
	for _, t := range run.Trials {
		if t.QuotaMount != nil && t.QuotaMount.FileSystem == "tmpfs" {
			return true
		}
	}
	return false
}

// findVolatile: a sync that costs nothing proves nothing, and classes that live by it were claimed only.
func findVolatile(run *record.Run, s *Summary) []Finding {
	e := run.Environment
	var why, remedy string
	switch {
	case e.Filesystem == "tmpfs" || e.Filesystem == "ramfs":
		why, remedy = "the stores' files stood in memory ("+e.Filesystem+")", "name a directory on a disk with --data"
	case quotaInMemory(run):
		why, remedy = "the stores' files stood in memory (a tmpfs, mounted for disk_quota_by: mount)", "allow loop devices, or set disk_quota_by: stop"
	case e.SyncMicros > 0 && e.SyncMicros < syncMicrosBelievable:
		why, remedy = fmt.Sprintf("fdatasync of 4 KiB took %.0f µs here, so that something below answers before data is safe", e.SyncMicros), "run on a disk of its own"
	default:
		return nil
	}
	var evidence []string
	eachRow(s, func(t *Table, r *Row) {
		embedded := r.Store >= 0 && run.Experiment.Stores[r.Store].Description.Kind == store.Embedded
		if embedded && r.Rate != nil && t.Parameters.Durability >= store.D2 {
			evidence = append(evidence, fmt.Sprintf("%s in %s: %s", r.Arm, in(run, t), rate(r.Rate.Value)))
		}
	})
	if len(evidence) == 0 {
		return nil
	}
	return []Finding{{Code: FindVolatile, Severity: Warning,
		Sentence: "What is said to survive a power cut does not: " + why + ". The cost of syncs is not in these rates.",
		Evidence: evidence, Remedy: remedy}}
}

// isWrite says whether any operation of a phase changes data.
func isWrite(p spec.Phase) bool {
	return does(p, trace.Operation.Changes)
}

// isRead says whether any operation of a phase looks at records, if only to change them.
func isRead(p spec.Phase) bool {
	return does(p, func(o trace.Operation) bool {
		return !o.Changes() || o == trace.ReadModifyWrite || o == trace.CompareAndSwap
	})
}

// does says whether something holds of any operation of a phase's mix.
func does(p spec.Phase, holds func(trace.Operation) bool) bool {
	for name, weight := range p.Mix {
		if o, known := trace.ParseOperation(name); known && weight > 0 && holds(o) {
			return true
		}
	}
	return false
}

// findWriteCosts says, for each phase that writes, whether one column of all stores at whatever class they happen to run
// would rank durability or speed: what the same store pays for a stronger class, beside how far stores lie apart within
// one class. Where that can't be told, it says why.
func findWriteCosts(run *record.Run, s *Summary) (found []Finding) {
	for _, phase := range run.Experiment.Phases {
		if !isWrite(phase) || phase.Load || phase.Unmeasured || phase.Rate > 0 {
			continue
		}
		var worst *classCost
		var untold []doubt
		for i := range s.Tables {
			for j := range s.Tables {
				weak, strong := &s.Tables[i], &s.Tables[j]
				if weak.Phase != phase.Name || strong.Phase != phase.Name || !onlyClassDiffers(weak.Parameters, strong.Parameters) {
					continue
				}
				c, doubts := costBetween(run, weak, strong)
				untold = append(untold, doubts...)
				if c.arm != "" && (worst == nil || c.dearest.Value > worst.dearest.Value) {
					worst = c
				}
			}
		}
		switch {
		case worst != nil:
			found = append(found, worst.finding(run))
		case len(untold) > 0:
			found = append(found, untoldCost(phase.Name, untold))
		}
	}
	return found
}

// onlyClassDiffers says whether a cell is of a weaker class than another, and differs in nothing else.
func onlyClassDiffers(weak, strong spec.Cell) bool {
	if strings.Compare(string(weak.Durability), string(strong.Durability)) >= 0 {
		return false
	}
	weak.Durability, weak.LossWindow, weak.Case = strong.Durability, strong.LossWindow, strong.Case
	return weak == strong
}

// classCost is what a stronger class costs in one pair of cells that differ in nothing else.
type classCost struct {
	weak, strong *Table
	arm          string     // that pays most; "": none is shown to pay
	dearest      stat.Ratio // its rate in the weak class ÷ in the strong one
	others       []string
	spread       float64 // the largest distance between two stores within one of both classes
	spreadText   string
}

// doubt is why it can't be told what a class costs, and of what arm or classes.
type doubt struct {
	because, remedy string
	evidence        string
}

// The doubts, the nearest to an answer first.
var (
	notDearer  = doubt{because: "no store is shown to be faster in a weaker class", remedy: "run more blocks, on a quieter machine"}
	noInterval = doubt{because: "one block has no interval", remedy: "run at least 5 blocks (--set blocks=5)"}
	noFigure   = doubt{because: "no store has good figures of the same block in two classes", remedy: "see why the trials are marked, or failed; on a machine of your own, or a quieter one, they may not be"}
	noStore    = doubt{because: "no store ran in two classes", remedy: "add a store that reaches both"}
)

func (d doubt) of(format string, arguments ...any) doubt {
	d.evidence = fmt.Sprintf(format, arguments...)
	return d
}

func untoldCost(phase string, doubts []doubt) Finding {
	nearest := noStore
	var evidence []string
	for _, kind := range []doubt{noFigure, noInterval, notDearer} {
		if slices.ContainsFunc(doubts, func(d doubt) bool { return d.because == kind.because }) {
			nearest = kind
		}
	}
	slices.SortStableFunc(doubts, func(a, b doubt) int {
		return map[bool]int{true: -1}[a.because == nearest.because] - map[bool]int{true: -1}[b.because == nearest.because]
	})
	for _, d := range doubts {
		evidence = append(evidence, d.evidence)
	}
	return Finding{Code: FindCostUntold, Severity: Notice, Evidence: evidence, Where: Where{Phase: phase}, Remedy: nearest.remedy,
		Sentence: fmt.Sprintf("Whether a single %s column of stores at different classes would rank durability can't be told: %s.", phase, nearest.because)}
}

// costBetween weighs two tables that differ in their class only. A cost is told if it is shown, as a difference between two stores would be: over blocks, and
// beyond what the baseline differs from itself in either class.
func costBetween(run *record.Run, weak, strong *Table) (c *classCost, doubts []doubt) {
	c = &classCost{weak: weak, strong: strong}
	var arms []string
	var ratios []stat.Ratio
	var p []float64
	ran := false
	for _, r := range weak.Rows {
		other := strong.rowOf(plan.Measured, r.Arm)
		if r.Role != plan.Measured || other == nil || r.State == record.Refused || other.State == record.Refused {
			continue
		}
		ran = true
		ratio, ok := paired(r, *other)
		switch {
		case !ok:
			doubts = append(doubts, noFigure.of("%s: %s", r.Arm, whyNoPair(weak, strong, &r, other)))
		case ratio.Interval == nil:
			doubts = append(doubts, noInterval.of("%s: %s at %s and %s at %s, in one block", r.Arm, rate(r.Rate.Value), weak.Class, rate(other.Rate.Value), strong.Class))
		default:
			arms, ratios, p = append(arms, r.Arm), append(ratios, ratio), append(p, *ratio.P)
			c.others = append(c.others, fmt.Sprintf("%s: %s at %s, %s at %s: %s times (%s)", r.Arm, rate(r.Rate.Value), weak.Class, rate(other.Rate.Value), strong.Class, significant(ratio.Value), intervalText(*ratio.Interval)))
		}
	}
	if !ran {
		doubts = append(doubts, noStore.of("%s and %s: every store is refused in one of them", cellName(run, weak.Cell), cellName(run, strong.Cell)))
	}
	adjusted := stat.Holm(p)
	for i, ratio := range ratios {
		if ratio.Value > max(c.dearest.Value, 1) && stat.Shown(ratio, adjusted[i], max(weak.Threshold, strong.Threshold)) {
			c.arm, c.dearest = arms[i], ratio
		}
	}
	if c.arm == "" {
		for _, text := range c.others {
			doubts = append(doubts, notDearer.of("%s", text))
		}
		return c, doubts
	}
	for _, t := range []*Table{weak, strong} {
		if fastest, slowest := extremes(t); fastest != nil && rateOf(*fastest)/rateOf(*slowest) > c.spread {
			c.spread = rateOf(*fastest) / rateOf(*slowest)
			c.spreadText = fmt.Sprintf("within %s, the fastest store (%s, %s) does %s times what the slowest does (%s, %s)", t.Class,
				fastest.Arm, rate(fastest.Rate.Value), significant(c.spread), slowest.Arm, rate(slowest.Rate.Value))
		}
	}
	return c, doubts
}

// whyNoPair says why an arm has no block with good figures in both classes.
func whyNoPair(weak, strong *Table, a, b *Row) string {
	for _, side := range []struct {
		t *Table
		r *Row
	}{{weak, a}, {strong, b}} {
		if side.r.hasGood() {
			continue
		}
		if side.r.Why == "" {
			return "it has no figure at " + side.t.Class
		}
		return fmt.Sprintf("no good trial at %s: %s", side.t.Class, side.r.Why)
	}
	return fmt.Sprintf("its good trials at %s and %s are of different blocks", weak.Class, strong.Class)
}

// extremes returns the fastest and slowest stores with a good figure; nil if there are fewer than two.
func extremes(t *Table) (fastest, slowest *Row) {
	good := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Role != plan.Measured || r.State != record.OK || rateOf(*r) <= 0 {
			continue
		}
		good++
		if fastest == nil || rateOf(*r) > rateOf(*fastest) {
			fastest = r
		}
		if slowest == nil || rateOf(*r) < rateOf(*slowest) {
			slowest = r
		}
	}
	if good < 2 {
		return nil, nil
	}
	return fastest, slowest
}

func (c *classCost) finding(run *record.Run) Finding {
	f := Finding{Code: FindDurabilityPut, Severity: Notice, Evidence: c.others, Where: Where{Phase: c.weak.Phase},
		Remedy: "never put stores of different classes in one column; compare within a class"}
	paid := fmt.Sprintf("%s does %s times as many operations in %s as in %s (%s)", c.arm, significant(c.dearest.Value), in(run, c.weak), cellName(run, c.strong.Cell), intervalText(*c.dearest.Interval))
	switch {
	case c.spread == 0:
		f.Sentence = paid + ": a column that mixes both classes would rank durability along with speed."
	case c.dearest.Value > c.spread:
		f.Sentence = fmt.Sprintf("%s, while %s: a single %s column of stores at different classes would rank durability, not speed.", paid, c.spreadText, c.weak.Phase)
	default:
		f.Sentence = fmt.Sprintf("%s, and %s: here the stores differ by more than durability costs, but a column that mixes classes would still add one to the other.", paid, c.spreadText)
	}
	return f
}

// findInMemory has one finding for the run: the tables whose data fits the memory that may cache it, so that reads are of memory.
func findInMemory(run *record.Run, s *Summary) []Finding {
	var places, evidence []string
	reading, whole := 0, true
	for i := range s.Tables {
		t := &s.Tables[i]
		if !isRead(phaseNamed(run, t.Phase)) {
			continue
		}
		arms, all, why := fitting(run, t)
		if len(arms) > 0 || !all { // otherwise nobody has a figure
			reading, whole = reading+1, whole && all
		}
		if len(arms) == 0 {
			continue
		}
		place := in(run, t)
		if !all {
			slices.Sort(arms)
			place += " (" + list(arms) + ")"
		}
		places = append(places, place)
		for _, text := range why {
			if !slices.Contains(evidence, text) {
				evidence = append(evidence, text)
			}
		}
	}
	if len(places) == 0 {
		return nil
	}
	sentence := "The data fits in memory: reads are mostly reads of memory, and say nothing of the disk."
	if !whole {
		where := strings.Join(places, "; ")
		if len(places) > evidenceMax {
			where = fmt.Sprintf("%d of %s that read", len(places), plural(reading, "table", "tables"))
		}
		sentence = fmt.Sprintf("The data fits in memory in %s: reads there are mostly reads of memory, and say nothing of the disk.", where)
	}
	return []Finding{{Code: FindInMemory, Severity: Notice, Sentence: sentence,
		Evidence: evidence, Remedy: "set a memory_limit below the size of the data, or use more records"}}
}

// fitting names the arms of a table that can have read from memory, and says if that is all with a figure. Where the page cache was emptied before the
// phase, an arm read from the disk first, whatever would fit.
func fitting(run *record.Run, t *Table) (arms []string, all bool, evidence []string) {
	memory, what := float64(run.Environment.MemoryBytes), "the machine's memory"
	if limit := float64(t.Parameters.MemoryLimit); limit > 0 && (memory == 0 || limit < memory) {
		memory, what = limit, "the memory limit"
	}
	var largest held
	var caches []string
	all = true
	for i := range t.Rows {
		r := &t.Rows[i]
		data := heldBy(run, t, r)
		if r.Role != plan.Measured || data.bytes == 0 {
			continue
		}
		name, cache := largestCache(run.Experiment.Stores[r.Store])
		if r.beganCold() || data.bytes > memory && data.bytes > cache {
			all = false
			continue
		}
		arms = append(arms, r.Arm)
		if data.bytes <= memory && data.bytes > largest.bytes {
			largest = data
		}
		if data.bytes <= cache {
			caches = append(caches, fmt.Sprintf("%s: its %s of %s holds all of %s", r.Arm, name, size(cache), data))
		}
	}
	if largest.bytes > 0 {
		evidence = append(evidence, fmt.Sprintf("%s: %s, %s is %s (data to memory %s to 1)", in(run, t), largest, what, size(memory), toOne(largest.bytes/memory)))
	}
	return arms, all, append(evidence, caches...)
}

// beganCold says whether the page cache was emptied before a phase in any trial of a row.
func (r *Row) beganCold() bool {
	return slices.ContainsFunc(r.Trials, func(o Observation) bool { return o.phase != nil && o.phase.Cold != nil })
}

func phaseNamed(run *record.Run, name string) spec.Phase {
	for _, p := range run.Experiment.Phases {
		if p.Name == name {
			return p
		}
	}
	return spec.Phase{}
}

// held is how much live data a store had in a phase.
type held struct {
	bytes float64 // 0: not known
	most  bool    // it may have been less
}

func (h held) String() string {
	if h.most {
		return "at most " + size(h.bytes) + " of data"
	}
	return size(h.bytes) + " of data"
}

// heldBy returns the most that a row's trials held in a phase: what was counted as live or, where that is not known, all that was ever stored.
func heldBy(run *record.Run, t *Table, r *Row) (most held) {
	for _, o := range r.Trials {
		if o.phase == nil || o.State != record.OK && o.State != record.Marked {
			continue
		}
		each := float64(run.Experiment.Keys.BytesMax() + run.Experiment.ValueBytesMax(t.Parameters))
		data := held{each * float64(t.Parameters.Records+freshBefore(run, o)), true}
		if n := o.phase.Sizes.LogicalBytes; n != nil {
			data = held{float64(*n), false}
		}
		if data.bytes > most.bytes {
			most = data
		}
	}
	return most
}

// freshBefore returns how many records beyond the planned ones a trial stored up to the end of a phase, deleted ones included.
func freshBefore(run *record.Run, o Observation) (records uint64) {
	for i := range o.trial.Phases {
		p := &o.trial.Phases[i]
		counting := phaseNamed(run, p.Name).Order.Distribution == trace.Counting
		for _, operation := range p.Operations {
			switch {
			case p.Load: // its records are the planned ones
			case operation.Name == trace.Insert.String(), operation.Name == trace.Add.String(), operation.Name == trace.Upsert.String() && counting:
				records += max(operation.OK, operation.Items)
			}
		}
		if p == o.phase {
			break
		}
	}
	return records
}

// largestCache returns the largest option in bytes whose name speaks of a cache; the default counts where none is set.
func largestCache(s spec.Store) (name string, bytes float64) {
	bytes = math.Inf(-1)
	for _, option := range s.Description.Options {
		if option.Type != store.Bytes || !strings.Contains(option.Name, "cache") {
			continue
		}
		text, set := s.Options[option.Name]
		if !set {
			text = option.Default
		}
		if v, err := store.ParseBytes(text); err == nil && float64(v) > bytes {
			name, bytes = option.Name, float64(v)
		}
	}
	return name, bytes
}

// findShortValues: values below keyval.StampBytes prove their key, but not which write they came from.
func findShortValues(run *record.Run, _ *Summary) []Finding {
	var evidence []string
	if record := run.Experiment.Values.Record(); record != nil {
		if !record.Proves() {
			evidence = append(evidence, "no column is a proof")
		}
	} else if len(run.Experiment.Values.Sizes) > 0 {
		for _, v := range run.Experiment.Values.Sizes {
			if v.Bytes < keyval.StampBytes && v.Weight > 0 {
				evidence = append(evidence, fmt.Sprintf("the mixture has values of %d bytes", v.Bytes))
			}
		}
	} else {
		for i, c := range run.Experiment.Cells {
			if c.ValueBytes < keyval.StampBytes {
				evidence = append(evidence, fmt.Sprintf("values at %s have %d bytes", cellName(run, i), c.ValueBytes))
			}
		}
	}
	var untold []string
	for _, planned := range run.Plan {
		if t := run.Trials[planned.ID]; t != nil && t.Final != nil && t.Final.Unknown > 0 {
			untold = append(untold, fmt.Sprintf("%s: %s of %s records that were read back could not be judged", planned.ID, count(t.Final.Unknown), count(t.Final.Records)))
		}
	}
	if len(evidence) == 0 {
		if len(untold) == 0 {
			return nil
		}
		// All values are long enough: it was the outcome of writes that left it open.
		return []Finding{{Code: FindUntold, Severity: Warning,
			Sentence: "Some records could not be judged when they were read back: where writes ended in errors or conflicts, nobody knows which of them were done.",
			Evidence: untold, Remedy: "a store that lost them would not be seen; look at the messages of the trials"}}
	}
	evidence = append(evidence, untold...)
	if len(run.Experiment.Values.Columns) > 0 {
		return []Finding{{Code: FindShortValues, Severity: Notice,
			Sentence: "Records without a proof column prove their key but not their version: a stale record would not be seen.",
			Evidence: evidence, Remedy: fmt.Sprintf("add a column such as {name: v, proof: %d} where staleness matters", keyval.StampBytes)}}
	}
	return []Finding{{Code: FindShortValues, Severity: Notice,
		Sentence: fmt.Sprintf("Values shorter than %d bytes prove their key but not their version: a stale value would not be seen.", keyval.StampBytes),
		Evidence: evidence, Remedy: fmt.Sprintf("use values of %d bytes or more where staleness matters", keyval.StampBytes)}}
}

func findUnverified(run *record.Run, _ *Summary) []Finding {
	var evidence []string
	if !run.Experiment.Verify {
		evidence = append(evidence, "verify is off: values that were read are not looked at")
	}
	if run.Experiment.VerifyRecords == 0 {
		evidence = append(evidence, "verify_records is 0: nothing was read back at the end")
	}
	if len(evidence) == 0 {
		return nil
	}
	return []Finding{{Code: FindUnverified, Severity: Warning, Sentence: "Not every check of the values was on: a store that answers quickly and wrongly could be ahead.",
		Evidence: evidence, Remedy: "set verify: true and leave verify_records at its default"}}
}

// findNotReadBack has one finding for each arm that wrote and of which, against the settings, nothing was read back. It goes by what
// the trials say and not by why there was nothing to read.
func findNotReadBack(run *record.Run, _ *Summary) (found []Finding) {
	if run.Experiment.VerifyRecords == 0 {
		return nil // findUnverified says so, once
	}
	var arms []string
	evidence := map[string][]string{}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil || t.Final != nil || t.State != record.OK && t.State != record.Marked || !storesRecords(run, planned) {
			continue
		}
		if writes := writesOf(t); writes > 0 {
			if evidence[planned.Arm] == nil {
				arms = append(arms, planned.Arm)
			}
			evidence[planned.Arm] = append(evidence[planned.Arm], fmt.Sprintf("%s: %s writes were acknowledged, and there is no final check", planned.ID, count(writes)))
		}
	}
	for _, arm := range arms {
		found = append(found, Finding{Code: FindNotReadBack, Severity: Warning,
			Sentence: fmt.Sprintf("Of what %s wrote, nothing was read back: had it thrown everything away, nobody would know.", arm),
			Evidence: evidence[arm], Remedy: "add a phase that reads what was written", Where: Where{Arm: arm}})
	}
	return found
}

// storesRecords says if a trial is of a measured arm that is no null driver.
func storesRecords(run *record.Run, planned plan.Trial) bool {
	return planned.Role == plan.Measured && planned.Store >= 0 && run.Experiment.Stores[planned.Store].Description.Kind != store.None
}

// writesOf returns how many operations of a trial changed data, as far as the store said.
func writesOf(t *record.Trial) (writes uint64) {
	for i := range t.Phases {
		for _, o := range t.Phases[i].Operations {
			if operation, known := trace.ParseOperation(o.Name); known && operation.Changes() {
				writes += o.OK
			}
		}
	}
	return writes
}
