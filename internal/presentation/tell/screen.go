package tell

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
)

// How much the one screen shows: what is beyond is in the full report.
const (
	listMax     = 12
	nextMax     = 2
	questionMax = 240 // bytes
)

// summaryOf makes the one screen. tables are those of each run, strongest class first.
func summaryOf(runs []*record.Run, tables [][]*facts.Table, r *model.Result) model.Summary {
	var s model.Summary
	if len(runs) == 1 {
		s.Question = r.Runs[0].Question
	}
	s.Ran, s.On = ranOf(runs, r.Runs), onOf(runs, tables, r.Stores)
	for i, run := range runs {
		sections, shown := sectionsOf(run, tables[i], len(runs) > 1)
		s.Sections = append(s.Sections, sections...)
		s.Answer = append(s.Answer, baselineAnswers(run, tables[i])...)
		s.Answer = append(s.Answer, answersOf(run, shown.breaking, r.Findings)...)
		s.Answer = append(s.Answer, tunedOf(run)...)
		s.Clear = append(s.Clear, clearOf(shown.racing())...)
		s.NotClear = append(s.NotClear, unclearOf(shown, run.Blocks(), trusted(r))...)
		s.Next = append(s.Next, nextOf(run, r.Runs[i], tables[i], shown, r)...)
	}
	s.Answer = append(choicesOf(slices.Concat(tables...)), s.Answer...)
	all := placesOf(slices.Concat(tables...))
	s.Answer = append(s.Answer, answeredBy(r, all)...) // what was lost comes before how soon a rate was back
	s.Answer = append(s.Answer, recoveriesOf(slices.Concat(tables...))...)
	s.Answer = append(s.Answer, capacitiesOf(slices.Concat(tables...))...)
	s.Answer = append(s.Answer, overTimeOf(slices.Concat(tables...))...)
	s.Answer = append(s.Answer, replaysOf(slices.Concat(tables...))...)
	s.Answer = append(s.Answer, fillsOf(slices.Concat(tables...))...)
	s.Checked, s.Badges = checkedOf(runs)
	for _, g := range trusted(r) {
		s.Trust = append(s.Trust, together(r, g, all))
	}
	s.Answer = append(s.Answer, EffectLines(r.Effects)...)
	s.Answer = append(s.Answer, scalingOf(r.Scaling)...)
	s.Clear, s.NotClear, s.Trust = atMost(s.Clear, listMax), atMost(s.NotClear, listMax), atMost(s.Trust, listMax)
	s.Next = s.Next[:min(len(s.Next), nextMax)]
	return s
}

// together folds the findings of a group into one statement; all are the places of all tables.
func together(r *model.Result, g model.Group, all []string) finding.Message {
	var members []finding.Finding
	for _, at := range g.Of {
		members = append(members, r.Findings[at])
	}
	return finding.Together(members, all)
}

// trusted are the groups that say how far the figures can be trusted.
func trusted(r *model.Result) []model.Group {
	return slices.DeleteFunc(slices.Clone(r.Groups),
		func(g model.Group) bool { return g.Severity == finding.Notice || g.Answer })
}

// atMost keeps the first messages and counts the others in a last one.
func atMost(messages []finding.Message, most int) []finding.Message {
	if len(messages) <= most {
		return messages
	}
	return append(messages[:most-1:most-1], finding.New(finding.MoreParams{Count: len(messages) - most + 1}))
}

// questionOf is what the experiment asks, in its own words: as far as its last question mark.
func questionOf(run *record.Run) string {
	about, _, _ := strings.Cut(strings.TrimSpace(run.Experiment.About), "\n\n")
	if end := strings.LastIndex(about, "?"); end >= 0 {
		about = about[:end+1]
	}
	return format.CleanMax(strings.Join(strings.Fields(about), " "), questionMax)
}

