package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/trace"
	"assay/store"
)

var classMeaning = map[store.Durability]string{
	store.D0: "an acknowledged write may be lost when the process dies",
	store.D1: "an acknowledged write survives the process, not a power cut",
	store.D2: "a power cut loses at most the stated time of acknowledged writes",
	store.D3: "every acknowledged write survives a power cut",
	store.D4: "an acknowledged write survives the loss of nodes",
}

// cellText says what a cell fixes besides its durability class.
func cellText(e *spec.Experiment, c spec.Cell) string {
	handles := map[string]string{
		"shared": "one shared handle", "per_thread": "a handle per thread",
		"pool": "a pool of " + plural(c.PoolHandles, "handle"), "per_operation": "a new handle per operation",
	}[c.Handles]
	if handles == "" {
		handles = "handles: " + c.Handles
	}
	parts := []string{}
	if c.Case != "" {
		parts = append(parts, c.Case)
	}
	size := plural(int(c.Records), "record") + " of " + lengthText(&e.Values, c.ValueBytes)
	if beginsEmpty(e) {
		size = "records of " + lengthText(&e.Values, c.ValueBytes) + ", none at first"
	}
	parts = append(parts, size, plural(c.Threads, "thread"), handles)
	if c.MemoryLimit > 0 {
		parts = append(parts, limitText(uint64(c.MemoryLimit))+" memory limit")
	} else {
		parts = append(parts, "no memory limit")
	}
	if c.DiskQuota > 0 {
		parts = append(parts, limitText(uint64(c.DiskQuota))+" disk quota")
	}
	return strings.Join(parts, ", ")
}

// cellOfPhase is the cell as it holds in a phase, which may have its own number of threads.
func cellOfPhase(c spec.Cell, p spec.Phase) spec.Cell {
	c.Threads = cmp.Or(p.Threads, c.Threads)
	return c
}

// sizesMax is how many lengths of a mixture are named: of more, the least and the greatest are.
const sizesMax = 4

// lengthText writes how long values are: "1,000 B"; of a mixture "24 B (90 %) and 4,000 B (10 %), mean 422 B".
func lengthText(v *spec.Values, meanBytes int) string {
	mean := count(uint64(max(meanBytes, 0))) + " B"
	total := 0.0
	sizes := slices.Clone(v.Sizes)
	for _, s := range sizes {
		total += s.Weight
	}
	if len(sizes) < 2 || total <= 0 {
		return mean
	}
	slices.SortStableFunc(sizes, func(a, b spec.Size) int { return a.Bytes - b.Bytes })
	if len(sizes) > sizesMax {
		return fmt.Sprintf("%s to %s B, mean %s", count(uint64(sizes[0].Bytes)), count(uint64(sizes[len(sizes)-1].Bytes)), mean)
	}
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		parts[i] = fmt.Sprintf("%s B (%s)", count(uint64(s.Bytes)), shareText(s.Weight/total))
	}
	return listed(parts) + ", mean " + mean
}

// shareText writes a share of a mixture: "90 %".
func shareText(share float64) string { return strconv.FormatFloat(share*100, 'g', 3, 64) + " %" }

// beginsEmpty says if nothing is loaded and all that is done stores new keys without end: then Cell.Records is no number of records.
func beginsEmpty(e *spec.Experiment) bool {
	for _, p := range e.Phases {
		for operation := range p.Mix {
			fresh := operation == trace.Insert.String() || operation == trace.Add.String() || p.Order.Distribution == trace.Counting
			if !fresh {
				return false
			}
		}
		if p.Load {
			return false
		}
	}
	return len(e.Phases) > 0
}

// columnsText says what records are made of, where they have columns: the end of a sentence.
func columnsText(v *spec.Values) string {
	if len(v.Columns) == 0 {
		return ""
	}
	var columns, indexes []string
	for _, c := range v.Columns {
		columns = append(columns, c.Name)
	}
	for _, x := range v.Indexes {
		indexes = append(indexes, fmt.Sprintf("%s (%s)", x.Column, x.Kind))
	}
	text := ", columns " + strings.Join(columns, ", ")
	if len(indexes) > 0 {
		text += "; indexes on " + strings.Join(indexes, ", ")
	}
	return text
}

