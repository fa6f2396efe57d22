package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/internal/analysis/compare"
	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/base/bounded"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/base/secret"
	"assay/internal/evidence/host"
	"assay/internal/evidence/proof"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/event"
	"assay/internal/execution/run"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/internal/presentation/live"
	"assay/internal/presentation/metrics"
	"assay/internal/presentation/tell"
	"assay/presets"
)

// runFlags are the flags of assay run.
type runFlags struct {
	sets, mixes     []string
	out, data       string
	saveAs, replay  string
	warmUp          string
	capacity        bool     // it is assay capacity
	tune            bool     // it is assay tune
	choice          *choice  // of assay choose, which is a search for capacities; nil: it is another
	objectives      []string // of it
	resume, dryRun  bool
	describeWorkers bool
	allowRemote     bool
	nats, metrics   string
	plain, noHTML   bool
	quiet           bool
	noResult        bool // of a round of a search: progress is shown, and its result is not
	failIf          []string
	criteria        []compare.Criterion // of failIf
	show            show
}

// fieldFlag is a flag for a field of an experiment.
type fieldFlag struct{ name, path, help string }

// fieldFlags are the flags for the fields of an experiment that people change most. "*" stands for
// every measured phase.
var fieldFlags = []fieldFlag{
	{"records", "records", "`number` of records that the load stores"},
	{"values", "values.bytes", "`length` of values, such as 100 or 4KiB"},
	{"threads", "threads", "`number` of threads"},
	{"durability", "durability", "durability `class`: D0, D1, D2(100ms), D3 or D4"},
	{"for", "phases.*.for", "`duration` of each measured phase, such as 10s"},
	{"operations", "phases.*.operations", "`number` of operations of each measured phase"},
	{"order", "phases.*.order", "key `order`: uniform, zipfian, shuffled, sequential …"},
	{"batch", "phases.*.batch", "`number` of writes in a batch"},
	{"rate", "phases.*.rate", "`operations` a second, whether stores keep up or not (open load); 1k,5k: a cell each, 1000..20000: a ramp"},
	{"arrivals", "phases.*.arrivals", "how the operations of a rate are `spread`: poisson (default) or constant"},
	{"handles", "handles", "how threads `share` handles: shared, per_thread, pool(8), per_operation"},
	{"cpus", "cpus", "`number` of CPUs that a trial may use, such as 2, or which: 0-3"},
	{"memory-limit", "memory_limit", "`bytes` of memory for a trial, page cache included"},
	{"disk-quota", "disk_quota", "`bytes` of disk for a trial"},
	{"blocks", "blocks", "`number` of times that everything is repeated; auto: until comparisons are decided"},
	{"detect", "detect", "relative `difference`, such as 5%, that is to be shown: the noise of 5 blocks decides how many are run"},
	{"time", "time", "`duration` of the whole run, such as 5m: blocks, phases and cells are laid out to fit"},
	{"agents", "agents", "`places` of agents that do the measured phases: local:4, ssh://HOST,ssh://HOST, docker:4 or join:4"},
	{"seed", "seed", "`number` that all randomness is derived from"},
}

// capacityFlags are those of the fields of a search for a capacity.
var capacityFlags = []fieldFlag{
	{"from", "phases.*.capacity.from", "lowest `rate` that is asked about, in operations a second (default 10); where it breaks, lower ones are tried"},
	{"to", "phases.*.capacity.to", "highest `rate` that is tried (default: no limit)"},
	{"step", "phases.*.capacity.step", "least `duration` of a step at one rate (default 2s)"},
	{"hold", "phases.*.capacity.hold", "`duration` of the last step, which confirms (default 10s)"},
}

// fields are the flags of fields that the command has.
func (f *runFlags) fields() []fieldFlag {
	if f.tune { // it has a time of its own, and chooses the blocks
		return slices.DeleteFunc(slices.Clone(fieldFlags), func(field fieldFlag) bool {
			return slices.Contains([]string{"blocks", "detect", "time"}, field.name)
		})
	}
	if !f.capacity {
		return fieldFlags
	}
	ofRates := func(field fieldFlag) bool { return slices.Contains([]string{"for", "operations", "rate"}, field.name) }
	return slices.Concat(capacityFlags, slices.DeleteFunc(slices.Clone(fieldFlags), ofRates))
}