func ranOf(runs []*record.Run, made []model.Run) finding.Message {
	stores, classes := map[string]bool{}, map[string]bool{}
	cells, blocks, done, planned, seconds := 0, 0, 0, 0, 0.0
	for i, run := range runs {
		for _, t := range run.Plan {
			if t.Role == plan.Measured {
				stores[t.Arm] = true
			}
		}
		for _, c := range run.Experiment.Cells {
			classes[run.Header.ID+c.ClassText()] = true
			cells++
		}
		blocks = max(blocks, run.Blocks())
		counts := made[i].Counts
		planned += counts.Planned
		done += counts.Planned - counts.Missing - counts.Interrupted
		seconds += made[i].Seconds
	}
	p := finding.RanParams{Stores: len(stores), Classes: len(classes), Blocks: blocks, Done: done, Planned: planned,
		Seconds: seconds, Conditions: commonConditions(runs)}
	if cells > len(classes) {
		p.Cells = cells
	}
	p.Missing = planned - done
	return finding.New(p)
}

// commonConditions are those that hold in every cell and measured phase.
func commonConditions(runs []*record.Run) []finding.Message {
	var common []finding.Parameters
	first := true
	for _, run := range runs {
		for _, c := range run.Experiment.Cells {
			for _, p := range run.Experiment.Phases {
				if p.Load || p.Unmeasured {
					continue
				}
				here := slices.DeleteFunc(conditions(&run.Experiment, c, p), func(condition finding.Parameters) bool {
					_, ofHandles := condition.(finding.ConditionHandlesParams)
					return ofHandles
				})
				if first {
					common, first = here, false
				}
				common = slices.DeleteFunc(common, func(one finding.Parameters) bool {
					return !slices.ContainsFunc(here,
						func(other finding.Parameters) bool { return reflect.DeepEqual(one, other) })
				})
			}
		}
	}
	return messagesOf(common)
}

// ahead is what one store, or several equal ones, are fastest at.
type ahead struct {
	arms    []string
	tables  []*facts.Table
	phases  []string
	classes []string
	least   *facts.Ratio // of its leads
	next    string
	factor  float64 // the least of its leads; of several stores, of one of them to one of the others
	most    float64 // the largest of its leads
	low     float64 // the lowest end of their intervals
}

// leadsOf gathers for each store the tables that it leads, in lines whose phases times classes are
// exactly these tables: phases with the same classes are one line.
func leadsOf(tables []*facts.Table, is func(*facts.Table) bool, leaders func(*facts.Table) []string) (leads []*ahead) {
	ofArms := map[string]map[string][]*facts.Table{} // arms → phase → tables
	var order [][2]string
	for _, t := range tables {
		if !is(t) {
			continue
		}
		arms := strings.Join(slices.Sorted(slices.Values(leaders(t))), "\x00")
		if ofArms[arms] == nil {
			ofArms[arms] = map[string][]*facts.Table{}
		}
		if ofArms[arms][t.Phase] == nil {
			order = append(order, [2]string{arms, t.Phase})
		}
		ofArms[arms][t.Phase] = append(ofArms[arms][t.Phase], t)
	}
	lines := map[string]*ahead{}
	for _, at := range order {
		led := ofArms[at[0]][at[1]]
		var classes []string
		for _, cells := range gathered(led) {
			classes = append(classes, classIn(cells, tables))
		}
		key := at[0] + "\x00" + strings.Join(classes, " ")
		if lines[key] == nil {
			lines[key] = &ahead{arms: leaders(led[0]), classes: classes}
			leads = append(leads, lines[key])
		}
		lines[key].add(at[1], led)
	}
	return leads
}

// classIn names the class of tables that differ in their cells, and the cells where the screen has several of
// the class.
func classIn(cells, shown []*facts.Table) string {
	if slices.ContainsFunc(shown, func(other *facts.Table) bool {
		return other.Class == cells[0].Class && other.Cell != cells[0].Cell
	}) {
		return cells[0].Class + " " + cellsOf(cells)
	}
	return cells[0].Class
}

