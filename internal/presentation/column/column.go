// Package column decides which columns the tables of a result have: heading, unit, figure, interval,
// where it is shown and what goes first where there is no room. Terminal, page, Markdown and CSV
// draw what stands in [All] and decide nothing of it.
//
// A column in which no row has a figure is not drawn ([Filled]). CSV has all columns that have a
// name for it, always in this order.
package column

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// Grid is a table that a column may stand in.
type Grid int

// The grids.
const (
	Speed     Grid = 1 << iota // who is how fast, with which latency
	Course                     // what became of rates that were not held
	Resources                  // what the work took
	Kinds                      // operations of a mix, or steps of requests, by themselves
	Nodes                      // the servers of a store that is several, by themselves
	Stretches                  // the segments of a rate that changes over time
	Bands                      // the same by the rate that was asked for
	Ages                       // reads that may be old, by how long after a write they were answered
	Screen                     // the one screen, beside the rate of each phase
	Nowhere   Grid = 0         // CSV alone
)

// Column is one column.
type Column struct {
	Name string // in CSV; "": not there
	finding.Head
	In     Grid
	Drop   int  // where there is no room the highest goes first; 0 never
	Left   bool // words rather than figures
	Ranged int  // has an interval, two more columns in CSV: where it is dropped; 0: it has none
	Of     func(*Line) Cell
}

// Line is an arm in a table, or one kind of its operations.
type Line struct {
	Table *model.Table
	*model.Row
	Kind *model.Kind // nil: all operations together
	Node *model.Node // nil: all servers together
	Age  *model.Age  // nil: reads of any age

	Stretch *model.Stretch // nil: the whole phase
	Band    *model.Band    // nil: at any rate
}

// Cell is one figure. The zero cell was not measured, can't be, or is a count of zero.
type Cell struct {
	Text             string   // for people: "8.28 k"
	Within           string   // the interval beside it: "±4 %", "1.88 to 1.93"
	Value, Low, High *float64 // for programs, and to sort by
	Raw              string   // for programs, in place of Value
	Bad              bool     // a fault of the store
	Tie              bool     // not significant
}

// Empty reports whether there is nothing to show.
func (c Cell) Empty() bool { return c.Text == "" }

// Narrow reports whether the column is shown on a small screen.
func (c Column) Narrow() bool { return c.Drop == 0 }

// Low reports whether the lowest figure is the best: a latency.
func (c Column) Low() bool { return strings.HasSuffix(c.Name, "_ns") }

// Rate is the name of the column beside which the page draws bars.
const Rate = "ops_per_s"

// quantiles and where they are shown: p90 and p99.99 are for programs.
var quantiles = []struct {
	q    float64
	name string
	in   Grid
	drop int
}{{0.5, "p50_ns", Speed | Kinds | Stretches | Bands, 2}, {0.9, "p90_ns", Nowhere, 0}, {0.99, "p99_ns", Speed | Kinds | Screen | Stretches | Bands, 0},
	{0.999, "p99.9_ns", Speed | Kinds, 5}, {0.9999, "p99.99_ns", Nowhere, 0}, {1, "max_ns", Speed | Kinds | Stretches | Bands, 6}}