// fieldValues are what completion offers behind a flag for a field: all values, or the usual ones.
var fieldValues = map[string][]string{
	"durability": {"D0", "D1", "D2(100ms)", "D3", "D4"},
	"order":      experiment.Distributions,
	"arrivals":   {"poisson", "constant"},
	"handles":    {"shared", "per_thread", "pool(8)", "per_operation", "async(16)"},
	"cpus":       {"1", "1,2"},
	"blocks":     {"3", "5", "10", "auto"},
	"time":       {"1m", "5m", "30m"},
	"for":        {"10s", "30s", "60s"},
	"detect":     {"5%", "10%"},
	"step":       {"2s", "5s"},
	"hold":       {"10s", "60s"},
	"agents":     {"local:2"},
}

// completeFields offers the fields of an experiment file, each with =.
func completeFields(*cobra.Command, []string, string) (fields []string, _ cobra.ShellCompDirective) {
	for _, field := range read.Fields() {
		fields = append(fields, field+"=")
	}
	return fields, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// otherFlags are names that other benchmarks give to flags, and the flags that they are here.
var otherFlags = map[string]string{
	"duration": "for", "time-per-phase": "for", "clients": "threads", "concurrency": "threads",
	"connections": "threads", "ops": "operations",
	"value-size": "values", "value-bytes": "values", "distribution": "order", "batch-size": "batch",
	"repeat": "blocks", "runs": "blocks", "output": "out", "rps": "rate", "memory": "memory-limit", "plan": "dry-run", "verbose": "full",
	"warmup": "warm-up", "warmup-time": "warm-up", "recordcount": "records", "operationcount": "operations", "target": "rate", "qps": "rate",
}

func flagName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	if meant, ok := otherFlags[name]; ok {
		name = meant
	}
	return pflag.NormalizedName(name)
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE|PRESET|-|DRIVER…",
		Short: "Run an experiment: a file, a preset, or drivers to compare",
		Long: `Runs every trial of an experiment and ends with a table and an HTML report.

The experiment is a file, a preset by name, or the drivers to compare. For drivers,
--mix says what they do; each --mix is a phase. Without flags: 100,000 records of
100 bytes, half reads and half updates for 10 s, one thread, three blocks, and the
strongest durability class that all of them reach.

The run directory (--out) holds everything: the experiment with all defaults
written out, each trial's result and its time series, the machine, the report.
A server is started for each trial (memcached@start), or one that is running is
named (memcached@HOST:PORT). Options stand in brackets: pebble[cache_bytes=8MB], and
several values make an arm each: pebble[cache_bytes=8MB,64MB], and with server. before
the name those of a server that is started: etcd@start[server.count=1,3].

A comma makes a list of --records, --values, --threads, --rate, --cpus, --handles,
--memory-limit and --durability: a cell for each. Over threads, CPUs and nodes the report
says by which law stores scale, where one explains the points.

Ctrl-C ends the trial under way, keeps what was measured (exit status 3), and
assay run --resume DIR does the remaining trials. A second Ctrl-C ends it at once
(130).`,
		Example: `  assay run put-get
  assay run bbolt pebble
  assay run bbolt pebble --mix read=95,update=5 --threads 8 --records 1e6 --for 10s
  assay run bbolt pebble --mix update --mix read --save-as mine.yaml --dry-run
  assay run redis@start --replay requests.csv.zst
  assay run memcached@start
  assay run memcached@127.0.0.1:11211
  assay run 'pebble[cache_bytes=8MB,64MB]'
  assay run 'etcd@start[server.count=1,3,5]' --threads 8
  assay run pebble --threads 1,2,4,8 --cpus 1,2,4
  assay run put-get --set 'stores=[pebble, sqlite]' --for 2s
  assay run put-get --set scale=full --out results/put-get
  assay run my.yaml --records 10k,1e6 --set phases.read.for=30s
  assay presets put-get | assay run - --dry-run
  assay run --resume results/put-get`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.resume && len(args) != 1:
				return usage(errors.New("--resume takes the run directory: assay run --resume DIR"))
			case len(args) == 0:
				return usage(errors.New("assay run takes an experiment file, a preset or drivers\n" +
					"assay list shows the presets and drivers"))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch {
			case f.resume && len(args) == 0:
				return nil, cobra.ShellCompDirectiveFilterDirs
			case len(args) == 0:
				return slices.Concat(presets.Names(), measurable()), cobra.ShellCompDirectiveDefault
			case slices.Contains(measurable(), args[0]):
				return measurable(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.flags(c)
	c.Flags().BoolVar(&f.resume, "resume", false, "do the remaining trials of the run directory that is the argument")
	return c
}

// flags adds the flags that assay run and assay capacity have.
func (f *runFlags) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.mixes, "mix", nil, "what drivers do: `operation=weight`, several with commas between; a phase for each --mix")
	if !f.capacity {
		c.Flags().StringVar(&f.warmUp, "warm-up", "", "`duration` for which the first mix is done before anything is measured")
		c.Flags().StringVar(&f.replay, "replay", "", "recorded traffic that drivers play, in place of a mix: `file` of a form that assay profile knows")
	}
	f.fieldFlags(c)
	c.Flags().StringArrayVar(&f.sets, "set", nil, "change any field of the experiment: `path=value` (may be repeated)")
	c.Flags().StringVar(&f.saveAs, "save-as", "", "write the experiment, with all changes, to a new `file`")
	c.Flags().StringVar(&f.out, "out", "", "run `directory` to make (default: assay-NAME-TIME here, -2, -3 … where that is taken)")
	c.Flags().StringVar(&f.data, "data", "", "existing `directory` in which stores get their directories (default: in the run directory)")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the settings, phases and trials, and the time and disk they take; run nothing (with --json too)")
	c.Flags().BoolVar(&f.describeWorkers, "describe-workers", false, "with --dry-run: start the file's own workers to ask what they can do")
	c.Flags().StringVar(&f.nats, "nats", "", "NATS `server` by which agents on other machines join: nats://HOST:PORT (default: that of "+natsVariable+", or one is started, on loopback); a login stands in "+natsVariable+" alone")
	c.Flags().BoolVar(&f.allowRemote, "allow-remote", false, "load the servers that the experiment names even where they are not on this machine's loopback")
	c.Flags().StringVar(&f.metrics, "metrics", "", "`address` at which Prometheus finds the run's figures while it goes on: :9464 on the loopback, or HOST:PORT")
	c.Flags().BoolVar(&f.plain, "plain", false, "progress as lines, even on a terminal")
	c.Flags().BoolVar(&f.noHTML, "no-html", false, "do not write report.html into the run directory")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no result on standard output: the exit status and the run directory have it")
	c.Flags().StringArrayVar(&f.failIf, "fail-if", nil, "exit status 4 where a figure is beyond this `limit`: 'p99 > 10ms', 'rate < 20k'; repeatable")
	f.show.flags(c)
	c.Flags().SortFlags = false
	c.Flags().SetNormalizeFunc(flagName)
	must(c.RegisterFlagCompletionFunc("mix", cobra.NoFileCompletions))
	must(c.RegisterFlagCompletionFunc("fail-if", cobra.NoFileCompletions))
	must(c.RegisterFlagCompletionFunc("set", completeFields))
	must(c.MarkFlagDirname("out"))
	must(c.MarkFlagDirname("data"))
}