func (l *ahead) add(phase string, tables []*facts.Table) {
	l.phases, l.tables = append(l.phases, phase), append(l.tables, tables...)
	for _, t := range tables {
		if g := t.Group; g != nil {
			if l.factor == 0 || g.Least < l.factor {
				l.factor = g.Least
			}
			l.most = max(l.most, g.Most)
			if l.low == 0 || g.Low < l.low {
				l.low = g.Low
			}
			continue
		}
		rows := t.Ranked()
		if len(t.Best) > 1 || len(rows) < 2 {
			continue
		}
		r := facts.Inverse(rows[1].ToBest)
		if l.least == nil || r.Value < l.least.Value {
			l.least, l.next = r, rows[1].Arm
		}
		l.factor = l.least.Value
		if l.most = max(l.most, r.Value); l.low == 0 || *r.Low < l.low {
			l.low = *r.Low
		}
	}
}

// largest is what lines are sorted by: how far the leader, or the leaders, are ahead of the next.
func (l *ahead) largest() float64 {
	if l.least == nil {
		return l.factor
	}
	return l.most
}

// wideInterval is how far apart the ends of a lead's interval are at least for its size to be open.
const wideInterval = 4

// isWide reports whether a store is known to be fastest, but not by how much.
func isWide(t *facts.Table) bool {
	if t.Lead != facts.LeadFastest {
		return false
	}
	lead := facts.Inverse(t.Ranked()[1].ToBest)
	return *lead.High > wideInterval**lead.Low
}

func bestOf(t *facts.Table) []string { return t.Best }

// groupMin is the least factor by which a group leads that is reported: noise alone makes groups that
// lead by less.
const groupMin = 1.25

// leadsAsGroup reports whether several stores lead by enough to be told.
func leadsAsGroup(t *facts.Table) bool { return t.Group != nil && t.Group.Least >= groupMin }

// clearOf says who is fastest, once for the phases and classes in which it is the same store, or the
// same several stores, and which stores are shown to be equal. The largest lead comes first.
func clearOf(tables []*facts.Table) (messages []finding.Message) {
	leads := leadsOf(tables, func(t *facts.Table) bool { return t.Lead == facts.LeadFastest && !isWide(t) }, bestOf)
	leads = append(leads, leadsOf(tables, leadsAsGroup, func(t *facts.Table) []string { return t.Group.Arms })...)
	slices.SortStableFunc(leads, func(a, b *ahead) int { return cmp.Compare(b.largest(), a.largest()) })
	for _, l := range leads {
		if l.least == nil {
			messages = append(messages, finding.New(finding.VerdictParams{Code: finding.VerdictGroup, Arms: l.arms,
				Phases: l.phases, Classes: l.classes,
				Factor: l.factor, Most: l.most, Low: &l.low}))
			continue
		}
		p := finding.VerdictParams{Code: finding.VerdictFastest, Arms: l.arms, Phases: l.phases, Classes: l.classes,
			Factor: l.least.Value, Low: l.least.Low, High: l.least.High, Next: l.next}
		if len(l.tables) > 1 {
			p.Most, p.Low, p.High = l.most, &l.low, nil
		}
		messages = append(messages, finding.New(p))
	}
	for _, l := range leadsOf(tables, func(t *facts.Table) bool { return t.Lead == facts.LeadEqual }, bestOf) {
		messages = append(messages, finding.New(finding.VerdictParams{Code: finding.VerdictEqual, Arms: l.arms,
			Phases: l.phases, Classes: l.classes, Margin: l.tables[0].Margin}))
	}
	return messages
}

