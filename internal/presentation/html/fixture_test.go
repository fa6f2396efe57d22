package html

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/presentation/model"
	"assay/store"
)

// say is a message that has no parameters: a code without an entry is shown as it stands.
func say(format string, args ...any) finding.Message {
	return finding.Message{Code: finding.Code(fmt.Sprintf(format, args...))}
}

func ptr(v float64) *float64 { return &v }

// shape is what a made-up result looks like.
type shape struct {
	name          string
	arms, blocks  int
	classes       []string
	phases        []string
	samples       int
	falls         bool // stores don't hold their rate
	names         []string
	withoutDetail bool // no resources, settings, groups
}

var titles = map[string]string{"D0": "nothing survives (D0)", "D1": "survives a crash of the process (D1)",
	"D3": "survives a power cut (D3)"}

// made makes a result of a shape; the same shape gives the same result.
func made(s shape) *model.Result {
	draw := rand.New(rand.NewPCG(1, uint64(s.arms)))
	r := &model.Result{Version: model.Version, Title: s.name}
	r.Runs = []model.Run{{ID: "188b33d27f97", Name: s.name, Created: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC),
		Seconds: 166, Hash: "5d41402abc4b2a76b9719d911017c592", Seed: 7, Blocks: s.blocks, Directory: "run",
		Command: "assay run experiment.yaml --seed 7"}}
	r.Summary = model.Summary{Question: "Which embedded engine puts and gets small records fastest, durability class by class?",
		Ran:   say("%d stores, %d blocks, %d phases of 10 s, 100,000 records of 1.5 kB, 1 thread. 2 min 46 s.", s.arms, s.blocks, len(s.phases)),
		Clear: []finding.Message{say("pebble is fastest at overwrite-batch: 1.79× (1.52 to 2.11) the next.")}}
	if !s.withoutDetail {
		r.Summary.NotClear = []finding.Message{say("overwrite: pebble and goleveldb are not significantly different. Three blocks can detect differences above 1.2×.")}
		r.Summary.Trust = []finding.Message{say("2 of 54 trials were disturbed by other processes and run again."), say("Durability is the driver's claim; no power-cut test was run.")}
		r.Summary.Next = []model.Next{{Command: "assay run put-get --resume put-get-1 --set blocks=5", Why: say("Two more blocks would separate pebble and goleveldb.")}}
		r.Resources = []model.Resource{
			{Name: "cpu", Title: "CPU", Short: "CPU", Group: "Worker", Unit: "cores", Meaning: "CPU that the worker used", Shown: true},
			{Name: "rss", Title: "Memory (RSS)", Short: "RSS", Group: "Worker", Unit: "B", Meaning: "resident set of the worker", Shown: true},
			{Name: "write", Title: "Host writes", Short: "Writes", Group: "Worker", Unit: "B/s", Meaning: "that the kernel counts for the worker", Shown: true},
			{Name: "p99", Title: "p99", Short: "p99", Group: "Latency", Unit: "s", Meaning: "of each sample"}}
	}
	for i := range s.arms {
		arm := fmt.Sprintf("store-%02d", i+1)
		if i < len(s.names) {
			arm = s.names[i]
		}
		r.Stores = append(r.Stores, model.Store{Run: r.Runs[0].ID, Arm: arm, Driver: arm, Library: "example.org/" + arm, Version: "v1.2.3",
			Licence: "BSD-3-Clause", Changed: "all defaults", Claims: []model.Fact{{Name: "D1", Value: "NoSync=true"}, {Name: "D3", Value: "fdatasync at commit"}},
			Settings: []model.Fact{{Name: "page_size", Value: "4096"}, {Name: "levels", Value: "7;10;100;1000"}}})
	}
	r.Environment = []model.Fact{{Name: "CPU", Value: "AMD EPYC × 2"}, {Name: "Memory", Value: "25.3 GB"}, {Name: "Kernel", Value: "6.1.0"},
		{Name: "File system", Value: "ext4"}, {Name: "fdatasync of 4 KiB", Value: "134 µs (median)"}}
	for c, class := range s.classes {
		s.addClass(r, draw, c, class)
	}
	if len(r.Tables) > 1 && r.Tables[0].Cell == r.Tables[1].Cell {
		for i := range r.Tables[0].Series {
			if one := &r.Tables[0].Series[i]; one.Median {
				one.Groups = []model.Clients{{Name: "count", Phase: r.Tables[1].Phase, From: 20, Until: 26}}
			}
		}
	}
	s.addFindings(r)
	return r
}