// All returns the columns of a table, in the order in which every form has them.
func All(t *model.Table) []Column {
	rate := rateHead(t)
	columns := []Column{
		{Head: finding.HeadOf(finding.ColumnRank), In: Speed, Left: true, Of: rank},
		{Name: Rate, Head: rate(finding.ColumnRate), In: Speed, Ranged: 1,
			Of: func(l *Line) Cell { return estimate(l.Rate) }},
		{Name: "records_per_s", Head: finding.HeadOf(finding.ColumnRecords), In: Speed, Drop: 1, Ranged: 9, Of: records},
		{Name: "ratio_to_best", Head: finding.HeadOf(finding.ColumnOfBest), In: Speed, Drop: 3, Ranged: 9,
			Of: func(l *Line) Cell { return ratio(l.ToBest) }},
		{Name: "significant", Of: significant},
		{Head: finding.HeadOf(finding.ColumnOfBaseline), In: Speed, Drop: 8, Of: toBaseline},
		{Name: "worst_sample_ops_per_s", Head: rate(finding.ColumnWorst), In: Speed, Drop: 4,
			Of: of(func(l *Line) *float64 { return l.WorstSample }, format.Number)},
		{Name: "items_per_op", Head: finding.HeadOf(finding.ColumnItems), In: Kinds, Drop: 2, Of: items},
		{Name: "absent_keys", Head: finding.HeadOf(finding.ColumnAbsent), In: Kinds, Drop: 2, Of: absent},
		{Name: "calls_per_op", Head: finding.HeadOf(finding.ColumnCalls), In: Kinds, Drop: 2, Of: calls},
		{Head: finding.HeadOf(finding.ColumnDone), In: Kinds, Of: done},
		{Name: "answers_right", Head: finding.HeadOf(finding.ColumnRight), In: Kinds, Of: right},
		{Name: "plan", Head: finding.HeadOf(finding.ColumnPlan), In: Kinds, Drop: 1, Left: true, Of: plans},
	}
	columns = append(columns, underWay...)
	columns = append(columns, replayed...)
	for _, q := range quantiles {
		columns = append(columns, Column{Name: q.name,
			Head: finding.HeadOf(finding.LatencyColumnParams{Quantile: format.Quantile(q.q), OneIn: oneIn(t)}),
			In:   q.in, Drop: q.drop,
			Of: func(l *Line) Cell { return latency(l.Latencies, q.q) }})
	}
	columns = append(columns,
		Column{Name: "latency_one_in", Of: func(l *Line) Cell {
			if l.OneIn == 0 {
				return Cell{}
			}
			return Cell{Raw: strconv.FormatUint(l.OneIn, 10)}
		}},
		raw("latency_refused", func(l *Line) []float64 { return l.Refused }),
		raw("latency_too_few", func(l *Line) []float64 { return l.TooFew }),
		Column{Name: "handle_wait_ns_per_op", Head: finding.HeadOf(finding.ColumnWait), In: Speed, Drop: 3,
			Of: of(func(l *Line) *float64 { return l.WaitNS }, format.Latency)},
		Column{Name: "handle_p50_ns", Head: finding.HeadOf(finding.HandleColumnParams{Quantile: "p50", Waits: waits(t)}), In: Speed, Drop: 3,
			Of: of(func(l *Line) *float64 { return l.HandleP50NS }, format.Latency)},
		Column{Name: "handle_p99_ns", Head: finding.HeadOf(finding.HandleColumnParams{Quantile: "p99", Waits: waits(t)}), In: Speed, Drop: 3,
			Of: of(func(l *Line) *float64 { return l.HandleP99NS }, format.Latency)})
	columns = append(columns, afterwards...)
	columns = append(columns, outcomes...)
	columns = append(columns, stale...)
	columns = append(columns, course(t)...)
	columns = append(columns, resources...)
	columns = append(columns, byAge...)
	return append(columns, nodes...)
}

// oneIn is of how many operations one has its latency told; 0: each.
func oneIn(t *model.Table) uint64 {
	for _, row := range t.Rows {
		if row.OneIn > 0 {
			return row.OneIn
		}
	}
	return 0
}

// waits reports whether what it takes to have a handle is waiting for one of a pool, or connecting.
func waits(t *model.Table) bool {
	return slices.ContainsFunc(t.Rows, func(row model.Row) bool { return row.WaitNS != nil })
}