// unclearOf says what is undecided and why, one line a cause. A cause that the groups tell of is
// left to them.
func unclearOf(shown shownTables, blocks int, groups []model.Group) (messages []finding.Message) {
	var tied, none, one []*facts.Table
	var wide []finding.Message
	few, common, power, compared, detectable := 0, blocks, blocks, 0, 0.0
	for _, t := range shown.racing() {
		if t.Open {
			continue
		}
		rows := t.Ranked()
		if len(rows) > 1 {
			compared++
		}
		switch {
		case t.Measured() < 2:
		case len(rows) == 0:
			none = append(none, t)
		case len(rows) == 1:
			one = append(one, t)
		case t.Lead == facts.LeadFewBlocks:
			few, common = few+1, min(common, t.Common)
		case isWide(t):
			lead := facts.Inverse(rows[1].ToBest)
			wide = append(wide, finding.New(finding.VerdictParams{Code: finding.VerdictWide,
				Arms: []string{rows[0].Arm}, Next: rows[1].Arm, Places: []string{t.Place()},
				Low: lead.Low, High: lead.High}))
		case t.UndecidedTie():
			tied = append(tied, t)
			detectable, power = max(detectable, t.Detectable), min(power, t.Common)
		}
	}
	add := func(p finding.VerdictParams) { messages = append(messages, finding.New(p)) }
	undecided := finding.VerdictParams{Code: finding.VerdictTied, Tables: len(tied), Of: compared,
		Places:     placesOf(tied),
		Detectable: detectable, Blocks: power}
	switch {
	case len(tied) == 0:
	case detectable > facts.UselessDetectable:
		undecided.Code, undecided.Detectable = finding.VerdictNoisy, 0
		add(undecided)
	case len(tied) == 1:
		undecided.Arms, undecided.Tables, undecided.Of = tied[0].Best, 0, 0
		add(undecided)
	default: // what each could detect differs
		undecided.Detectable, undecided.Blocks = 0, 0
		add(undecided)
	}
	messages = append(messages, wide...)
	if few > 0 {
		add(finding.VerdictParams{Code: finding.VerdictFew, Tables: few, Blocks: common})
	}
	if len(none) > 0 {
		add(finding.VerdictParams{Code: finding.VerdictNone, Places: placesOf(none),
			Why: commonReason(none, groups), All: len(none) == len(shown.all) && len(none) > 1})
	}
	if len(one) > 0 {
		add(finding.VerdictParams{Code: finding.VerdictOne, Places: placesOf(one),
			Why: commonReason(one, groups)})
	}
	return messages
}

// commonReason is the reason that most stores without a rank have; none where one of the groups tells
// it.
func commonReason(tables []*facts.Table, groups []model.Group) (why finding.Message) {
	var first []facts.Reason // of each kind
	var kinds []int
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role != plan.Measured || r.Rate == nil || len(r.Reasons) == 0 {
				continue
			}
			kind := slices.IndexFunc(first, r.Reasons[0].Same)
			if kind < 0 {
				kind, first = len(first), append(first, r.Reasons[0])
			}
			kinds = append(kinds, kind)
		}
	}
	most, count := facts.MostFrequent(kinds)
	if count == 0 || slices.ContainsFunc(groups, func(g model.Group) bool { return tells(g, first[most]) }) {
		return why
	}
	return detect.ReasonMessage(first[most])
}

// tells reports whether a group is about what forbids a rank.
func tells(g model.Group, why facts.Reason) bool {
	switch why.Kind {
	case facts.ReasonMachine:
		entry, _ := finding.Lookup(g.Code)
		return entry.Machine
	case facts.ReasonHarness:
		return g.Code == finding.HarnessBound
	case facts.ReasonGrave:
		return g.Code == why.Message.Code
	case facts.ReasonEnded:
		if why.Cause != "" {
			return g.Code == finding.TrialFailed || why.Cause == finding.CauseDiskFull &&
				g.Code == finding.FaultDiskFull
		}
		return g.Code == finding.Mark{Message: why.Message}.Fault()
	case facts.ReasonMarked:
		return g.Code == finding.Mark{Message: why.Message}.Fault()
	}
	return false
}

func placesOf(tables []*facts.Table) (places []string) {
	for _, t := range tables {
		places = append(places, t.Place())
	}
	return places
}

// gathered are the tables of each phase and class, in the order of the first of each.
func gathered(tables []*facts.Table) (groups [][]*facts.Table) {
	for _, t := range tables {
		at := slices.IndexFunc(groups, func(g []*facts.Table) bool {
			return g[0].Phase == t.Phase && g[0].Class == t.Class
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], t)
	}
	return groups
}

const (
	// usefulDetectable is the factor that more blocks must make detectable to be worth their time.
	usefulDetectable = 1.5
	// blocksMost is how many blocks are proposed at most.
	blocksMost = 15
	// phaseSecondsMin is how long a phase takes at least whose noise longer phases would not lower
	// much.
	phaseSecondsMin = 10
)