func (s shape) addClass(r *model.Result, draw *rand.Rand, c int, class string) {
	section := model.Section{Run: r.Runs[0].ID, Class: class, Title: titles[class], Unit: map[bool]string{false: "operations/s"}[s.falls]}
	for i, store := range r.Stores {
		section.Rows = append(section.Rows, model.SectionRow{Arm: store.Arm})
		row := model.MatrixRow{Arm: store.Arm}
		var square []string
		for block := 1; block <= s.blocks; block++ {
			key := fmt.Sprintf("%s-%s-b%d", class, store.Arm, block)
			square = append(square, key)
			trial := model.Trial{Key: key, ID: key, Run: r.Runs[0].ID, Arm: store.Arm, Role: "measured", Class: class, Block: block,
				State: "ok", Link: "trials/" + fmt.Sprintf("%s-%02d-b%d", class, i+1, block) + "/", Final: &model.Final{Records: 1000, Of: 1000, Right: 1000}}
			if i == 1 && block == 2 {
				trial.State, trial.Reasons = "marked", []finding.Message{say("other processes used 31 %% of the CPU")}
			}
			r.Trials = append(r.Trials, trial)
		}
		row.Squares = [][]string{square}
		if c == 0 {
			r.Matrix.Rows = append(r.Matrix.Rows, row)
		} else {
			r.Matrix.Rows[i].Squares = append(r.Matrix.Rows[i].Squares, square)
		}
	}
	r.Matrix.Cells = append(r.Matrix.Cells, class)
	for p, phase := range s.phases {
		t := s.table(r, draw, c, class, phase)
		r.Tables = append(r.Tables, t)
		if s.falls && p == 0 {
			section.Columns = []model.SectionColumn{{Kind: "early", Title: "early /s", Table: t.ID}, {Kind: "late", Title: "late /s", Table: t.ID},
				{Kind: "broke", Title: "broke at", Table: t.ID}, {Kind: "with", Title: "with", Table: t.ID}}
		} else if !s.falls {
			section.Columns = append(section.Columns, model.SectionColumn{Kind: "rate", Phase: phase, Title: phase, Table: t.ID})
		}
		for i := range section.Rows {
			var row model.Row
			for _, have := range t.Rows {
				if have.Arm == section.Rows[i].Arm {
					row = have
				}
			}
			cells := &section.Rows[i].Cells
			switch {
			case s.falls && p == 0:
				*cells = append(*cells, model.SectionCell{Value: row.Course.Early, Ranked: true},
					model.SectionCell{Value: row.Course.Late},
					model.SectionCell{Value: row.Course.BrokeAt}, model.SectionCell{Text: strings.Join(row.Course.With, ", ")})
			case s.falls:
			case row.Rate == nil:
				*cells = append(*cells, model.SectionCell{})
			default:
				*cells = append(*cells, model.SectionCell{Value: &row.Rate.Value, Low: row.Rate.Low,
					High: row.Rate.High, Letters: row.Letters,
					Best: row.Rank == 1, Ranked: row.Standing == model.Ranked, Unsteady: row.Course.Kind == "decline"})
			}
		}
	}
	if c == 0 && s.blocks > 1 {
		section.Changes = []finding.Message{say("10 records: pogreb leads at read-shuffled (3.1×).")}
	}
	r.Summary.Sections = append(r.Summary.Sections, section)
}

func (s shape) table(r *model.Result, draw *rand.Rand, c int, class, phase string) model.Table {
	t := model.Table{ID: fmt.Sprintf("t-%d-%s", c, phase), Run: r.Runs[0].ID, Cell: c, Class: class, Title: titles[class], Phase: phase,
		Doing: say("updates, shuffled order, closed load, 10 s"), Conditions: []finding.Message{say("100,000 records of 1.5 kB"), say("1 thread"), say("page cache warm")},
		Baseline: r.Stores[0].Arm, Verdict: say("%s is fastest at %s.", r.Stores[0].Arm, phase), Threshold: 0.03}
	if s.blocks > 1 {
		t.AA = &model.Ratio{Estimate: model.Estimate{Value: 1.02, Low: ptr(0.98), High: ptr(1.06)}}
		t.Ceilings = []model.Ceiling{{Arm: "null", Rate: model.Estimate{Value: 17.9e6}}}
	}
	best := []float64{8400, 163e3, 1.04e6, 62e3}[len(t.Phase)%4]
	for i, store := range r.Stores {
		if c > 0 && s.arms > 3 && i == 3 {
			t.Absence = append(t.Absence, model.Absent{Arms: []string{store.Arm}, Why: say("not supported at %s", class)})
			continue
		}
		t.Rows = append(t.Rows, s.row(store.Arm, i, best*math.Pow(0.86, float64(i%20))*(0.95+0.1*draw.Float64())))
		for block := 1; block <= s.blocks; block++ {
			t.Series = append(t.Series, s.series(draw, t.Rows[len(t.Rows)-1], i, block))
		}
	}
	if s.blocks > 1 {
		twin := s.row(t.Baseline+" (A/A)", 0, best)
		twin.Role, twin.Standing, twin.Rank, twin.Letters = "a/a", model.Reference, 0, ""
		null := s.row("null", 0, 17.9e6)
		null.Role, null.Standing, null.Rank, null.Letters = "ceiling", model.Reference, 0, ""
		t.Rows = append(t.Rows, twin, null)
	}
	return t
}