// phaseText says what a phase does; its threads are told with the cell: see cellOfPhase.
func phaseText(p spec.Phase, v *spec.Values) string {
	var parts []string
	if p.Load {
		parts = append(parts, "inserts every record once")
	}
	names := slices.SortedFunc(maps.Keys(p.Mix), func(a, b string) int {
		if p.Mix[a] != p.Mix[b] {
			if p.Mix[a] > p.Mix[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	total := 0.0
	for _, weight := range p.Mix {
		total += weight
	}
	for _, name := range names {
		text := strings.ReplaceAll(name, "_", " ")
		if len(names) > 1 && total > 0 {
			text = shareText(p.Mix[name]/total) + " " + text
		}
		parts = append(parts, text)
	}
	order := strings.ReplaceAll(p.Order.Distribution, "_", " ")
	if p.Order.Theta != 0 {
		order += fmt.Sprintf(" %g", p.Order.Theta)
	}
	if order != "" {
		parts = append(parts, order+" order")
	}
	if p.Query.Limit > 0 && p.Query.Column < len(v.Columns) {
		parts = append(parts, fmt.Sprintf("queries by %s, at most %d records each", v.Columns[p.Query.Column].Name, p.Query.Limit))
	}
	if p.Batch > 1 {
		parts = append(parts, fmt.Sprintf("batches of %d", p.Batch))
	} else if len(p.Mix) > 0 {
		parts = append(parts, "one by one")
	}
	if p.Rate > 0 {
		parts = append(parts, "open load at "+rateText(p.Rate))
	} else {
		parts = append(parts, "closed load")
	}
	if p.Operations > 0 {
		parts = append(parts, plural(int(p.Operations), "operation"))
	} else if p.Duration > 0 {
		parts = append(parts, durationText(p.Duration))
	}
	return strings.Join(parts, ", ")
}

// durationText writes whole seconds, minutes from ten on, what is shorter than a second with its prefix, below a minute fractions, and time.Duration's own form for all else.
func durationText(d time.Duration) string {
	switch {
	case d >= 10*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= time.Second && d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Second:
		return si(d.Seconds(), "s")
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) + " s"
	}
	return d.String()
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(uint64(n)) + " " + noun + "s"
}

// againCommand is what does a run again: the experiment file that the run directory keeps, and what the command line changed of it. It makes
// a run directory of its own. "" where that file is missing.
func againCommand(run *record.Run) string {
	given := run.Environment.Command
	if len(given) == 0 || run.Source == nil {
		return ""
	}
	again := []string{given[0], "run", filepath.Join(run.Directory, record.SourceFile)}
	for i := 1; i < len(given); i++ {
		name, _, whole := strings.Cut(given[i], "=")
		switch name {
		case "--set", "--data", "--out":
			words := given[i:min(i+2, len(given))]
			if whole {
				words = words[:1]
			}
			if name != "--out" { // that directory exists
				again = append(again, words...)
			}
			i += len(words) - 1
		}
	}
	return shellCommand(again)
}

// shellCommand quotes words so that a POSIX shell reads them back.
func shellCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		plain := word != "" && strings.IndexFunc(word, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+", r)
		}) < 0
		if plain {
			quoted[i] = word
		} else {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// environmentFacts lists what is known of the machine. What is not known is left out, but for the few that a reader
// must be told are unknown.
func environmentFacts(e record.Environment) []Fact {
	unknown := func(s string) string {
		if s == "" {
			return "not known"
		}
		return s
	}
	facts := []Fact{
		{"Assay", unknown(e.Assay)},
		{"CPU", unknown(e.CPU)},
	}
	if e.CPUs > 0 {
		facts[1].Value += fmt.Sprintf(" × %d", e.CPUs)
	}
	if e.MemoryBytes > 0 {
		facts = append(facts, Fact{"Memory", bytesText(float64(e.MemoryBytes))})
	}
	facts = append(facts, Fact{"System", unknown(e.OS)}, Fact{"Kernel", unknown(e.Kernel)},
		Fact{"Device", unknown(e.Device)}, Fact{"File system", unknown(strings.TrimSpace(e.Filesystem + " " + strings.ReplaceAll(e.Mount, ",", ", ")))})
	if e.SyncMicros > 0 {
		facts = append(facts, Fact{"fdatasync of 4 KiB", latencyText(e.SyncMicros*1e3) + " (median)"})
	} else {
		facts = append(facts, Fact{"fdatasync of 4 KiB", "not measured"})
	}
	for _, f := range []Fact{{"Governor", e.Governor}, {"Clock source", e.ClockSource}, {"Container", e.Container}, {"Go", e.Go}, {"Host", e.Host}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	facts = appendValueRatios(facts, "Values under ", e.ValueRatio)
	lengths := slices.SortedFunc(maps.Keys(e.ValueRatios), func(a, b string) int { // "24 B" before "4096 B"
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, length := range lengths {
		facts = appendValueRatios(facts, "Values of "+length+" under ", e.ValueRatios[length])
	}
	return facts
}

func appendValueRatios(facts []Fact, what string, ratios map[string]float64) []Fact {
	for _, compressor := range slices.Sorted(maps.Keys(ratios)) {
		facts = append(facts, Fact{what + compressor, strconv.FormatFloat(ratios[compressor]*100, 'f', 0, 64) + " % of their size"})
	}
	return facts
}

// telemetryCost says what share of one core Assay itself took to sample the phases.
func telemetryCost(run *record.Run) string {
	used, elapsed := 0.0, 0.0
	for _, t := range run.Trials {
		for _, p := range t.Phases {
			if p.Telemetry != nil {
				used += p.Telemetry.CPUSeconds
				elapsed += float64(p.ElapsedNS) / 1e9
			}
		}
	}
	if elapsed == 0 {
		return "not measured"
	}
	return strconv.FormatFloat(used/elapsed*100, 'f', 2, 64) + " % of one core"
}

func facts(m map[string]string) []Fact {
	var list []Fact
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, Fact{name, m[name]})
	}
	return list
}

// storesOf lists the arms of a run as they were configured and as they ran.
func storesOf(run *record.Run) []Store {
	settings := map[int]*record.Trial{}
	for _, planned := range run.Plan {
		if trial := run.Trials[planned.ID]; trial != nil && trial.Settings != nil && settings[planned.Store] == nil {
			settings[planned.Store] = trial
		}
	}
	var stores []Store
	for i, s := range run.Experiment.Stores {
		d := s.Description
		view := Store{Arm: s.Name, Driver: s.Driver, Summary: d.Summary, Library: d.Library, Version: d.Version, Licence: d.Licence,
			Note: d.Note, Options: facts(s.Options), Changed: changedText(s), Abilities: d.Abilities.List()}
		for _, claim := range d.Durability {
			view.Claims = append(view.Claims, Fact{string(claim.Class), claim.How})
		}
		if trial := settings[i]; trial != nil {
			view.Settings = facts(trial.Settings)
			if trial.Version != "" {
				view.Version = trial.Version
			}
		}
		stores = append(stores, view)
	}
	return stores
}

// changedText says which options an arm has otherwise than its driver's defaults. An option that is set to its default is
// none; two ways to write one number of bytes are the same.
func changedText(s spec.Store) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		value, otherwise := s.Options[name], ""
		for _, o := range s.Description.Options {
			if o.Name == name {
				otherwise = o.Default
				given, err := store.ParseBytes(value)
				usual, usualErr := store.ParseBytes(o.Default)
				if o.Type == store.Bytes && err == nil && usualErr == nil && given == usual {
					otherwise = value
				}
			}
		}
		switch otherwise {
		case value:
		case "":
			parts = append(parts, name+"="+value)
		default:
			parts = append(parts, fmt.Sprintf("%s=%s (default %s)", name, value, otherwise))
		}
	}
	if len(parts) == 0 {
		return "all defaults"
	}
	return "options changed from default: " + strings.Join(parts, ", ")
}

// cellDiffers says what tells a cell from the others of an experiment besides its class; "" if nothing does. A case has a
// name for whatever it sets: the rest is compared within it.
func cellDiffers(cells []spec.Cell, cell int) string {
	own := cells[cell]
	var parts []string
	if slices.ContainsFunc(cells, func(c spec.Cell) bool { return c.Case != own.Case }) && own.Case != "" {
		parts = append(parts, own.Case)
	}
	for _, axis := range []func(spec.Cell) string{
		func(c spec.Cell) string { return plural(int(c.Records), "record") },
		func(c spec.Cell) string { return count(uint64(max(c.ValueBytes, 0))) + " B values" },
		func(c spec.Cell) string { return plural(c.Threads, "thread") },
		func(c spec.Cell) string {
			return "handles " + spec.HandlesForm{Sharing: c.Handles, Pool: c.PoolHandles}.String()
		},
		func(c spec.Cell) string { return limitName(c.MemoryLimit, "limit") },
		func(c spec.Cell) string { return limitName(c.DiskQuota, "disk quota") },
	} {
		if slices.ContainsFunc(cells, func(c spec.Cell) bool { return c.Case == own.Case && axis(c) != axis(own) }) {
			parts = append(parts, axis(own))
		}
	}
	return strings.Join(parts, ", ")
}

func limitName(bytes int64, what string) string {
	if bytes == 0 {
		return "no " + what
	}
	return limitText(uint64(bytes)) + " " + what
}