// nextOf proposes what would help most. What the machine did comes after what a store did.
func nextOf(run *record.Run, made model.Run, all []*facts.Table, shown shownTables,
	r *model.Result) (next []model.Next) {
	add := func(command string, why finding.Message) {
		if command != "" && !slices.ContainsFunc(next, func(n model.Next) bool { return n.Command == command }) {
			next = append(next, model.Next{Command: command, Why: why})
		}
	}
	if left := made.Counts.Missing + made.Counts.Interrupted; left > 0 && run.Directory != "" {
		add(shellCommand(programOf(run), "run", "--resume", run.Directory), finding.New(finding.NextParams{Code: finding.NextResume, Trials: left}))
	}
	for _, undo := range undoOf(run) {
		add(undo.Command, undo.Why)
	}
	for _, f := range r.Findings {
		if f.Code == finding.SettingsTooSmall && f.Where.Run == run.Header.ID && f.Params["effect"] == finding.EffectFails {
			add(repeatCommand(run, strings.Fields(finding.Remedy(f.Message))...),
				finding.New(finding.NextParams{Code: finding.NextSetting, Arm: f.Where.Arm}))
		}
	}
	if said := noneMeasured(all); said != "" && run.Directory != "" {
		add(shellCommand(programOf(run), "report", run.Directory, "--full"), finding.New(finding.NextParams{Code: finding.NextNoStore, Remedy: said}))
		return next // nothing of the machine would help
	}
	if at := slices.IndexFunc(r.Groups, func(g model.Group) bool { return g.Severity == finding.Grave }); at >= 0 && run.Directory != "" {
		add(shellCommand(programOf(run), "report", run.Directory, "--full"), finding.New(finding.NextParams{Code: finding.NextFull, Remedy: r.Groups[at].Remedy}))
	}
	if arm := limitedByThreads(run, all); arm != "" {
		add(repeatCommand(run, "--set", "handles="+experiment.Async),
			finding.New(finding.NextParams{Code: finding.NextLanes, Arm: arm}))
	}
	doctor := func(trials int) {
		why := finding.NextParams{Code: finding.NextDoctor, Trials: trials}
		ranks := func(t *facts.Table) bool { return len(t.Ranked()) > 0 }
		if run.Experiment.BusyMachine != experiment.BusyMachineTell && !slices.ContainsFunc(all, ranks) {
			why.Code = finding.NextDoctorBusy
		}
		add(shellCommand(programOf(run), "doctor"), finding.New(why))
	}
	if machineTookRanks(shown.all) {
		doctor(0)
	}
	tooShort := facts.MeasuredTooShort(all)
	detectable, few, power := 0.0, false, run.Blocks()
	var short []string // tied phases that are short
	for _, t := range shown.racing() {
		if t.UndecidedTie() {
			detectable, power = max(detectable, t.Detectable), min(power, t.Common)
			if t.Work.Duration > 0 && t.Work.Duration.Seconds() < phaseSecondsMin && !slices.Contains(short, t.Phase) {
				short = append(short, t.Phase)
			}
		}
		few = few || t.Lead == facts.LeadFewBlocks
	}
	longer := func(phases []string, seconds float64, why finding.Code) {
		var words []string
		for _, phase := range phases {
			set := fmt.Sprintf("phases.%s.for=%ds", cmp.Or(facts.GroupedIn(phase), phase), int(seconds))
			if !slices.Contains(words, set) {
				words = append(words, "--set", set)
			}
		}
		words = append(words, timeForLonger(run, phases, seconds)...)
		add(repeatCommand(run, words...), finding.New(finding.NextParams{Code: why, Phases: phases}))
	}
	blocks, smallest := run.Blocks(), 1+cmp.Or(run.Experiment.Smallest, stat.TieMargin)
	wanted := blocksFor(power, detectable, smallest)
	if detectable > smallest {
		wanted = max(wanted, blocks+2)
	}
	switch reached := reachedWith(detectable, power, wanted); {
	case few:
		enough := max(5, blocks+2)
		add(repeatCommand(run, moreBlocks(run, enough)...),
			finding.New(finding.NextParams{Code: finding.NextEnoughBlocks, Blocks: enough}))
	case wanted <= blocks:
	case reached <= max(usefulDetectable, smallest):
		add(repeatCommand(run, moreBlocks(run, wanted)...), finding.New(finding.NextParams{Code: finding.NextBlocks,
			Blocks: wanted, Detectable: reached}))
	case len(short) > 0 && !tooShort.AsksForLonger():
		longer(short, phaseSecondsMin, finding.NextLessNoise)
	case len(short) == 0:
		add(shellCommand(programOf(run), "doctor"), finding.New(finding.NextParams{Code: finding.NextNoise}))
	}
	if tooShort.AsksForLonger() {
		longer(tooShort.Longer, tooShort.Seconds, finding.NextLonger)
	}
	if trials, told := machineFindings(run, r); told { // it took no rank: what stores did comes first
		doctor(trials)
	}
	return next
}