func (s shape) row(arm string, i int, rate float64) model.Row {
	row := model.Row{Arm: arm, Role: "measured", How: "fdatasync at commit",
		Ranking: model.Ranking{Standing: model.Ranked, Rank: i + 1, Letters: string(rune('a' + i%20))}}
	if i == 0 && !s.withoutDetail {
		row.Plans = []model.Plan{{Operation: "count", Query: "by_tag", Asks: "tag has", Use: store.IndexNone, Text: "SCAN records", Blocks: 3},
			{Operation: "query", Query: "latest", Asks: "all records, by created, at most 10", Use: store.IndexOrders, Index: "created", Text: "SCAN records USING INDEX created", Blocks: 3}}
	}
	row.Rate = &model.Estimate{Value: rate, Blocks: s.blocks}
	row.Course.Kind, row.Course.Blocks = "steady", s.blocks
	if s.blocks > 1 {
		row.Rate.Low, row.Rate.High = ptr(rate*0.93), ptr(rate*1.07)
		if i > 0 {
			row.ToBest = &model.Ratio{Estimate: model.Estimate{Value: math.Pow(0.86, float64(i)),
				Low:  ptr(0.8 * math.Pow(0.86, float64(i))),
				High: ptr(1.2 * math.Pow(0.86, float64(i)))}, Significant: i > 1}
		}
	}
	if s.blocks > 1 && i == 6 || s.falls {
		row.Course = model.Course{Kind: "step", Blocks: s.blocks, Early: ptr(rate * 1.5), Late: ptr(rate * 0.3), BrokeAtS: ptr(20 + float64(i)),
			BrokeAt: ptr(1e5 * float64(20+i)), Reached: ptr(6e6), With: []string{"memory", "host reads"}}
	}
	if s.blocks > 1 && i == 6 && !s.falls {
		row.Standing, row.Rank, row.Letters, row.Course.Kind = model.NotRanked, 0, "", "decline"
		row.Reasons = []finding.Message{say("the rate fell in 2 of 3 blocks")}
	}
	for k, q := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
		row.Points = append(row.Points, model.Point{Quantile: q, NS: 1e9 / rate * math.Pow(3.1,
			float64(k)) * (1 + 0.1*float64(i))})
	}
	for k, share := range []float64{0.1, 0.35, 0.3, 0.15, 0.06, 0.02, 0.01, 0.01} {
		row.Spread = append(row.Spread, facts.Bin{NS: 1e9 / rate * math.Pow(2, float64(k)), Share: share})
	}
	row.Attempted, row.OK = uint64(rate)*10, uint64(rate)*10
	row.DiskBytes, row.LogicalBytes, row.MemoryBytes = ptr(2.1e8+1e7*float64(i)), ptr(1.5e8), ptr(6.2e7+3e6*float64(i))
	row.HostWriteBytes, row.WriteAmplification, row.CPUNS, row.WorstSample =
		ptr(9.1e8), ptr(3.2), ptr(1e8/rate), ptr(rate*0.7)
	row.HarnessShare = ptr(0.012)
	return row
}