// outcomes are operations by how they ended.
var outcomes = []Column{
	{Name: "attempted", Of: counted(func(o model.Outcomes) uint64 { return o.Attempted })},
	{Name: "ok", Of: counted(func(o model.Outcomes) uint64 { return o.OK })},
	{Name: "misses", Head: finding.HeadOf(finding.ColumnMisses), In: Speed | Kinds, Drop: 4,
		Of: counted(func(o model.Outcomes) uint64 { return o.Miss })},
	{Name: "conflicts", Head: finding.HeadOf(finding.ColumnConflicts), In: Speed | Kinds, Drop: 5,
		Of: counted(func(o model.Outcomes) uint64 { return o.Conflict })},
	{Name: "hit_ratio", Head: finding.HeadOf(finding.ColumnHitRatio), In: Speed | Screen, Drop: 1,
		Of: of(func(l *Line) *float64 { return l.HitRatio }, format.Percent)},
	{Name: "expired_on_time", Head: finding.HeadOf(finding.ColumnExpired), In: Speed, Drop: 2,
		Of: of(func(l *Line) *float64 { return l.Expired }, format.Percent)},
	{Name: "expiry_latest_ns", Head: finding.HeadOf(finding.ColumnLatest), In: Speed, Drop: 2,
		Of: of(func(l *Line) *float64 { return l.LatestNS }, format.Latency)},
	{Name: "old_reads", Head: finding.HeadOf(finding.ColumnOldReads), In: Speed | Screen, Drop: 1,
		Of: of(func(l *Line) *float64 { return l.OldReads }, format.Percent)},
	{Name: "lost_updates", Head: finding.HeadOf(finding.ColumnLostUpdates), In: Speed | Screen, Drop: 1,
		Of: of(func(l *Line) *float64 { return l.LostUpdates }, format.Percent)},
	{Name: "loss_found_1_in", Head: finding.HeadOf(finding.ColumnLossFound), In: Speed, Drop: 9, Of: of(lossFound, format.Number)},
	{Name: "starts_apart_ns", Head: finding.HeadOf(finding.ColumnStarts), In: Speed, Drop: 9,
		Of: of(func(l *Line) *float64 { return l.StartsApartNS }, format.Latency)},
	{Name: "milestone_first_s", Head: finding.HeadOf(finding.ColumnFirstMilestone), In: Speed, Drop: 4,
		Of: milestone(func(m *model.Milestones) float64 { return m.FirstS })},
	{Name: "milestone_last_s", Head: finding.HeadOf(finding.ColumnLastMilestone), In: Speed, Drop: 4,
		Of: milestone(func(m *model.Milestones) float64 { return m.LastS })},
	{Name: "lost", Of: counted(func(o model.Outcomes) uint64 { return o.Lost })},
	{Name: "wrong", Of: counted(func(o model.Outcomes) uint64 { return o.Wrong })},
	{Name: "errors", Of: counted(func(o model.Outcomes) uint64 { return o.Errors })},
	{Name: "timeouts", Of: counted(func(o model.Outcomes) uint64 { return o.Timeout })},
	{Name: "unfinished", Of: counted(func(o model.Outcomes) uint64 { return o.Unfinished })},
	{Head: finding.HeadOf(finding.ColumnBad), In: Speed | Kinds, Of: func(l *Line) Cell {
		c := counted(model.Outcomes.Bad)(l)
		c.Bad = true
		return c
	}},
}