// limitedByThreads is the first store whose capacity the client limited, where every store could have been
// driven by asynchronous handles and was not; "": there is none.
func limitedByThreads(run *record.Run, tables []*facts.Table) string {
	e := run.Experiment
	e.Cells = slices.Clone(e.Cells)
	for i := range e.Cells {
		if e.Cells[i].Handles == experiment.Async {
			return ""
		}
		e.Cells[i].Handles = experiment.Async
	}
	for i := range e.Stores {
		if slices.ContainsFunc(e.Refusals(i), func(r *experiment.Refusal) bool { return r != nil }) {
			return ""
		}
	}
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role == plan.Measured && r.Capacity != nil && r.Capacity.Limit.Kind == facts.LimitClient {
				return r.Arm
			}
		}
	}
	return ""
}

// undoOf are the commands that undo what trials left on servers that outlive the run, each as the last
// of them told it.
func undoOf(run *record.Run) (next []model.Next) {
	at := map[[2]string]int{} // by store and state
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil || planned.Store < 0 {
			continue
		}
		name := run.Experiment.Stores[planned.Store].Name
		for _, left := range trial.Left {
			what := [2]string{name, left.State}
			undo := facts.Undo(left)
			if _, known := at[what]; !known && len(undo) > 0 {
				at[what] = len(next)
				next = append(next, model.Next{Why: finding.New(finding.NextParams{Code: finding.NextUndo, Arm: name})})
			}
			if len(undo) > 0 {
				next[at[what]].Command = strings.Join(undo, " && ")
			}
		}
	}
	return next
}

// noneMeasured is what the first store said, where no store has any figure because each refused or
// failed; "": one has, or said nothing.
func noneMeasured(tables []*facts.Table) (said string) {
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role != plan.Measured {
				continue
			}
			if r.Rate != nil {
				return ""
			}
			said = cmp.Or(said, errorOf(r))
		}
	}
	return said
}

// machineTookRanks reports whether the machine, rather than a store, kept a store from being ranked.
func machineTookRanks(tables []*facts.Table) bool {
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Lacks(facts.ReasonMachine) {
				return true
			}
		}
	}
	return false
}

// disturbedMin is the share of disturbed trials from which the screen gives a command. Fewer are
// reported, and the figures are of the other blocks.
const disturbedMin = 0.1

// machineFindings reports whether findings about the machine are of more than a few trials, and of how
// many; 0: of the run as a whole.
func machineFindings(run *record.Run, r *model.Result) (count int, told bool) {
	trials := map[string]bool{}
	for _, g := range r.Groups {
		entry, _ := finding.Lookup(g.Code)
		if !entry.Machine || g.Severity == finding.Notice {
			continue
		}
		some := false
		for _, i := range g.Of {
			for _, e := range r.Findings[i].Evidence {
				some, trials[e.Trial] = true, true
			}
		}
		if !some {
			return 0, true
		}
	}
	return len(trials), float64(len(trials)) > disturbedMin*float64(len(run.Trials))
}

// timeReserve is how much more time blocks are given than those of this run had: an estimate is on the
// safe side, and blocks that it does not fit in are not planned.
const timeReserve = 1.25