func (s shape) series(draw *rand.Rand, row model.Row, i, block int) model.Series {
	m := model.Series{Trial: row.Arm, Arm: row.Arm, Block: block, Median: block == (s.blocks+1)/2,
		Samples: s.samples, Warmup: 1.5}
	noise, rate := 0.0, row.Rate.Value
	records := 0.0
	var cpu, rss, write []*float64
	for k := range s.samples {
		t := 60 * float64(k+1) / float64(s.samples)
		noise = 0.6*noise + 0.04*draw.NormFloat64()
		level := rate * (1 + noise + 0.03*float64(block))
		if row.Course.BrokeAtS != nil {
			level *= 1.5
			if t > *row.Course.BrokeAtS {
				level *= 0.2 + 0.2*math.Exp(-(t-*row.Course.BrokeAtS)/8)
			}
		}
		records += level * 60 / float64(s.samples)
		m.At, m.Rate = append(m.At, t), append(m.Rate, ptr(max(0, level)))
		if s.falls {
			m.Records = append(m.Records, ptr(records))
		}
		cpu, rss, write = append(cpu, ptr(0.6+noise)), append(rss, ptr(4e7+1e5*t*float64(i+1))), append(write,
			ptr(level*1500))
	}
	if row.Course.BrokeAtS != nil {
		m.Events = []model.Event{{At: *row.Course.BrokeAtS, Kind: "step", What: say("fell from 12 k/s to 2.4 k/s")}}
	}
	if i == 2 && block == 2 && s.samples > 50 {
		m.Events = append(m.Events, model.Event{At: 30, Until: 34, Kind: "stall", What: say("stalled for 4.0 s")})
		for k, t := range m.At {
			if t > 30 && t < 34 {
				m.Rate[k] = ptr(0)
			}
		}
	}
	if m.Median && !s.withoutDetail {
		if s.falls {
			m.Tasks = &model.TaskTimes{Every: 10000, Tasks: [][]float64{{1, 1.2, 3}, {1.1, 1.5, 2.5, 4}}}
		}
		m.Beside = &model.Beside{At: m.At, Values: map[string][]*float64{"cpu": cpu, "rss": rss, "write": write, "p99": cpu}}
	}
	return m
}

func (s shape) addFindings(r *model.Result) {
	if s.withoutDetail {
		return
	}
	add := func(severity finding.Severity, text, remedy string, of ...finding.Finding) {
		g := model.Group{Key: text, Code: finding.Code(text), Severity: severity, Text: text, Remedy: remedy}
		for _, f := range of {
			f.Severity = severity
			g.Of = append(g.Of, len(r.Findings))
			r.Findings = append(r.Findings, f)
		}
		r.Groups = append(r.Groups, g)
	}
	where := func(i int) finding.Where {
		return finding.Where{Arm: r.Stores[i%len(r.Stores)].Arm, Phase: s.phases[0], Class: s.classes[0],
			Table: r.Tables[0].ID}
	}
	one := func(i int, text string, evidence ...finding.Evidence) finding.Finding {
		return finding.Finding{Message: say("%s", text), Where: where(i), Evidence: evidence}
	}
	add(finding.Grave, "badger lost 3 acknowledged writes in 1 of 3 trials.", "Report it to the project, with the run directory.",
		one(2, "badger lost 3 acknowledged writes.", finding.Evidence{Trial: r.Trials[0].ID, Message: say("key 4711: the value of write 17 is missing")}))
	add(finding.Warning, "4 rates did not hold: boltdb, bbolt and 2 more.", "Run longer phases: --set 'phases[1].for=60s'.",
		one(0, "bbolt fell from 33.0 k/s to 12.1 k/s at 31 s."), one(1, "boltdb fell from 38.1 k/s to 14.0 k/s at 29 s."),
		one(3, "pebble oscillates between 40 k/s and 90 k/s."), one(4, "goleveldb stalled for 4.0 s.", finding.Evidence{Message: say("no operation ended between 30.0 s and 34.0 s")}))
	add(finding.Notice, "Values shorter than 24 bytes don't prove their version.", "", one(5, "Values shorter than 24 bytes don't prove their version."))
}

// fixtures are the shapes that the page must bear.
var engines = []string{"pebble", "pogreb", "badger", "boltdb", "bbolt", "goleveldb", "sqlite", "tokyocabinet-hash", "memory"}

var fixtures = map[string]shape{
	"put-get": {name: "put-get", arms: 9, blocks: 3, classes: []string{"D3", "D1", "D0"}, names: engines, samples: 120,
		phases: []string{"overwrite", "overwrite-batch", "read-shuffled", "insert"}},
	"collapse": {name: "table-insert", arms: 12, blocks: 3, classes: []string{"D1"}, phases: []string{"insert"}, samples: 300, falls: true,
		names: append([]string{"tokyocabinet-table", "tokyocabinet-tuned", "rocksdb"}, engines...)},
	"small":   {name: "small", arms: 1, blocks: 1, classes: []string{"D1"}, phases: []string{"read"}, samples: 8, withoutDetail: true, names: engines},
	"hundred": {name: "hundred", arms: 100, blocks: 1, classes: []string{"D1"}, phases: []string{"mixed"}, samples: 600},
}
