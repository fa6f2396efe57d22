package run

import (
	"assay/internal/base/histogram"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/internal/presentation/live"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/misbehave"
	"assay/store"
)

// busy is a machine of which others took nearly everything, quiet one of which they took nothing.
func busy() *record.Machine {
	return &record.Machine{Seconds: 1, Foreign: &host.Bounds{Least: 0.9, Most: 0.9}}
}
func quiet() *record.Machine { return &record.Machine{Seconds: 1, Foreign: &host.Bounds{}} }

// smallExperiment has three trials a block: the store, its A/A arm and the null driver.
func smallExperiment(driver string, blocks string) string {
	return fmt.Sprintf(`name: test
stores: [{driver: %s, worker: %s}]
records: 50
durability: D1
handles: shared
phases:
  - {name: load, load: true, batch: 20}
  - {name: look, mix: {read: 1}, order: sequential, operations: 200}
%s
`, driver, own(), blocks)
}

// timed is a phase of one thread and one second, in which so many writes took so long each.
func timed(operation string, operations int, each uint64) *record.Phase {
	h := histogram.New()
	h.Counts[histogram.Bucket(each)] = uint64(operations)
	return &record.Phase{Name: "p", Threads: 1, ElapsedNS: 1e9, EndedBy: record.EndedDuration, Attempted: uint64(operations),
		Operations: []record.Operation{{Name: operation, OK: uint64(operations), Service: h}}}
}