// fieldFlags adds the flags of fields.
func (f *runFlags) fieldFlags(c *cobra.Command) {
	for _, field := range f.fields() {
		c.Flags().String(field.name, "", field.help)
		must(c.RegisterFlagCompletionFunc(field.name, cobra.FixedCompletions(fieldValues[field.name],
			cobra.ShellCompDirectiveNoFileComp)))
	}
}

// changes returns what flags change of the experiment: those for one field first, then --set.
func (f *runFlags) changes(flags *pflag.FlagSet) (changes []read.Change) {
	for _, field := range f.fields() {
		if given := flags.Lookup(field.name); given.Changed {
			path := field.path
			if field.name == "rate" && strings.Contains(given.Value.String(), ",") {
				path = "rate" // several are an axis, of all phases
			}
			changes = append(changes, read.Change{Flag: "--" + field.name, Path: path, Value: given.Value.String()})
		}
	}
	for _, set := range f.sets {
		changes = append(changes, read.Change{Flag: "--set", Value: set})
	}
	return changes
}

func (f *runFlags) run(c *cobra.Command, args []string) error {
	if err := f.show.check(1); err != nil {
		return err
	}
	var err error
	if f.metrics != "" {
		if f.metrics, err = metrics.Address(f.metrics); err != nil {
			return usage(fmt.Errorf("--metrics: %w", err))
		}
	}
	if f.criteria, err = limitsOf(f.failIf); err != nil {
		return usage(err)
	}
	changes := f.changes(c.Flags())
	if f.capacity {
		if err := checkObjectives(f.objectives); err != nil {
			return usage(err)
		}
	}
	if f.dryRun && f.show.format != "text" && f.show.format != "json" {
		return usage(fmt.Errorf("--dry-run prints text or JSON, not %s", f.show.format))
	}
	if f.describeWorkers && !f.dryRun {
		return usage(errors.New("--describe-workers is for --dry-run: a run starts the workers anyway"))
	}
	if f.resume {
		if len(changes)+len(f.mixes) > 0 || f.replay != "" || f.warmUp != "" || f.out != "" || f.saveAs != "" || f.dryRun {
			return usage(errors.New("--resume continues the experiment as it is: " +
				"it takes no flags that change it, no --out, --save-as or --dry-run"))
		}
		begun, err := record.Open(args[0])
		if err != nil {
			return usage(fmt.Errorf("--resume: %w", err))
		}
		if err := f.checkDataRoot(); err != nil {
			return err
		}
		if err := checkRemote(begun.Experiment.Remote(), f.allowRemote); err != nil {
			return usage(err)
		}
		f.warnOfNeed(&begun.Experiment, args[0])
		return f.execute(args[0], run.Resume)
	}
	source, err := f.source(args, changes)
	if err != nil {
		return usage(err)
	}
	catalogue, ask := driverCatalogue(), newAsker(f.allowRemote)
	catalogue.Gives = ask.gives
	var unasked []string
	if f.dryRun && !f.describeWorkers {
		catalogue = withoutWorkers(catalogue, &unasked)
	}
	loaded, err := source.Load(catalogue)
	if err != nil {
		return usage(err)
	}
	if err := fit(loaded, source.FromStores && f.replay == "" && !changesRecords(changes)); err != nil {
		return usage(err)
	}
	if source.FromStores || len(changes) > len(f.sets) {
		source.Text = f.written(loaded)
	}
	if f.dryRun {
		if err := f.save(c.OutOrStdout(), loaded); err != nil {
			return err
		}
		told := planOf(loaded, unasked, f.dataPlace(f.out))
		if f.show.format == "json" {
			return failed(writeForm(c.OutOrStdout(), told))
		}
		return failed(printPlan(c.OutOrStdout(), told))
	}
	if err := checkRemote(loaded.Experiment.Remote(), f.allowRemote); err != nil {
		return usage(err)
	}
	if err := checkEndpoints(loaded.Experiment); err != nil {
		return usage(err)
	}
	if err := ask.checkAnswers(os.Stdout, loaded.Experiment, !f.quiet && f.show.format == "text"); err != nil {
		return err
	}
	if err := f.checkDataRoot(); err != nil {
		return err
	}
	if err := checkEntry(loaded.Experiment, f.dataPlace(f.out)); err != nil {
		return usage(err)
	}
	if err := f.vacant(); err != nil {
		return usage(err)
	}
	place, err := makeRunDirectory(f.out, loaded.Experiment.Name, time.Now())
	if err != nil {
		return err
	}
	defer place.removeIfEmpty()
	if err := f.save(os.Stdout, loaded); err != nil {
		return err
	}
	for _, note := range slices.Concat(loaded.Notes, ask.short(loaded.Experiment)) {
		fmt.Fprintln(os.Stderr, "assay: note:", note)
	}
	f.warnOfNeed(loaded.Experiment, f.out)
	if loaded.Experiment.Crash != nil {
		if err := proveFirst(loaded.Experiment, f.data, f.plain, f.quiet); err != nil {
			return err
		}
	}
	return f.execute(place.path, func(ctx context.Context, o run.Options) (run.Result, error) {
		return run.New(ctx, loaded.Experiment, source.Text, o)
	})
}