// resources are what the work took.
var resources = []Column{
	{Name: "memory_bytes", Head: finding.HeadOf(finding.ColumnMemory), In: Resources,
		Of: of(func(l *Line) *float64 { return l.MemoryBytes }, format.Bytes)},
	{Head: finding.HeadOf(finding.ColumnDataMemory), In: Resources, Drop: 4,
		Of: of(func(l *Line) *float64 { return l.DataToMemory }, format.Factor)},
	{Name: "disk_bytes", Head: finding.HeadOf(finding.ColumnDisk), In: Resources,
		Of: of(func(l *Line) *float64 { return l.DiskBytes }, format.Bytes)},
	{Head: finding.HeadOf(finding.ColumnSpace), In: Resources, Drop: 2, Of: of(space, format.Factor)},
	{Name: "logical_bytes", Head: finding.HeadOf(finding.ColumnLogical), In: Resources, Drop: 5,
		Of: of(func(l *Line) *float64 { return l.LogicalBytes }, format.Bytes)},
	{Name: "host_write_bytes", Head: finding.HeadOf(finding.ColumnHostWrites), In: Resources, Drop: 3,
		Of: of(func(l *Line) *float64 { return l.HostWriteBytes }, format.Bytes)},
	{Name: "host_write_source", Of: func(l *Line) Cell { return Cell{Raw: l.HostWriteSource} }},
	{Head: finding.HeadOf(finding.ColumnWriteAmplification), In: Resources, Drop: 3,
		Of: of(func(l *Line) *float64 { return l.WriteAmplification }, format.Factor)},
	{Head: finding.HeadOf(finding.ColumnDrained), In: Resources, Drop: 6, Of: drained},
	{Name: "cpu_ns_per_op", Head: finding.HeadOf(finding.ColumnCPU), In: Resources, Drop: 3, Of: of(cpu, format.Latency)},
	{Head: finding.HeadOf(finding.ColumnHarness), In: Resources, Drop: 5,
		Of: of(func(l *Line) *float64 { return l.HarnessShare }, format.Percent)},
	{Name: "alloc_bytes_per_op", Head: finding.HeadOf(finding.ColumnAllocBytes), In: Resources, Drop: 4,
		Of: of(func(l *Line) *float64 { return l.AllocBytes }, perOperation("B"))},
	{Name: "allocs_per_op", Head: finding.HeadOf(finding.ColumnAllocs), In: Resources, Drop: 4,
		Of: of(func(l *Line) *float64 { return l.Allocs }, perOperation(""))},
	{Name: "connections", Head: finding.HeadOf(finding.ColumnConnections), In: Resources, Drop: 3, Of: connections},
	{Name: "connections_max", Of: func(l *Line) Cell {
		if l.Connections == nil {
			return Cell{}
		}
		return Cell{Raw: strconv.Itoa(l.ConnectionsMax)}
	}},
}

// nodes are what each server of a store did.
var nodes = []Column{
	node(finding.ColumnNodeOperations, 0, func(n *model.Node) *float64 { return n.Operations }, format.Percent),
	node(finding.ColumnNodeCPU, 0, func(n *model.Node) *float64 { return n.CPU }, format.Percent),
	node(finding.ColumnNodeMemory, 1, func(n *model.Node) *float64 { return n.MemoryBytes }, format.Bytes),
	node(finding.ColumnNodeConnections, 2, func(n *model.Node) *float64 { return n.Connections },
		func(count float64) string { return format.Count(uint64(max(count, 0) + 0.5)) }),
	node(finding.ColumnNodeRead, 3, func(n *model.Node) *float64 { return n.ReadBytes }, format.Bytes),
	node(finding.ColumnNodeWritten, 3, func(n *model.Node) *float64 { return n.WriteBytes }, format.Bytes),
}

func node(heading finding.Bare, drop int, figure func(*model.Node) *float64, text func(float64) string) Column {
	return Column{Head: finding.HeadOf(heading), In: Nodes, Drop: drop, Of: func(l *Line) Cell {
		if l.Node == nil {
			return Cell{}
		}
		return of(func(*Line) *float64 { return figure(l.Node) }, text)(l)
	}}
}

// rateHead returns the headings of columns of rates, in the unit of a table.
func rateHead(t *model.Table) func(finding.Code) finding.Head {
	return func(c finding.Code) finding.Head {
		return finding.HeadOf(finding.RateColumnParams{Code: c, Unit: t.Unit()})
	}
}