// moreBlocks are the flags for so many blocks, and for the time that they take where the run had a
// limit: blocks that do not fit into it are not run.
func moreBlocks(run *record.Run, wanted int) []string {
	flags := []string{"--blocks", fmt.Sprint(wanted)}
	switch limit := run.Experiment.Time; {
	case limit > 0 && leftOut(run):
		flags = append(flags, "--set", noTime)
	case limit > 0:
		minutes := math.Ceil(limit.Minutes() * timeReserve * float64(wanted) / float64(max(run.Blocks(), 1)))
		flags = append(flags, "--time", fmt.Sprintf("%gm", minutes))
	}
	return flags
}

// timeForLonger are the flags for the time that longer phases take, where the run had a limit: within it
// all phases would come out as short as before. Of a run whose limit left out cells, phases or trials it is
// not known, so that the limit goes.
func timeForLonger(run *record.Run, phases []string, seconds float64) []string {
	e := &run.Experiment
	if e.Time == 0 {
		return nil
	}
	if leftOut(run) {
		return []string{"--set", noTime}
	}
	more := 0.0
	for _, p := range e.Phases {
		if slices.ContainsFunc(phases, func(name string) bool {
			return cmp.Or(facts.GroupedIn(name), name) == p.Name
		}) {
			more += max(seconds-p.Lasts().Seconds(), 0)
		}
	}
	trials := 0
	for _, t := range run.Plan {
		if t.Refuse == "" && t.Again == 0 {
			trials++
		}
	}
	minutes := math.Ceil((e.Time.Seconds()*timeReserve + more*float64(trials)) / 60)
	return []string{"--time", fmt.Sprintf("%gm", minutes)}
}

// noTime is the setting that takes the limit of a command away.
const noTime = "time=null"

// leftOut reports whether the limit of the run took trials, phases or cells away, which would come back
// with more time.
func leftOut(run *record.Run) bool {
	return slices.ContainsFunc(run.Experiment.Layout, func(m finding.Message) bool {
		return m.Code == finding.LayoutPhases || m.Code == finding.LayoutCells || m.Code == finding.LayoutQuick
	})
}

// blocksFor is how many blocks make the smallest factor detectable, were the noise the same.
func blocksFor(blocks int, detectable, smallest float64) int {
	if detectable <= smallest {
		return blocks
	}
	needed := float64(blocks) * math.Pow(math.Log(detectable)/math.Log(smallest), 2)
	return max(blocks+2, min(int(math.Ceil(needed)), blocksMost))
}

// reachedWith is the factor that so many blocks make detectable, were the noise the same.
func reachedWith(detectable float64, blocks, wanted int) float64 {
	return math.Exp(math.Log(detectable) * math.Sqrt(float64(blocks)/float64(wanted)))
}

func programOf(run *record.Run) string {
	if len(run.Environment.Command) == 0 {
		return "assay"
	}
	return filepath.Base(run.Environment.Command[0])
}

// repeatCommand is the command that was given, with something changed; without it, that of the run
// directory's own file. Where the run goes is left out: that directory exists.
func repeatCommand(run *record.Run, more ...string) string {
	given := run.Environment.Command
	if len(given) < 2 || given[1] != "run" || slices.Contains(given, "--resume") {
		return againCommand(run, more...)
	}
	words := []string{programOf(run)}
	for i := 1; i < len(given); i++ {
		name, _, whole := strings.Cut(given[i], "=")
		endless := name == "--time" && slices.Contains(more, noTime)
		if endless { // then there is no limit to take away
			at := slices.Index(more, noTime)
			more = slices.Concat(more[:at-1], more[at+1:])
		}
		if endless || name == "--out" || name == "-o" || (name == "--blocks" || name == "--time") && slices.Contains(more, name) {
			if !whole {
				i++
			}
			continue
		}
		if name == "--set" && !whole && i+1 < len(given) {
			i++
			words = appendSetting(words, more, given[i])
			continue
		}
		words = append(words, given[i])
	}
	return shellCommand(append(words, more...)...)
}

// appendSetting adds --set SETTING unless more sets the same field anew, by --set or by its own flag.
func appendSetting(words, more []string, setting string) []string {
	field, _, _ := strings.Cut(setting, "=")
	for _, word := range more {
		if anew, _, _ := strings.Cut(word, "="); strings.TrimPrefix(anew, "--") == field {
			return words
		}
	}
	return append(words, "--set", setting)
}