func changesRecords(changes []read.Change) bool {
	return slices.ContainsFunc(changes, func(c read.Change) bool {
		path, _, _ := strings.Cut(c.Value, "=")
		return cmp.Or(c.Path, path) == "records"
	})
}

// fit lays the experiment out for the time that it may take, and notes what was changed. recordsFree:
// the user set no number of records.
func fit(loaded *read.Loaded, recordsFree bool) error {
	asked := loaded.Experiment.Cells[0].Records
	if err := plan.Fit(loaded.Experiment, recordsFree); err != nil {
		return err
	}
	if left := loaded.Experiment.Cells[0].Records; recordsFree && left != asked {
		loaded.SetRecords(left)
	}
	for _, m := range loaded.Experiment.Layout {
		loaded.Notes = append(loaded.Notes, finding.Text(m))
	}
	return nil
}

// written is the experiment as a file, with the command that it came from above it.
func (f *runFlags) written(loaded *read.Loaded) []byte {
	command := shellWords(slices.Concat([]string{"assay"}, os.Args[1:]))
	return slices.Concat([]byte(record.WrittenBy+command+"\n"), loaded.File())
}

// shellWords is a command as a shell reads it, without secrets and in one line: a line break would end a
// comment.
func shellWords(command []string) string {
	words := make([]string, len(command))
	for i, word := range secret.Words(command) {
		word = format.Clean(word)
		if word == "" || strings.ContainsAny(word, " []{}()*&|;<>$\"'\\#") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// save is --save-as.
func (f *runFlags) save(out io.Writer, loaded *read.Loaded) error {
	if f.saveAs == "" {
		return nil
	}
	err := writeNew(f.saveAs, out, func(w io.Writer) error {
		_, err := w.Write(f.written(loaded))
		return err
	})
	if err != nil {
		return usage(fmt.Errorf("--save-as: %w", err))
	}
	if !isStandardOutput(f.saveAs) {
		fmt.Fprintf(os.Stderr, "assay: wrote %s\n", f.saveAs)
	}
	return nil
}

// source finds the experiment that the arguments name: a file, which wins where several fit, a
// preset, or drivers.
func (f *runFlags) source(args []string, changes []read.Change) (read.Source, error) {
	drivers, all := measurable(), driverCatalogue().Names
	isDriver := func(argument string) bool {
		return slices.Contains(all, read.DriverOf(argument))
	}
	isFile := func(argument string) bool {
		info, err := os.Stat(argument)
		return argument == "-" || err == nil && !info.IsDir()
	}
	if len(args) > 1 || isDriver(args[0]) && !isFile(args[0]) {
		for _, argument := range args {
			if !isDriver(argument) {
				return read.Source{}, notADriver(argument, isFile(argument))
			}
		}
		switch {
		case f.replay != "" && f.warmUp != "":
			return read.Source{}, errors.New("--warm-up is for a mix, and a replay has none")
		case f.replay != "":
			return read.QuickReplay(args, f.mixes, f.replay, changes, server.Startable(programOf))
		case f.choice != nil:
			return f.choice.source(args, f.mixes, f.objectives, changes)
		case f.capacity:
			return read.QuickCapacity(args, f.mixes, f.objectives, changes, server.Startable(programOf))
		}
		return read.Quick(args, f.mixes, f.warmUp, changes, server.Startable(programOf))
	}
	ofDrivers := f.replay != "" || f.choice != nil || f.capacity || f.warmUp != "" || len(f.mixes) > 0
	extension := filepath.Ext(args[0])
	named := isFile(args[0]) || slices.Contains(presets.Names(), args[0]) || extension == ".yaml" || extension == ".yml"
	if !named && (ofDrivers || strings.Contains(args[0], "@")) {
		return read.Source{}, unknownDriver(args[0])
	}
	if f.replay != "" {
		return read.Source{}, fmt.Errorf("--replay is for drivers, and %s is an experiment of its own\n"+
			"a phase of it replays a recording by replay: %s", args[0], f.replay)
	}
	switch {
	case f.choice != nil:
		return read.Source{}, fmt.Errorf("assay choose takes drivers, and %s is an experiment\n--workload %s takes what is done from it", args[0], args[0])
	case f.capacity:
		return read.Source{}, fmt.Errorf("assay capacity takes drivers, and %s is an experiment\n"+
			"assay run does one whose phase has capacity: {objective: p99 < 5ms}", args[0])
	}
	if f.warmUp != "" {
		return read.Source{}, fmt.Errorf("--warm-up is for drivers, and %s is an experiment of its own\n"+
			"a phase of it is a warm-up by unmeasured: true", args[0])
	}
	if len(f.mixes) > 0 {
		return read.Source{}, fmt.Errorf("--mix is for drivers, and %s is an experiment of its own\n"+
			"--set phases.NAME.mix='{read: 95, update: 5}' changes a phase", args[0])
	}
	text, name, err := experimentSource(args[0], drivers)
	folder := ""
	if isFile(args[0]) && args[0] != "-" {
		folder = filepath.Dir(args[0])
	}
	return read.Source{Text: text, Name: name, Folder: folder, Changes: changes}, err
}

func notADriver(argument string, isFile bool) error {
	if isFile || slices.Contains(presets.Names(), argument) {
		return fmt.Errorf("%s is an experiment: assay run takes one experiment, or drivers\n"+
			"--set 'stores=[bbolt, pebble]' runs it with other stores", argument)
	}
	return unknownDriver(argument)
}

// vacant refuses a run directory that can't be taken, before anything is measured: it holds a run,
// at which another process may be at work, or something else. record.Create looks again, and more
// closely, under its lock.
func (f *runFlags) vacant() error {
	if f.out == "" {
		return nil
	}
	if recorded, err := record.Open(f.out); err == nil {
		return fmt.Errorf("--out %s already holds a run of %q, begun %s\n"+
			"assay run --resume %s continues it, assay report %s shows it",
			f.out, recorded.Header.Name, recorded.Header.Created.Format(time.DateTime+" MST"), f.out, f.out)
	}
	info, err := os.Stat(f.out)
	if err != nil {
		return nil // still to be made
	}
	if !info.IsDir() {
		return fmt.Errorf("--out %s: expected a directory, this is a file", f.out)
	}
	if err := tryWriting(f.out); err != nil {
		return fmt.Errorf("--out %s: can't be written: %w", f.out, err)
	}
	return nil
}

// experimentSource returns the text of an experiment file or preset; "-" is standard input. A file
// wins where both exist.
func experimentSource(argument string, drivers []string) (source []byte, name string, err error) {
	if argument == "-" {
		if source, err = bounded.Read(os.Stdin, read.FileBytesMax); err != nil {
			return nil, "", fmt.Errorf("reading the experiment from standard input: %w", err)
		}
		return source, "standard input", nil
	}
	source, err = bounded.ReadFile(argument, read.FileBytesMax)
	if err == nil {
		return source, argument, nil
	}
	if meant, known := driverHabit(argument); known && errors.Is(err, os.ErrNotExist) {
		return nil, "", fmt.Errorf("there is no file, preset or driver %q\n%s", argument, expected(meant))
	}
	isPath := strings.ContainsAny(argument, "./\\")
	if !isPath {
		if source, presetErr := presets.Source(argument); presetErr == nil {
			return source, "preset " + argument, nil
		}
	}
	switch {
	case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.EISDIR):
		return nil, "", fmt.Errorf("reading the experiment: %w", err)
	case isPath && errors.Is(err, os.ErrNotExist):
		if extension := filepath.Ext(argument); extension != "" && extension != ".yaml" && extension != ".yml" {
			return nil, "", fmt.Errorf("there is no file %s\nan experiment is a YAML file: assay init my.yaml writes one to begin with", argument)
		}
		return nil, "", fmt.Errorf("there is no file %s\nassay init %s writes one to begin with", argument, argument)
	}
	what := fmt.Sprintf("there is no file, preset or driver %q", argument)
	if info, statErr := os.Stat(argument); statErr == nil && info.IsDir() {
		what = argument + " is a directory; expected a file, a preset or drivers"
	}
	hint := nearOr(argument, slices.Concat(presets.Names(), drivers), "assay list shows the presets and drivers")
	return nil, "", errors.New(what + hint)
}

// lines is a writer that passes on what it is given line by line.
type lines func(text string)

func (l lines) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		l(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// execute runs trials with a view on standard error, then prints the table and writes the report.
func (f *runFlags) execute(directory string, do func(context.Context, run.Options) (run.Result, error)) error {
	result, err := f.conduct(directory, do)
	if err != nil {
		return err
	}
	grave, err := f.present(directory)
	if err != nil {
		return failed(fmt.Errorf("%w\nassay report %s shows what was measured", err, directory))
	}
	if err := f.status(result, grave, directory); err != nil {
		return err
	}
	return f.gate(directory)
}

// conduct runs trials with a view on standard error. An error is a refusal or Assay's own failure.
func (f *runFlags) conduct(directory string, do func(context.Context, run.Options) (run.Result,
	error)) (result run.Result, err error) {
	self, err := os.Executable()
	if err != nil {
		return result, failed(fmt.Errorf("finding Assay's own program, to start workers with: %w", err))
	}
	agentOptions := agents.Options{Version: version(), Agent: []string{self, "agent"},
		AllowRemote: f.allowRemote, SSH: strings.Fields(os.Getenv(sshVariable)),
		Docker: strings.Fields(os.Getenv(dockerVariable)), Image: os.Getenv(imageVariable)}
	if agentOptions.Server, agentOptions.Token, err = natsAddress("nats", f.nats); err != nil {
		return result, usage(err)
	}
	view := f.view()
	defer view.Close()
	agentOptions.Log = lines(view.Message) // a line of its own would stay among those that are drawn again
	meter, metered, err := f.meter(directory, view)
	if err != nil {
		return result, usage(err)
	}
	ctx, stop := interruptible("what was measured is kept", view.Message)
	result, err = do(ctx, run.Options{
		Meter:     meter,
		Directory: directory, DataRoot: f.data, Command: os.Args, Worker: []string{self, "worker"}, Rig: []string{self, rigCommandName},
		Ceiling: ceiling(), Program: programOf, View: placed{view, directory},
		Agents:    agentOptions,
		Undecided: detect.Undecided, ToDetect: detect.ToDetect, TrialRate: facts.TrialRate,
		Proved: proof.Find,
	})
	metered(ctx)
	stop() // a table that is being made need not be kept
	if closeErr := view.Close(); closeErr != nil {
		fmt.Fprintln(os.Stderr, "assay:", closeErr) // what was measured is not affected
	}
	if errors.Is(err, host.ErrNoMemoryLimit) || errors.Is(err, host.ErrNoCPU) || errors.Is(err,
		host.ErrNoQuotaMount) || errors.Is(err, run.ErrProgram) {
		return result, usage(err)
	}
	if err != nil {
		if _, openErr := record.Open(directory); openErr == nil && result.Planned > 0 { // it had begun
			err = fmt.Errorf("%w\nassay report %s shows what was measured, assay run --resume %s continues", err, directory, directory)
		}
		return result, failed(err)
	}
	if result.Left != "" {
		fmt.Fprintf(os.Stderr, "%sassay run --resume %s or assay doctor --clean deletes them\n", result.Left, directory)
	}
	return result, nil
}

// limitsOf reads the thresholds of a run's --fail-if.
func limitsOf(failIf []string) ([]compare.Criterion, error) {
	criteria, err := criteriaOf(failIf)
	for _, criterion := range criteria {
		if !criterion.Absolute {
			return nil, fmt.Errorf("--fail-if %q is of a ratio, and a run alone has none\n"+
				"expected a limit, as in 'p99 > 10ms' or 'rate < 20k'; assay compare OLD NEW --fail-if %q holds it against an earlier run",
				criterion.Text, criterion.Text)
		}
	}
	return criteria, err
}

// gate holds the run's figures against the limits of --fail-if, and says what comes out.
func (f *runFlags) gate(directory string) error {
	if len(f.criteria) == 0 {
		return nil
	}
	recorded, err := record.Open(directory)
	if err != nil {
		return failed(err)
	}
	held, err := compare.Limits(recorded, f.criteria...)
	if err != nil {
		return failed(err)
	}
	if !f.quiet {
		out := os.Stdout
		if f.show.format != "text" { // what a program reads there is the result alone
			out = os.Stderr
		}
		fmt.Fprintln(out)
		if err := writeComparison(out, held, "text", false, false); err != nil {
			return failed(err)
		}
	}
	if status := compareStatus[held.Outcome]; status != 0 {
		return &exitError{status: status}
	}
	return nil
}

// meter serves the run's figures where they are asked for, until what it returns is called.
func (f *runFlags) meter(directory string, view event.View) (event.Meter, func(context.Context), error) {
	if f.metrics == "" {
		return nil, func(context.Context) {}, nil
	}
	m := metrics.New(filepath.Base(directory))
	server, err := metrics.Serve(f.metrics, m)
	if err != nil {
		return nil, nil, fmt.Errorf("--metrics: %w", err)
	}
	view.Message("Metrics: " + server.URL())
	return m, func(ctx context.Context) {
		waits := func(most time.Duration) {
			view.Message(fmt.Sprintf("Metrics: waiting for the last scrape, at most %.0f s (Ctrl-C ends it)", most.Seconds()))
		}
		if !server.Last(ctx, waits) {
			view.Message("Metrics: what was measured last was not scraped; the run directory has it")
		}
		if err := server.Close(); err != nil {
			view.Message(err.Error())
		}
	}, nil
}

func (f *runFlags) view() event.View {
	switch {
	case f.quiet:
		return live.NewPlain(io.Discard)
	case f.plain:
		return live.NewPlain(os.Stderr)
	}
	return live.New(os.Stderr)
}

// present prints the result and writes the page. It returns how many findings are grave.
func (f *runFlags) present(directory string) (grave int, err error) {
	recorded, err := record.Open(directory)
	if err != nil {
		return 0, err
	}
	r, err := tell.Result(recorded)
	if err != nil {
		return 0, err
	}
	path, pageErr := "", error(nil)
	if !f.noHTML {
		// Neither failure keeps the other from being done: a full disk has a table, a reader that
		// went away a page.
		path = filepath.Join(directory, "report.html")
		if pageErr = writePage(path, os.Stdout, r); pageErr != nil {
			path = ""
		}
	}
	var printErr error
	if !f.quiet && !f.noResult {
		// not the commands' output, which forgives nothing: who reads a table may go away
		printErr = f.show.write(os.Stdout, r, []*record.Run{recorded}, path)
	}
	if errors.Is(printErr, syscall.EPIPE) {
		fmt.Fprintf(os.Stderr, "assay: the output was closed\nassay report %s prints it again\n", directory)
		printErr = nil
	}
	return graves(r), errors.Join(printErr, pageErr)
}

func (f *runFlags) status(r run.Result, grave int, directory string) error {
	switch {
	case r.Interrupted:
		return &exitError{exitTrials, fmt.Errorf("stopped\nassay run --resume %s does the remaining trials", directory)}
	case r.Failed+r.Marked > r.Ceilings: // a missing ceiling is reported, but is no failure
		return &exitError{exitTrials, fmt.Errorf("%s\nassay report %s --full shows why", spoiltTrials(r), directory)}
	case grave > 0:
		return &exitError{exitTrials, fmt.Errorf("%s\nassay report %s --full shows the evidence", format.Plural(grave, "grave finding", ""), directory)}
	case r.Refused > 0 && r.Measured == 0:
		return &exitError{exitTrials, fmt.Errorf("no store was measured: %s refused\nassay report %s shows why", format.Plural(r.Refused, "trial", ""), directory)}
	}
	return nil
}

// spoiltTrials counts the trials without a rank, by kind, and names no kind of which there are
// none.
func spoiltTrials(r run.Result) string {
	planned := format.Plural(r.Planned, "trial", "")
	switch {
	case r.Marked == 0:
		return fmt.Sprintf("%d of %s failed", r.Failed, planned)
	case r.Failed == 0:
		return fmt.Sprintf("%d of %s marked and not ranked", r.Marked, planned)
	}
	return fmt.Sprintf("%d of %s failed, %d marked and not ranked", r.Failed, planned, r.Marked)
}