// runOn runs an experiment on a machine like that. Each trial has a made-up phase and no worker, for
// what is tested is what comes of a trial's marks. Of stores other than the honest one an operation
// has no outcome.
func runOn(ctx context.Context, t *testing.T, text string, machine func(plan.Trial) *record.Machine) (Result,
	*record.Run, Options) {
	t.Helper()
	o := options(filepath.Join(t.TempDir(), "run"))
	o.trials = nil
	o.conduct = func(ctx context.Context, one *trial) error {
		look := timed("read", 200, 1e6)
		look.Name, look.Number, look.Measured, look.EndedBy = "look", 2, true, record.EndedOperations
		if one.plan.Role != plan.Ceiling && one.store.Driver != misbehave.Honest {
			look.Attempted, look.Unfinished = 201, 1
		}
		if look.Machine = machine(one.plan); look.Machine != nil {
			look.Machine.Tolerate(one.run.experiment.BusyMachine == experiment.BusyMachineTell)
		}
		one.result.addPhase(look, nil)
		if ctx.Err() != nil {
			return clients.ErrInterrupted
		}
		return nil
	}
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	result, err := New(ctx, e, []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(o.Directory)
	if err != nil {
		t.Fatal(err)
	}
	return result, run, o
}

// againIn lists the repeats of a run, in the order in which they began.
func againIn(run *record.Run) (again []string) {
	for _, p := range run.Plan {
		if p.Again > 0 {
			again = append(again, fmt.Sprintf("%s %d of block %d", p.Role, p.Again, p.Block))
		}
	}
	return again
}

func TestSpoiltTrialsRunAgain(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	is := func(p plan.Trial, block int, role plan.Role) bool { return p.Block == block && p.Role == role }
	for _, c := range []struct {
		name   string
		driver string
		fields string
		busy   func(plan.Trial) bool
		again  []string
		result Result
	}{
		{"quiet", "", "blocks: 3", func(plan.Trial) bool { return false }, nil, Result{Planned: 9, OK: 9, Measured: 6}},
		{"first try only", "", "blocks: 3", func(p plan.Trial) bool { return is(p, 2, plan.Measured) && p.Again == 0 },
			[]string{"measured 1 of block 2"}, Result{Planned: 9, OK: 9, Measured: 6}},
		{"first two tries", "", "blocks: 3", func(p plan.Trial) bool { return is(p, 2, plan.AA) && p.Again < 2 },
			[]string{"a/a 1 of block 2", "a/a 2 of block 2"}, Result{Planned: 9, OK: 9, Measured: 6}},
		{"all tries of one", "", "blocks: 3", func(p plan.Trial) bool { return is(p, 3, plan.Ceiling) },
			[]string{"ceiling 1 of block 3", "ceiling 2 of block 3"}, Result{Planned: 9, OK: 8, Measured: 6, Marked: 1, Ceilings: 1}},
		{"all tries of one, one repeat", "", "blocks: 3\nrepeats: 1", func(p plan.Trial) bool { return is(p, 3, plan.Ceiling) },
			[]string{"ceiling 1 of block 3"}, Result{Planned: 9, OK: 8, Measured: 6, Marked: 1, Ceilings: 1}},
		{"no repeats", "", "blocks: 3\nrepeats: 0", func(p plan.Trial) bool { return is(p, 3, plan.Ceiling) },
			nil, Result{Planned: 9, OK: 8, Measured: 6, Marked: 1, Ceilings: 1}},
		{"told, not marked", "", "blocks: 3\nbusy_machine: tell", func(plan.Trial) bool { return true }, nil, Result{Planned: 9, OK: 9, Measured: 6}},
		{"a wrong store on a busy machine", "lies-wrong-value", "blocks: 1", func(p plan.Trial) bool { return p.Role == plan.Measured },
			nil, Result{Planned: 3, OK: 1, Marked: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.driver == "" {
				c.driver = misbehave.Honest
			}
			result, run, _ := runOn(context.Background(), t, smallExperiment(c.driver, c.fields),
				func(p plan.Trial) *record.Machine {
					if c.busy(p) {
						return busy()
					}
					return quiet()
				})
			if again := againIn(run); !slices.Equal(again, c.again) {
				t.Errorf("repeats %q, want %q", again, c.again)
			}
			if result != c.result {
				t.Errorf("%+v, want %+v", result, c.result)
			}
			ran := slices.SortedFunc(slices.Values(run.Plan),
				func(a, b plan.Trial) int { return strings.Compare(a.ID, b.ID) })
			if !slices.IsSortedFunc(ran, func(a, b plan.Trial) int {
				return run.Trials[a.ID].Started.Compare(run.Trials[b.ID].Started)
			}) {
				t.Error("IDs do not sort as the trials began")
			}
			if len(run.Faults) > 0 {
				t.Errorf("%+v", run.Faults)
			}
		})
	}
}

// A machine that is always busy costs a quarter more trials, not three times as many.
func TestRepeatsAreBounded(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	result, run, _ := runOn(context.Background(), t, smallExperiment(misbehave.Honest, "blocks: 3\nrepeats: 9"), func(plan.Trial) *record.Machine { return busy() })
	if len(againIn(run)) != 3 || result != (Result{Planned: 9, Marked: 9, Ceilings: 3}) {
		t.Errorf("%q, %+v", againIn(run), result)
	}
	if again := againIn(run); !strings.HasSuffix(again[2], "1 of block 1") {
		t.Errorf("%q: each trial of block 1 gets one try", again)
	}
}

// The figures of a block are those of the good try.
func TestFiguresAreOfTheGoodTry(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	_, run, _ := runOn(context.Background(), t, smallExperiment(misbehave.Honest, "blocks: 3"), func(p plan.Trial) *record.Machine {
		if p.Role == plan.Measured && p.Block < 3 && p.Again == 0 {
			return busy()
		}
		return quiet()
	})
	result, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range result.Tables[0].Rows {
		if row.Rate.Blocks != 3 || row.Marked {
			t.Errorf("%+v", row)
		}
	}
	if slices.ContainsFunc(result.Findings, func(f finding.Finding) bool { return f.Code == finding.FaultForeign }) {
		t.Error("blocks that a repeat has filled are reported as excluded")
	}
	at := slices.IndexFunc(result.Findings, func(f finding.Finding) bool { return f.Code == "trials-repeated" })
	if at < 0 || result.Findings[at].Params["count"] != 2 || result.Findings[at].Params["good"] != 2 {
		t.Errorf("%+v", result.Findings)
	}
}

// A run that is stopped in a repeat does that repeat on --resume, and no more.
func TestInterruptedRepeatIsResumed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	machine := func(p plan.Trial) *record.Machine {
		switch {
		case p.Again == 1 && ctx.Err() == nil:
			cancel()
			return busy()
		case p.Again == 1 || p.Block != 1 || p.Role != plan.Measured:
			return quiet()
		}
		return busy()
	}
	stopped, run, o := runOn(ctx, t, smallExperiment(misbehave.Honest, "blocks: 2"), machine)
	if !stopped.Interrupted || !slices.Equal(againIn(run), []string{"measured 1 of block 1"}) {
		t.Fatalf("%+v, %q", stopped, againIn(run))
	}
	result, err := Resume(context.Background(), o)
	if err != nil || result.Interrupted || result.Planned != 6 {
		t.Fatalf("%+v, %v", result, err)
	}
	run, err = record.Open(o.Directory)
	if err != nil || len(run.Trials) != len(run.Plan) || run.Blocks() != 2 || len(run.Faults) > 0 {
		t.Errorf("%d of %d trials, faults %v, %v", len(run.Trials), len(run.Plan), run.Faults, err)
	}
	if again, err := Resume(context.Background(), o); err != nil || again != result {
		t.Errorf("a complete run resumed: %+v, %v; before %+v", again, err, result)
	}
}

