package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/execution/run"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/internal/experiment/tuning"
	"assay/store"
)

const (
	// confirmShare is the share of the time that is kept for the winner and the defaults.
	confirmShare  = 0.3
	confirmBlocks = 8
	// confirmSeed is added to the seed where the winner is measured: other keys and another order.
	confirmSeed = 1_000_003
)

// tuneFlags are the flags of assay tune.
type tuneFlags struct {
	run       runFlags
	workload  string
	time      time.Duration
	options   []string
	metric    string
	json, csv bool
}

func tuneCommand() *cobra.Command {
	f := tuneFlags{run: runFlags{tune: true, noResult: true}}
	c := &cobra.Command{
		Use:   "tune STORE --workload FILE",
		Short: "Find the options with which a store does a workload fastest",
		Long: `Tries values of a store's own options on a workload, keeps the best third of them round
by round, tries more next to these, and measures the winner beside the defaults on
fresh seeds. It ends with how many times the defaults' rate that is, with an interval,
or says that no setting is better than the defaults by more than 4 %.

The workload is an experiment file or a preset, with a single cell; its stores are
replaced by STORE. Without --workload, --mix says what is done. The durability class is
the one that is asked for: options by which less is kept are never tuned. assay drivers
NAME shows which values are tried. --options names some of them.

Each round is an experiment of its own in the directory of --out, whose report assay
report shows. tuned.yaml there has the winner and the defaults as two arms, the winner
marked as tuned on this workload. Ctrl-C keeps the rounds that were done (exit status 3).`,
		Example: `  assay tune pebble --workload my.yaml --time 30m
  assay tune pebble --mix read=95,update=5 --records 1e6 --options cache_bytes --time 5m
  assay tune rocksdb --workload my.yaml --options write_buffer_bytes,write_buffers_max --dry-run
  assay tune postgres@start --workload my.yaml --options server.shared_buffers_bytes
  assay tune goleveldb --workload open.yaml --metric p99`,
		Args: takes(1, 1, "one STORE, such as pebble or postgres@start"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return measurable(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return f.tune(c, args[0]) },
	}
	flags := c.Flags()
	flags.StringVar(&f.workload, "workload", "", "experiment `file` or preset that says what is done")
	flags.StringArrayVar(&f.run.mixes, "mix", nil, "what is done where there is no workload: `operation=weight`, several with commas between")
	flags.DurationVar(&f.time, "time", 30*time.Minute, "`duration` that the whole takes at most")
	flags.StringSliceVar(&f.options, "options", nil, "`names` of the options that are tuned, with commas between (default: all with a range)")
	flags.StringVar(&f.metric, "metric", "rate", "what is better: a higher `rate`, or a lower p50, p99 or p99.9")
	f.run.fieldFlags(c)
	flags.StringArrayVar(&f.run.sets, "set", nil, "change any field of the workload: `path=value` (may be repeated)")
	flags.StringVar(&f.run.out, "out", "", "`directory` to make for the rounds (default: assay-tune-STORE-TIME here)")
	flags.StringVar(&f.run.data, "data", "", "existing `directory` in which stores get their directories (default: in that of --out)")
	flags.BoolVar(&f.run.dryRun, "dry-run", false, "print what is tried, and how often; run nothing")
	flags.BoolVar(&f.run.allowRemote, "allow-remote", false, "load a server that is named even where it is not on this machine's loopback")
	flags.BoolVar(&f.run.plain, "plain", false, "progress as lines, even on a terminal")
	flags.BoolVarP(&f.run.quiet, "quiet", "q", false, "no progress")
	flags.BoolVar(&f.json, "json", false, "print JSON: docs/commands.schema.json")
	flags.BoolVar(&f.csv, "csv", false, "print every setting as CSV")
	c.MarkFlagsMutuallyExclusive("json", "csv")
	c.MarkFlagsMutuallyExclusive("workload", "mix")
	flags.SortFlags = false
	flags.SetNormalizeFunc(flagName)
	must(c.RegisterFlagCompletionFunc("mix", cobra.NoFileCompletions))
	must(c.RegisterFlagCompletionFunc("set", completeFields))
	must(c.RegisterFlagCompletionFunc("metric", cobra.FixedCompletions(tuneMetrics, cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("time", cobra.FixedCompletions([]string{"5m", "30m", "2h"}, cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("options", completeTuned))
	must(c.MarkFlagDirname("out"))
	must(c.MarkFlagDirname("data"))
	return c
}

// tuneMetrics are what --metric may be.
var tuneMetrics = []string{"rate", "p50", "p99", "p99.9"}

// completeTuned offers the options of the store that are tuned.
func completeTuned(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	for _, d := range descriptions() {
		if len(args) > 0 && d.Name != read.DriverOf(args[0]) {
			continue
		}
		for _, o := range d.Options {
			if o.Tune != "" {
				names = append(names, o.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// tuned is what assay tune --json prints.
type tuned struct {
	Version  int             `json:"version"`
	Store    string          `json:"store"`
	Workload string          `json:"workload"`
	Class    string          `json:"class"`
	Metric   string          `json:"metric"`
	Options  []tuning.Option `json:"options"`
	Rounds   []tunedRound    `json:"rounds"`
	Settings []tunedSetting  `json:"settings,omitempty"`
	// Best is what the search found and confirmed, or could not.
	Best      map[string]string `json:"best,omitempty" jsonschema_description:"options of the best setting of the search; absent: none was better than the defaults"`
	Better    bool              `json:"better" jsonschema_description:"the best is shown to be better than the defaults by more than 4 %"`
	Confirmed *facts.Ratio      `json:"confirmed,omitempty" jsonschema_description:"of the best to the defaults on fresh seeds, of latencies the other way round: above 1 is better"`
	Blocks    int               `json:"confirmed_blocks,omitempty"`
	Stopped   bool              `json:"stopped,omitempty" jsonschema_description:"by Ctrl-C: what was done is kept"`
	Directory string            `json:"directory,omitempty"`
	File      string            `json:"file,omitempty" jsonschema_description:"experiment with the best setting and the defaults"`
}

type tunedRound struct {
	Number    int     `json:"number"`
	Settings  int     `json:"settings"`
	Blocks    int     `json:"blocks"`
	SecondsTo float64 `json:"seconds_max"`
	Seconds   float64 `json:"seconds" jsonschema_description:"about how long it takes, as it is laid out"`
}

type tunedSetting struct {
	Options    map[string]string `json:"options"`
	Round      int               `json:"round"`
	Blocks     int               `json:"blocks"`
	ToDefaults *float64          `json:"to_defaults" jsonschema_description:"in the search; null: it was not measured"`
}

// tuner is a search under way.
type tuner struct {
	*tuneFlags
	base   *read.Loaded // with the store alone
	folder string
	search *tuning.Search
	names  map[*tuning.Setting]string
	told   tuned
	// confirmSeconds is about how long the confirmation takes.
	confirmSeconds float64
	measure        func(round tuningRound) (scores map[string][]float64, stopped bool, err error)
}

// tuningRound is an experiment that is measured: the variants, of which the first are the defaults.
type tuningRound struct {
	name     string
	variants []read.Variant
	blocks   int
	seed     uint64
	limit    time.Duration
}

func (f *tuneFlags) tune(c *cobra.Command, argument string) error {
	if !slices.Contains(tuneMetrics, f.metric) {
		return usage(fmt.Errorf("--metric %s: expected %s%s", f.metric, strings.Join(tuneMetrics, ", "), suggestion(f.metric, tuneMetrics)))
	}
	if f.time < time.Minute {
		return usage(fmt.Errorf("--time %s: expected at least 1m", f.time))
	}
	t := &tuner{tuneFlags: f}
	ask := newAsker(f.run.allowRemote)
	if err := t.load(c, argument, ask); err != nil {
		return usage(err)
	}
	options, err := tunedOptions(t.base.Experiment.Stores[0], f.options)
	if err != nil {
		return usage(err)
	}
	if err := t.prepare(options); err != nil {
		return usage(err)
	}
	if f.run.dryRun {
		return failed(t.print(c.OutOrStdout()))
	}
	e := t.base.Experiment
	if err := checkRemote(e.Remote(), f.run.allowRemote); err != nil {
		return usage(err)
	}
	if err := ask.checkAnswers(os.Stdout, e, false); err != nil {
		return err
	}
	if err := f.run.checkDataRoot(); err != nil {
		return err
	}
	place, err := makeRunDirectory(f.run.out, "tune-"+e.Stores[0].Name, time.Now())
	if err != nil {
		return err
	}
	defer place.removeIfEmpty()
	t.told.Directory, t.measure = place.path, t.run
	if err := t.do(); err != nil {
		return err
	}
	if err := t.print(c.OutOrStdout()); err != nil {
		return failed(err)
	}
	if t.told.Stopped {
		return &exitError{exitTrials, fmt.Errorf("stopped; the rounds that were done are kept in %s", place.path)}
	}
	return nil
}

// load reads the workload with the store in the place of its stores.
func (t *tuner) load(c *cobra.Command, argument string, ask *asker) error {
	if !slices.Contains(driverCatalogue().Names, read.DriverOf(argument)) {
		return unknownDriver(argument)
	}
	changes := t.run0().changes(c.Flags())
	quick, err := read.Quick([]string{argument}, t.tuneFlags.run.mixes, t.tuneFlags.run.warmUp, changes,
		server.Startable(programOf))
	if err != nil {
		return err
	}
	catalogue := driverCatalogue()
	catalogue.Gives = ask.gives
	if t.workload != "" {
		alone, err := read.Source{Text: quick.Text, FromStores: true}.Load(catalogue)
		if err != nil {
			return err
		}
		text, name, err := experimentSource(t.workload, nil)
		if err != nil {
			return fmt.Errorf("--workload: %w", err)
		}
		if info, statErr := os.Stat(t.workload); statErr == nil && !info.IsDir() {
			t.folder = filepath.Dir(t.workload)
		}
		quick = read.Source{Text: text, Name: name, Folder: t.folder,
			Changes: append([]read.Change{alone.StoresChange()}, changes...)}
	}
	loaded, err := quick.Load(catalogue)
	if err != nil {
		return err
	}
	t.base, t.told.Workload = loaded, loaded.Experiment.Name
	if t.workload == "" {
		t.told.Workload = measuredWork(loaded.Experiment)
	}
	return t.refuse()
}

func (t *tuner) run0() *runFlags { return &t.tuneFlags.run }

// measuredWork is what an experiment measures, in words.
func measuredWork(e *experiment.Experiment) string {
	var mixes []string
	for _, p := range e.Phases {
		if !p.Load && !p.Unmeasured {
			mixes = append(mixes, p.MixText())
		}
	}
	return strings.Join(mixes, "; ")
}

// refuse says why an experiment can't be tuned on.
func (t *tuner) refuse() error {
	e := t.base.Experiment
	if len(e.Cells) > 1 {
		var axes []string
		for _, a := range e.Varying() {
			axes = append(axes, a.Path)
		}
		return fmt.Errorf("the workload has %d cells, which differ in %s: options are tuned for one\n--set %s=VALUE takes one value", len(e.Cells),
			strings.Join(axes, ", "), axes[0])
	}
	if missing := e.Stores[0].Missing; missing != "" {
		return errors.New(missing)
	}
	if refusal := e.Refusal(0, 0); refusal != nil {
		return fmt.Errorf("%s can't do the workload: %s", e.Stores[0].Name, refusal)
	}
	open := ""
	for _, p := range e.Phases {
		if !p.Load && !p.Unmeasured && p.Rate > 0 {
			open = p.Name
		}
	}
	if open != "" && t.metric == "rate" {
		return fmt.Errorf("the phase %s has a rate of its own, which no option makes higher\n--metric p99 tunes for its latency", open)
	}
	return nil
}

// tunedOptions are those options of a store that have a range, or of these the named ones.
func tunedOptions(s experiment.Store, asked []string) (options []tuning.Option, err error) {
	var names []string
	given := s.AllOptions()
	declared := s.AllDeclared()
	for _, o := range declared {
		levels, err := o.TuneLevels()
		if err != nil {
			return nil, err
		}
		if len(levels) == 0 {
			continue
		}
		names = append(names, o.Name)
		_, set := given[o.Name]
		if len(asked) > 0 && !slices.Contains(asked, o.Name) || len(asked) == 0 && set {
			continue // what the arm sets is asked for
		}
		usual := o.Default
		if set {
			usual = given[o.Name]
		}
		options = append(options, tuning.Option{Name: o.Name, Levels: levels, Default: sameLevel(o, usual, levels)})
	}
	for _, name := range asked {
		if slices.Contains(names, name) {
			continue
		}
		what := fmt.Sprintf("--options: %s has no option %q", s.Name, name)
		for _, o := range declared {
			if o.Name == name {
				what = fmt.Sprintf("--options: %s has no range of %s that is safe to try", s.Name, name)
			}
		}
		return nil, errors.New(what + nearOr(name, names, "expected some of "+strings.Join(names, ", ")))
	}
	if len(options) == 0 {
		return nil, fmt.Errorf("%s has no option with a range to try\nassay drivers %s shows its options; --set 'stores=[…]' compares values of one's own", s.Name, s.Driver)
	}
	return options, nil
}

// sameLevel is a value as the level says it that is the same: 8388608 is 8MiB.
func sameLevel(o store.Option, value string, levels []string) string {
	bytes, err := store.ParseBytes(value)
	if o.Type != store.Bytes || err != nil {
		return value
	}
	for _, level := range levels {
		if same, err := store.ParseBytes(level); err == nil && same == bytes {
			return level
		}
	}
	return format.Limit(uint64(max(bytes, 0)))
}

// prepare lays out the rounds with as many settings as the time is enough for: each gets time as it has
// trials.
func (t *tuner) prepare(options []tuning.Option) (err error) {
	e := t.base.Experiment
	t.told.Version, t.told.Store, t.told.Class = formsVersion, e.Stores[0].Name, e.Cells[0].ClassText()
	t.told.Metric, t.told.Options = t.metric, options
	t.names = map[*tuning.Setting]string{}
	for first := tuning.FirstMax; first >= tuning.FirstMin; first = first * 2 / 3 {
		t.search = tuning.New(options, e.Seed, first)
		t.layOut(t.search.Plan())
		if err = t.fits(); err == nil {
			return nil
		}
	}
	asked := t.time
	for t.time < tuneTimeMost {
		t.time += max(t.time/4, time.Minute).Truncate(time.Minute)
		t.layOut(t.search.Plan())
		if t.fits() == nil {
			return fmt.Errorf("--time %s is too short to try even %d settings\n--time %s is enough; fewer records need less", asked, tuning.FirstMin, t.time)
		}
	}
	return fmt.Errorf("--time %s is too short to try even %d settings: %w", asked, tuning.FirstMin, err)
}

// tuneTimeMost is up to which time is looked for what is enough.
const tuneTimeMost = 48 * time.Hour

func (t *tuner) layOut(rounds []tuning.Round) {
	trials := 0
	each := func(r tuning.Round) int { return (len(r.Settings) + besideSettings) * r.Blocks }
	for _, r := range rounds {
		trials += each(r)
	}
	t.told.Rounds = nil
	for _, r := range rounds {
		share := (1 - confirmShare) * float64(each(r)) / float64(trials)
		t.told.Rounds = append(t.told.Rounds, tunedRound{Number: r.Number, Settings: len(r.Settings), Blocks: r.Blocks,
			SecondsTo: share * t.time.Seconds()})
	}
}

// fits says why a round can't be laid out in its time; nil: all can.
func (t *tuner) fits() error {
	confirm := tunedRound{Settings: 1, Blocks: confirmBlocks, SecondsTo: confirmShare * t.time.Seconds()}
	for i, r := range append(t.told.Rounds, confirm) {
		round := tuningRound{variants: []read.Variant{{Name: t.told.Store}}, blocks: r.Blocks,
			seed: t.base.Experiment.Seed, limit: time.Duration(r.SecondsTo * float64(time.Second))}
		for k := range r.Settings {
			round.variants = append(round.variants, read.Variant{Name: settingName(k)})
		}
		loaded, err := t.variantsOf(round)
		if err != nil {
			return err
		}
		seconds := &t.confirmSeconds
		if i < len(t.told.Rounds) {
			seconds = &t.told.Rounds[i].Seconds
		}
		*seconds = plan.EstimateOf(loaded.Experiment, plan.Plan(loaded.Experiment)).Seconds()
	}
	return nil
}

// settingName names the setting that was tried as the k-th, from 0.
func settingName(k int) string { return fmt.Sprintf("setting-%d", k+1) }

// besideSettings are the trials of a block beside those of settings: the defaults, twice, and the ceiling.
const besideSettings = 3

// do does the rounds, and confirms the winner.
func (t *tuner) do() error {
	usual := t.told.Store // the defaults have its name
	for r, more := t.search.Next(); more; r, more = t.search.Next() {
		variants := []read.Variant{{Name: usual}}
		for _, s := range r.Settings {
			if t.names[s] == "" {
				t.names[s] = settingName(len(t.names))
			}
			variants = append(variants, read.Variant{Name: t.names[s], Options: t.search.Values(s)})
		}
		limit := time.Duration(t.told.Rounds[r.Number-1].SecondsTo * float64(time.Second))
		scores, stopped, err := t.measure(tuningRound{fmt.Sprintf("round-%d", r.Number), variants, r.Blocks,
			t.base.Experiment.Seed + uint64(r.Number), limit})
		if err != nil {
			return err
		}
		var of [][]float64
		for _, s := range r.Settings {
			of = append(of, scores[t.names[s]])
		}
		t.search.Seen(r, of, scores[usual])
		if t.told.Stopped = stopped; stopped {
			return t.keep()
		}
		known := func(score float64) bool { return !math.IsNaN(score) }
		if !slices.ContainsFunc(scores[usual], known) {
			directory, why := filepath.Join(t.told.Directory, fmt.Sprintf("round-%d", r.Number)), ""
			if round, err := record.Open(directory); err == nil { // otherwise the command that is told says so
				why = whyNoRate(round, usual)
			}
			return errors.Join(t.keep(), &exitError{exitTrials, fmt.Errorf("the defaults have no rate in round %d, so that no setting can be "+
				"held against them%s\nassay report %s shows more", r.Number, why, directory)})
		}
	}
	winner := t.search.Winner()
	if winner == nil {
		return t.keep()
	}
	return t.confirm(winner)
}

// whyNoRate is a line with what the first failed trial of a store says, "" where none is known.
func whyNoRate(round *record.Run, arm string) string {
	for _, planned := range round.Plan {
		if trial := round.Trials[planned.ID]; trial != nil && planned.Arm == arm && trial.Error != "" {
			return "\n" + format.CleanMax(record.Said(trial.Error), whyBytesMax)
		}
	}
	return ""
}

// whyBytesMax is how much of a store's error the line has.
const whyBytesMax = 240

// confirm measures the winner beside the defaults on fresh seeds.
func (t *tuner) confirm(winner *tuning.Setting) error {
	t.told.Best = t.search.Values(winner)
	best := read.Variant{Name: t.told.Store + "-tuned", Options: t.told.Best, Tuned: t.told.Workload}
	limit := time.Duration(confirmShare * float64(t.time))
	variants := []read.Variant{{Name: t.told.Store}, best}
	scores, stopped, err := t.measure(tuningRound{"confirm", variants, confirmBlocks, t.base.Experiment.Seed + confirmSeed, limit})
	if err != nil {
		return err
	}
	t.told.Stopped = stopped
	pair := [][]float64{scores[best.Name], scores[t.told.Store]}
	var references []int
	if twin := scores[twinOf(t.told.Store)]; len(twin) > 0 {
		pair, references = append(pair, twin), []int{2}
	}
	blocks := 0
	for i := range pair {
		blocks = max(blocks, len(pair[i]))
	}
	for i := range pair {
		for len(pair[i]) < blocks {
			pair[i] = append(pair[i], math.NaN())
		}
	}
	ratio := stat.Compare(pair, stat.Options{References: references}).Pair(0, 1)
	t.told.Confirmed, t.told.Blocks = facts.RatioOf(ratio), ratio.N
	// The whole interval lies above the gain that is worth telling.
	t.told.Better = ratio.Interval != nil && ratio.Interval.Low > 1+tuning.Gain
	t.told.File = filepath.Join(t.told.Directory, "tuned.yaml")
	return errors.Join(t.writeExperiment(variants), t.keep())
}

func twinOf(store string) string { return store + " (A/A)" }

// keep writes what was found beside the rounds.
func (t *tuner) keep() error {
	for _, s := range t.search.Settings() {
		told := tunedSetting{Options: t.search.Values(s), Round: s.First, Blocks: len(s.Logs)}
		if mean, known := s.Mean(); known {
			ratio := math.Exp(mean)
			told.ToDefaults = &ratio
		}
		t.told.Settings = append(t.told.Settings, told)
	}
	return failed(writeTarget(filepath.Join(t.told.Directory, "tune.json"), io.Discard, func(w io.Writer) error { return writeForm(w, &t.told) }))
}

// writeExperiment writes the workload with the defaults and the winner as its stores.
func (t *tuner) writeExperiment(variants []read.Variant) error {
	loaded, err := t.variantsOf(tuningRound{variants: variants})
	if err != nil {
		return failed(err)
	}
	return failed(writeTarget(t.told.File, io.Discard, func(w io.Writer) error {
		_, err := w.Write(t.run0().written(loaded))
		return err
	}))
}

// variantsOf reads the workload with variants of the store, laid out for the round's time.
func (t *tuner) variantsOf(r tuningRound) (*read.Loaded, error) {
	at := func(path, value string) read.Change { return read.Change{Flag: "--set", Path: path, Value: value} }
	changes := []read.Change{t.base.WithVariants(r.variants), at("baseline", t.told.Store), at("durability", t.told.Class)}
	if r.blocks > 0 {
		changes = append(changes, at("blocks", strconv.Itoa(r.blocks)), at("seed", strconv.FormatUint(r.seed, 10)),
			at("time", r.limit.Round(time.Second).String()), at("name", t.base.Experiment.Name))
	}
	source := read.Source{Text: t.base.File(), Folder: t.folder, Changes: changes}
	loaded, err := source.Load(driverCatalogue())
	if err != nil {
		return nil, err
	}
	if r.blocks > 0 {
		loaded.Experiment.BlocksMax, loaded.Experiment.Smallest, loaded.Experiment.Detect = 0, 0, 0
		if err := fit(loaded, false); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// run measures a round in a run directory of its own.
func (t *tuner) run(r tuningRound) (scores map[string][]float64, stopped bool, err error) {
	loaded, err := t.variantsOf(r)
	if err != nil {
		return nil, false, usage(err)
	}
	directory := filepath.Join(t.told.Directory, r.name)
	f := t.run0()
	if !f.quiet {
		fmt.Fprintf(os.Stderr, "assay: %s: %s beside the defaults, %s\n", r.name, format.Plural(len(r.variants)-1, "setting", ""),
			format.Plural(loaded.Experiment.Blocks, "block", ""))
	}
	result, err := f.conduct(directory, func(ctx context.Context, o run.Options) (run.Result, error) {
		return run.New(ctx, loaded.Experiment, f.written(loaded), o)
	})
	if err != nil {
		return nil, false, err
	}
	if _, err := f.present(directory); err != nil {
		return nil, false, failed(err)
	}
	recorded, err := record.Open(directory)
	if err != nil {
		return nil, false, failed(err)
	}
	return scoresOf(recorded, t.metric), result.Interrupted, nil
}

// scoresOf are how good each arm of a run was in each block, more is better: of its rates, or of how many
// times its latency goes into a second, the geometric mean over the measured phases. A block without one is
// NaN.
func scoresOf(r *record.Run, metric string) map[string][]float64 {
	scores := map[string][]float64{}
	phases := 0
	for _, t := range facts.TablesOf(r) {
		phases++
		for _, row := range t.Rows {
			if row.Role == plan.Ceiling {
				continue
			}
			of := t.Values([]*facts.Row{row}, func(o *facts.Observation) float64 { return scoreOf(o, metric) })[0]
			if phases == 1 {
				scores[row.Arm] = of
				continue
			}
			for b := range scores[row.Arm] {
				scores[row.Arm][b] *= of[b]
			}
		}
	}
	for _, of := range scores {
		for b := range of {
			of[b] = math.Pow(of[b], 1/float64(max(phases, 1)))
		}
	}
	return scores
}

func scoreOf(o *facts.Observation, metric string) float64 {
	percentile, isLatency := strings.CutPrefix(metric, "p")
	if !isLatency {
		if o.Rate == nil {
			return math.NaN()
		}
		return *o.Rate
	}
	q, err := strconv.ParseFloat(percentile, 64)
	ns := o.Latency(q / 100)
	if err != nil || !(ns > 0) {
		return math.NaN()
	}
	return 1e9 / ns
}

// print tells what is tried, or was found.
func (t *tuner) print(w io.Writer) error {
	switch {
	case t.json:
		return writeForm(w, &t.told)
	case t.csv:
		return t.writeRows(w)
	case t.run0().dryRun:
		return t.printPlan(w)
	}
	return printTuned(w, &t.told)
}

func (t *tuner) printPlan(w io.Writer) error {
	about := t.confirmSeconds
	for _, r := range t.told.Rounds {
		about += r.Seconds
	}
	fmt.Fprintf(w, "%s (%s) on %s: about %s, at most %s\n\n", t.told.Store, t.told.Class, t.told.Workload,
		format.Seconds(about), format.Duration(t.time))
	table := newColumns("option", "default", "tried")
	for _, o := range t.told.Options {
		table.add(o.Name, o.Default, strings.Join(o.Levels, " "))
	}
	if err := table.print(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rounds := newColumns("round", "settings", "blocks", "about", "at most")
	for _, r := range t.told.Rounds {
		rounds.add(fmt.Sprint(r.Number), fmt.Sprint(r.Settings), fmt.Sprint(r.Blocks), format.Seconds(r.Seconds),
			format.Seconds(r.SecondsTo))
	}
	rounds.add("confirm", "1", fmt.Sprint(confirmBlocks), format.Seconds(t.confirmSeconds),
		format.Seconds(confirmShare*t.time.Seconds()))
	return rounds.print(w)
}

func (t *tuner) writeRows(w io.Writer) error {
	head := []string{"round", "blocks", "to defaults"}
	for _, o := range t.told.Options {
		head = append(head, o.Name)
	}
	rows := [][]string{head}
	for _, s := range t.told.Settings {
		ratio := ""
		if s.ToDefaults != nil {
			ratio = strconv.FormatFloat(*s.ToDefaults, 'f', 4, 64)
		}
		row := []string{strconv.Itoa(s.Round), strconv.Itoa(s.Blocks), ratio}
		for _, o := range t.told.Options {
			row = append(row, s.Options[o.Name])
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// tunedText is a setting as a command line has it.
func tunedText(options map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		words = append(words, name+"="+options[name])
	}
	return strings.Join(words, " ")
}

// metricText says what a ratio of a metric is of.
func metricText(metric string) string {
	if metric == "rate" {
		return "rate"
	}
	return "1/" + metric
}

var gainText = fmt.Sprintf("%.0f %%", 100*tuning.Gain)

func printTuned(w io.Writer, t *tuned) error {
	measured := 0
	for _, s := range t.Settings {
		if s.ToDefaults != nil {
			measured++
		}
	}
	fmt.Fprintf(w, "%s (%s) on %s: %s of %s tried\n", t.Store, t.Class, t.Workload, format.Plural(measured, "setting", ""),
		format.Plural(len(t.Options), "option", ""))
	if t.Best == nil {
		_, err := fmt.Fprintf(w, "No setting is better than the defaults by more than %s.\n", gainText)
		return err
	}
	fmt.Fprintf(w, "Best of the search: %s\n", tunedText(t.Best))
	told := "not confirmed: too few blocks\n"
	if r := t.Confirmed; r != nil && r.Low != nil {
		told = fmt.Sprintf("%s the defaults' %s (95 %% interval %s to %s), %s on fresh seeds\n", format.Factor(r.Value), metricText(t.Metric),
			format.Factor(*r.Low), format.Factor(*r.High), format.Plural(t.Blocks, "block", ""))
	}
	if t.Better {
		fmt.Fprintf(w, "Better than the defaults: %s", told)
	} else {
		fmt.Fprintf(w, "No setting is shown to be better than the defaults by more than %s: %s", gainText, told)
	}
	_, err := fmt.Fprintf(w, "\nassay run %s measures both again\nassay report %s shows the confirmation\n", t.File, filepath.Join(t.Directory, "confirm"))
	return err
}
