package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/store"
)

// withoutWorkers lets no program of the file's be started: a plan runs nothing that somebody else
// wrote. Stores of such workers are planned as if they could do everything; unasked gets their
// names.
func withoutWorkers(catalogue read.Drivers, unasked *[]string) read.Drivers {
	describe, nullOf := catalogue.Describe, catalogue.NullOf
	own := func(s experiment.Store) bool {
		n, ok := hostedOf(s.Driver)
		return len(s.Worker) == 0 || ok && s.Worker[0] == n.path()
	}
	catalogue.Describe = func(s experiment.Store) (store.Description, error) {
		if own(s) {
			return describe(s)
		}
		*unasked = append(*unasked, s.Name)
		return unknownStore(s), nil
	}
	catalogue.NullOf = func(s experiment.Store) (experiment.Store, bool) {
		if own(s) {
			return nullOf(s)
		}
		return experiment.Store{}, false
	}
	gives := catalogue.Gives
	catalogue.Gives = func(s experiment.Store) *read.Given {
		if own(s) {
			return gives(s)
		}
		return nil
	}
	return catalogue
}

func unknownStore(s experiment.Store) store.Description {
	d := store.Description{Name: s.Driver, Kind: store.Embedded, HandlesShareable: true, Abilities: store.Abilities{
		Batch: true, Scan: true, Add: true, CompareAndSwap: true, Records: true, Query: true, Count: true,
	}}
	d.KeyLengths = true
	if len(s.Endpoints) > 0 || s.Server != nil {
		d.Kind = store.Server
	}
	for _, class := range []store.Durability{store.D0, store.D1, store.D2, store.D3, store.D4} {
		d.Durability = append(d.Durability, store.DurabilityClaim{Class: class, How: "unknown"})
	}
	for name := range s.Options {
		d.Options = append(d.Options, store.Option{Name: name, Type: store.String})
	}
	return d
}

// planOf is what --dry-run tells; stores would get their directories on the file system of place.
// unasked are the stores whose worker was not asked what it can do.
func planOf(loaded *read.Loaded, unasked []string, place string) planned {
	e := loaded.Experiment
	trials := plan.Plan(e)
	estimate := plan.EstimateOf(e, trials)
	p := planned{Version: formsVersion, Settings: settingsOf(e), Experiment: e, Notes: slices.Clone(loaded.Notes),
		Warnings: shortOf(e, estimate, place),
		Estimate: plannedNeed{Trials: estimate.Trials - estimate.Refused, Refused: estimate.Refused,
			Blocks: e.Blocks, BlocksMax: e.BlocksMax,
			SecondsLow: estimate.SecondsLow, SecondsHigh: estimate.SecondsHigh, LoadSeconds: estimate.LoadSeconds,
			LoadRecords: estimate.LoadRecords,
			LoadBytes:   estimate.LoadBytes, DataBytes: estimate.DataBytes, DiskBytes: estimate.DiskBytes}}
	for _, phase := range e.Phases {
		for _, part := range phase.Parts() {
			p.Phases = append(p.Phases, plannedPhaseOf(e, part))
		}
	}
	for _, t := range trials {
		p.Trials = append(p.Trials, plannedTrial{ID: t.ID, Block: t.Block, Arm: t.Arm, Role: string(t.Role),
			Parameters: e.Cells[t.Cell].Label(e), Refused: t.Refuse})
	}
	if len(unasked) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("the worker of %s was not started, so what it can do is unknown; --describe-workers asks it", format.List(unasked)))
	}
	if started := startedServers(e); len(started) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("a run starts the server of %s on loopback for each trial; this dry run started none", format.List(started)))
	}
	return p
}

func plannedPhaseOf(e *experiment.Experiment, part experiment.Phase) plannedPhase {
	p := plannedPhase{Name: part.Name, Load: part.Load, Mix: part.Mix, Order: part.Order.Distribution,
		Batch: part.Batch, MultiRead: part.MultiRead, Rate: part.Rate,
		Arrivals: part.Arrivals, Seconds: part.Lasts().Seconds(), Operations: part.Operations,
		FromSeconds: part.From.Seconds(),
		Unmeasured:  part.Unmeasured, Optional: part.Optional}
	for _, cell := range e.Cells {
		p.Threads = append(p.Threads, part.ThreadsIn(cell))
	}
	return p
}

// settingsOf are the parameters of the matrix with the values that took effect. A limit or choice that
// no cell has is left out.
func settingsOf(e *experiment.Experiment) (all []setting) {
	for _, a := range experiment.Axes() {
		s := setting{Name: a.Path}
		for _, c := range e.Cells {
			text := "none"
			if a.Set(c) {
				text = withoutName(a.Path, a.Text(c))
			}
			if !slices.Contains(s.Values, text) {
				s.Values = append(s.Values, text)
			}
		}
		if slices.ContainsFunc(e.Cells, a.Set) {
			all = append(all, s)
		}
	}
	if e.TimedEvery > 0 {
		all = append(all, setting{"latency", []string{fmt.Sprintf("one operation in %d is timed", e.TimedEvery)}})
	}
	return append(all, setting{"keys", []string{keysText(&e.Keys)}})
}

// keysText says what keys look like. The last of several lengths is that of keys that no recording has.
func keysText(keys *keyval.KeyShape) string {
	shortest, longest := 0, keys.BytesMax()
	if n := len(keys.Lengths); n > 1 {
		shortest, longest = keys.BytesBetween(0, keys.Lengths[n-1].From-1)
	}
	if shortest < longest && shortest > 0 {
		return fmt.Sprintf("%s, %d B to %s, as recorded", keys.Format, shortest, format.Limit(uint64(longest)))
	}
	return fmt.Sprintf("%s, up to %s", keys.Format, format.Limit(uint64(longest)))
}