func TestRunEndsAtItsBlocksOrItsTime(t *testing.T) {
	auto := experiment.Schedule{Blocks: 3, BlocksMax: 6, Smallest: 0.1}
	timed := auto
	timed.Time = 100 * time.Second
	fixed := experiment.Schedule{Blocks: 3, BlocksMax: 5, Time: 100 * time.Second}
	for _, c := range []struct {
		schedule     experiment.Schedule
		blocks, open int
		spent        time.Duration
		want         finding.Code
	}{
		{auto, 3, 0, time.Hour, "blocks decided"},
		{auto, 3, 1, time.Hour, ""},
		{auto, 6, 1, time.Hour, "blocks most"},
		{auto, 6, 0, time.Hour, "blocks decided"},
		{timed, 3, 1, 75 * time.Second, ""}, // 25 s a block
		{timed, 3, 1, 76 * time.Second, "blocks time"},
		{timed, 4, 1, 80 * time.Second, ""},
		{timed, 3, 0, 10 * time.Second, "blocks decided"},
		{fixed, 3, 0, 10 * time.Second, ""}, // nothing is decided by looking
		{fixed, 3, 0, 90 * time.Second, "blocks time"},
		{fixed, 5, 0, 10 * time.Second, "blocks all"},
	} {
		var got finding.Code
		if why := end(c.schedule, c.blocks, make([]string, c.open), c.spent); why != nil {
			got = finding.New(why).Code
		}
		if got != c.want {
			t.Errorf("%+v after %d blocks, %d open, %v: %q, want %q", c.schedule, c.blocks, c.open, c.spent, got, c.want)
		}
	}
}

// The number of blocks that the noise asks for is bounded by the first ones and by blocks_max.
func TestBlocksToDetect(t *testing.T) {
	for _, c := range []struct {
		needed, most, want int
	}{{2, 30, 5}, {11, 30, 11}, {40, 30, 30}, {0, 30, 5}} {
		r := &running{
			options: Options{ToDetect: func(*record.Run) (int, error) { return c.needed, nil }},
			experiment: &experiment.Experiment{Schedule: experiment.Schedule{Blocks: 5, BlocksMax: c.most,
				Detect: 0.05}},
			view: live.NewPlain(discard{}), began: time.Now(), users: host.NewUsers(),
		}
		if got, err := r.toDetect(nil, 6); got != c.want || err != nil {
			t.Errorf("%d needed of at most %d: %d, %v; want %d", c.needed, c.most, got, err, c.want)
		}
	}
}

// Where the time does not suffice for a whole block, the cells that fit get one, all arms of each; and
// no part follows a part.
func TestLastBlockIsOfTheCellsThatFit(t *testing.T) {
	text := strings.Replace(smallExperiment(misbehave.Honest, "blocks: 3"), "records: 50", "records: [50, 60]", 1)
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	e.BlocksMax, e.Time = 9, 100*time.Second
	r := &running{experiment: e, view: live.NewPlain(discard{}), ended: map[string]*record.Trial{}}
	for block := 1; block <= 3; block++ {
		for _, p := range r.options.chosen(plan.Block(e, block)) {
			r.plan = append(r.plan, p)
			r.ended[p.ID] = &record.Trial{Plan: p, Seconds: []float64{3, 6}[p.Cell]} // three a cell: 27 s a block
		}
	}
	for spent, want := range map[time.Duration]int{85 * time.Second: 0, 95 * time.Second: -1} {
		cells := map[int]int{}
		for _, p := range r.partOfBlock(4, spent) {
			cells[p.Cell]++
		}
		if want < 0 && len(cells) > 0 || want >= 0 && (len(cells) != 1 || cells[want] != 3) {
			t.Errorf("%v spent: trials %v", spent, cells)
		}
	}
	r.plan = append(r.plan, r.partOfBlock(4, 85*time.Second)...)
	if part := r.partOfBlock(5, 85*time.Second); part != nil {
		t.Errorf("a part after a part: %v", part)
	}
}

// One store has nothing to be compared with: three blocks are enough. A run of a fixed number adds
// blocks up to it.
func TestBlocksAreAddedWhileNeeded(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for fields, want := range map[string]int{"blocks: auto": 3, "blocks_max: 5": 3, "time: 10m": 3, "detect: 5%": 5} {
		_, run, _ := runOn(context.Background(), t, smallExperiment(misbehave.Honest, fields),
			func(plan.Trial) *record.Machine { return quiet() })
		if run.Blocks() != want || len(run.Trials) != 3*want {
			t.Errorf("%s: %d blocks, %d trials", fields, run.Blocks(), len(run.Trials))
		}
		result, err := tell.Result(run)
		code := finding.Code("blocks decided")
		if fields == "detect: 5%" {
			code = "blocks detect"
		}
		if err != nil || !slices.ContainsFunc(result.Findings, func(f finding.Finding) bool { return f.Code == code }) {
			t.Errorf("%s: %v, findings %+v", fields, err, result.Findings)
		}
	}
}