func course(t *model.Table) []Column {
	rate := rateHead(t)
	return []Column{
		{Head: finding.HeadOf(finding.ColumnCourse), In: Course, Left: true,
			Of: func(l *Line) Cell { return Cell{Text: l.Course.Kind} }},
		{Head: rate(finding.ColumnEarly), In: Course, Of: of(func(l *Line) *float64 { return l.Course.Early },
			format.Number)},
		{Head: rate(finding.ColumnLate), In: Course, Of: of(func(l *Line) *float64 { return l.Course.Late },
			format.Number)},
		{Head: finding.HeadOf(finding.ColumnBrokeRecords), In: Course,
			Of: of(func(l *Line) *float64 { return l.Course.BrokeAt }, format.Number)},
		{Head: finding.HeadOf(finding.ColumnBrokeTime), In: Course, Drop: 2,
			Of: of(func(l *Line) *float64 { return l.Course.BrokeAtS }, format.Seconds)},
		{Head: finding.HeadOf(finding.ColumnReached), In: Course, Drop: 3,
			Of: of(func(l *Line) *float64 { return l.Course.Reached }, format.Number)},
		{Head: finding.HeadOf(finding.ColumnWith), In: Course, Drop: 1, Left: true,
			Of: func(l *Line) Cell { return Cell{Text: format.ListMax(format.ResourceWords(l.Course.With), withMax)} }},
		{Head: finding.HeadOf(finding.ColumnBlocks), In: Course, Drop: 4,
			Of: func(l *Line) Cell { return whole(uint64(l.Course.Blocks)) }},
	}
}

// withMax is how many resources a cell names: they stand in the order in which they changed.
const withMax = 3

// Lines are the rows of a table that have figures: in [Course] only those that did not hold their
// rate.
func Lines(t *model.Table, in Grid) (lines []*Line) {
	var absent []string
	for _, a := range t.Absence {
		absent = append(absent, a.Arms...)
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		reference := r.Standing == model.Reference
		switch {
		case r.Rate == nil && (in != Speed || reference || slices.Contains(absent, r.Arm)):
		case in == Resources && reference:
		case in == Course && (reference || slices.Contains([]string{"", "steady", "inconclusive"}, r.Course.Kind)):
		default:
			lines = append(lines, &Line{Table: t, Row: r})
		}
	}
	return lines
}

// KindLines are a table's operations, or steps of requests, each by itself, where there are several:
// arm by arm.
func KindLines(t *model.Table) (lines []*Line) {
	for i := range t.Rows {
		r := &t.Rows[i]
		kinds := r.Apart()
		for k := range kinds {
			lines = append(lines, OfKind(t, r, &kinds[k]))
		}
	}
	return lines
}

// OfKind is one kind of a row's operations: of the row's figures it has counts and latencies alone.
func OfKind(t *model.Table, r *model.Row, k *model.Kind) *Line {
	return &Line{Table: t, Kind: k, Row: &model.Row{Arm: r.Arm, Role: r.Role, How: r.How,
		Ranking: model.Ranking{Standing: r.Standing, Rank: r.Rank, Letters: r.Letters},
		Reasons: r.Reasons, Latencies: k.Latencies, Figures: model.Figures{Outcomes: k.Outcomes, Plans: r.PlansOf(k)}}}
}

// NodeLines are the servers of a table's stores, each by itself, where a store is several: arm by arm.
func NodeLines(t *model.Table) (lines []*Line) {
	for i := range t.Rows {
		r := &t.Rows[i]
		for n := range r.Nodes {
			if r.Standing != model.Reference {
				lines = append(lines, &Line{Table: t, Row: r, Node: &r.Nodes[n]})
			}
		}
	}
	return lines
}

// Drawn is a column with its cells.
type Drawn struct {
	Column
	Cells []Cell
}

// Filled returns the columns of a grid in which some line has a figure.
func Filled(t *model.Table, in Grid, lines []*Line) (drawn []Drawn) {
	for _, c := range All(t) {
		if c.In&in == 0 {
			continue
		}
		d := Drawn{Column: c}
		for _, l := range lines {
			d.Cells = append(d.Cells, c.Of(l))
		}
		if slices.ContainsFunc(d.Cells, func(c Cell) bool { return !c.Empty() }) {
			drawn = append(drawn, d)
		}
	}
	return drawn
}