// withoutName leaves out of a value's text, before it and behind it, the words of its setting's name:
// they stand beside it.
func withoutName(path, text string) string {
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '_' })
	named := func(word string) bool { return slices.Contains(names, word) || slices.Contains(names, word+"s") }
	words := strings.Fields(text)
	for len(words) > 1 && named(words[0]) {
		words = words[1:]
	}
	for len(words) > 1 && named(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

// printPlan is --dry-run in words.
func printPlan(w io.Writer, p planned) error {
	e := p.Experiment
	settings := newColumns("setting", "values")
	for _, s := range p.Settings {
		settings.add(s.Name, strings.Join(s.Values, "; "))
	}
	if err := settings.print(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	phases := newColumns("phase", "work", "order", "ends after", "")
	for _, phase := range e.Phases {
		for _, part := range phase.Parts() {
			phases.add(part.Name, workText(part), part.Order.Distribution, endText(part), noteText(part))
		}
	}
	if err := phases.print(w); err != nil {
		return err
	}
	for _, phase := range e.Phases {
		if len(phase.Faults) > 0 {
			fmt.Fprintf(w, "\nServers in %s: %s\n", phase.Name, faultsText(phase.Faults))
		}
	}
	fmt.Fprintln(w)
	table := newColumns("trial", "arm", "role", "parameters", "")
	for _, t := range p.Trials {
		note := ""
		if t.Refused != "" {
			note = "not supported: " + t.Refused
		}
		table.add(t.ID, t.Arm, t.Role, t.Parameters, note)
	}
	if err := table.print(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s%s\n", plan.EstimateOf(e, plan.Plan(e)), moreBlocks(e))
	for _, note := range p.Notes {
		if err == nil {
			_, err = fmt.Fprintf(w, "\nNote: %s\n", note)
		}
	}
	for _, warning := range p.Warnings {
		if err == nil {
			_, err = fmt.Fprintf(w, "\nWarning: %s\n", warning)
		}
	}
	return err
}

// startedServers names the stores whose server Assay starts.
func startedServers(e *experiment.Experiment) (names []string) {
	for _, s := range e.Stores {
		if s.Server != nil && s.Missing == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// moreBlocks says which blocks may be added to the planned ones.
func moreBlocks(e *experiment.Experiment) string {
	if e.BlocksMax <= e.Blocks {
		return ""
	}
	text := fmt.Sprintf("\nBlocks: %d are planned, up to %d are run while", e.Blocks, e.BlocksMax)
	var whiles []string
	if e.Detect > 0 {
		whiles = append(whiles, fmt.Sprintf("their noise asks for more to detect a difference of %s", format.Percent(e.Detect)))
	}
	if e.Smallest > 0 {
		whiles = append(whiles, "comparisons are undecided")
	}
	if e.Time > 0 {
		whiles = append(whiles, "they end within "+format.Seconds(e.Time.Seconds()))
	}
	return text + " " + strings.Join(whiles, " and ") + "."
}

func workText(p experiment.Phase) string {
	if p.Load {
		return "store every record once"
	}
	return p.MixText()
}

func endText(p experiment.Phase) string {
	var ends []string
	if p.Load {
		ends = append(ends, "the last record")
	}
	if p.Duration > 0 {
		ends = append(ends, p.Duration.String())
	}
	if p.Operations > 0 {
		ends = append(ends, format.Count(p.Operations)+" operations")
	}
	if len(ends) == 0 {
		return "the phase's end"
	}
	return strings.Join(ends, " or ")
}

func faultsText(faults []experiment.Fault) string {
	var texts []string
	for _, f := range faults {
		does := f.Does
		if amount := f.Amount(); amount != "" {
			does += " of " + amount + ","
		}
		texts = append(texts, fmt.Sprintf("%s node %d at %s", does, f.Node, f.At))
	}
	return strings.Join(texts, ", ")
}

// replayText says what a phase replays, and how long that takes.
func replayText(p experiment.Phase) string {
	if p.Replay == nil {
		return ""
	}
	text := p.Replay.Text()
	if p.Rate > 0 {
		text += fmt.Sprintf(", open load, %s for %s", format.Rate(p.Rate), format.Seconds(p.Replay.Lasts().Seconds()))
	}
	return text
}

func noteText(p experiment.Phase) string {
	var notes []string
	add := func(is bool, text string) {
		if is {
			notes = append(notes, text)
		}
	}
	add(p.From > 0, "from "+p.From.String()+" on")
	add(p.Batch > 1, fmt.Sprintf("batches of %s", format.Count(uint64(p.Batch))))
	add(p.Fill, "misses are filled after "+p.Backend.String())
	add(p.Append.Parts > 0, fmt.Sprintf("up to %d parts of %s B a thread", p.Append.Parts, format.Count(uint64(p.Append.Bytes))))
	add(p.MultiRead > 1, fmt.Sprintf("%s a read", format.Plural(p.MultiRead, "key", "keys")))
	add(p.Replay != nil, replayText(p))
	add(p.Rate > 0 && p.Replay == nil, "open load, "+p.RateText()+", "+string(p.Arrivals)+" arrivals")
	add(p.Think.Mean > 0, "think time "+p.Think.String())
	add(len(p.TTL) > 0, "TTL "+p.TTLText())
	add(p.Threads > 0 && len(p.Staircase) == 0, experiment.TasksText(p.Threads, p.Processes))
	add(len(p.Staircase) > 0, experiment.StaircaseText(p.Staircase))
	add(p.Unmeasured, "not in the tables")
	add(p.Optional, "optional")
	return strings.Join(notes, ", ")
}
