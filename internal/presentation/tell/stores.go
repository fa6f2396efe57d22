package tell

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
	"assay/store"
)

// storesOf lists the arms of a run as they were configured and as they ran.
func storesOf(run *record.Run) (stores []model.Store) {
	ran, deciding := map[int]*record.Trial{}, map[int][]string{}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil || trial.Settings == nil || planned.Store < 0 || planned.Store >= len(run.Experiment.Stores) {
			continue
		}
		if ran[planned.Store] == nil {
			ran[planned.Store] = trial
		}
		class := run.Experiment.Cells[planned.Cell].Durability
		if told := decidingOf(run.Experiment.Stores[planned.Store].Description, class, trial); told != "" && !slices.Contains(deciding[planned.Store], told) {
			deciding[planned.Store] = append(deciding[planned.Store], told)
		}
	}
	for i, s := range run.Experiment.Stores {
		d := s.Description
		made := model.Store{Run: run.Header.ID, Arm: s.Name, Driver: s.Driver, Summary: d.Summary,
			Library: d.Library, Version: d.Version,
			Licence: d.Licence, Note: d.Note, Options: factsOf(s.AllOptions()),
			Changed: finding.Text(changedOptions(s, deciding[i])), Abilities: d.Abilities.List()}
		for _, claim := range d.Durability {
			made.Claims = append(made.Claims, model.Fact{Name: string(claim.Class), Value: claim.How})
		}
		if trial := ran[i]; trial != nil {
			made.Settings = settingsOf(trial)
			made.Version = cmp.Or(trial.Version, made.Version)
			if started := trial.Server; started != nil {
				made.Program = &model.Program{Path: started.Binary, Product: started.Product, Version: started.Version,
					SHA256: started.SHA256, Commit: started.Commit}
			}
		}
		stores = append(stores, made)
	}
	return stores
}

// decidingOf returns the settings in force by which a store reaches a class: those that the driver names
// where it says how. "": it names none that it reports.
func decidingOf(d store.Description, class store.Durability, trial *record.Trial) string {
	claim, _ := d.Claim(class)
	named := strings.FieldsFunc(claim.How, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '.' && c != '-'
	})
	var told []string
	for _, setting := range settingsOf(trial) {
		if setting.Name != serverSetting && slices.Contains(named, setting.Name) {
			told = append(told, setting.Name+"="+setting.Value)
		}
	}
	if len(told) == 0 {
		return ""
	}
	return string(class) + ": " + strings.Join(told, ", ")
}

// serverSetting is the name under which the settings have the server's program.
const serverSetting = "server"

// settingsOf returns the settings in force as the store reported them and, of a server that Assay has
// started, as that told them itself.
func settingsOf(trial *record.Trial) []model.Fact {
	if trial.Server == nil {
		return factsOf(trial.Settings)
	}
	all, server := trial.Server.Settings(), finding.FactServerParams{
		Program: trial.Server.Binary, Version: trial.Server.Version, SHA256: trial.Server.SHA256,
		Commit: trial.Server.Commit}
	if count := len(trial.Server.Members); count > 1 {
		server.Servers = count
	}
	maps.Copy(all, trial.Settings)
	return append([]model.Fact{{Name: serverSetting, Value: known(server)}}, factsOf(all)...)
}

func factsOf(values map[string]string) (facts []model.Fact) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		facts = append(facts, model.Fact{Name: name, Value: values[name]})
	}
	return facts
}

// known puts a fact into words.
func known(fact finding.Parameters) string { return finding.Text(finding.New(fact)) }

// environmentOf lists what is known of the machine. What is not known is left out, but for the few
// that a reader must be told are unknown.
func environmentOf(run *record.Run) (facts []model.Fact) {
	e := run.Environment
	add := func(name, value string) { facts = append(facts, model.Fact{Name: name, Value: value}) }
	must := func(name, value string) { add(name, cmp.Or(value, known(finding.FactUnknown))) }
	may := func(name, value string) {
		if value != "" {
			add(name, value)
		}
	}
	must("Assay", e.Assay)
	cpu := cmp.Or(e.CPU, known(finding.FactUnknown))
	if e.CPUs > 0 {
		cpu += fmt.Sprintf(" × %d", e.CPUs)
	}
	add("CPU", cpu)
	if e.MemoryBytes > 0 {
		add("Memory", format.Bytes(float64(e.MemoryBytes)))
	}
	must("System", e.OS)
	must("Kernel", e.Kernel)
	must("Device", e.Device)
	must("File system", strings.TrimSpace(e.Filesystem+" "+strings.ReplaceAll(e.Mount, ",", ", ")))
	may("File system of each trial", trialFileSystem(run))
	if e.SyncMicros > 0 {
		add("fdatasync of 4 KiB", known(finding.FactSyncParams{MedianNS: e.SyncMicros * 1e3}))
	} else {
		add("fdatasync of 4 KiB", known(finding.FactNotMeasured))
	}
	may("Governor", e.Governor)
	may("Clock source", e.ClockSource)
	may("Container", e.Container)
	for _, what := range slices.Sorted(maps.Keys(e.Machine)) {
		add(strings.ToUpper(what[:1])+what[1:], e.Machine[what])
	}
	may("Go", e.Go)
	may("Host", e.Host)
	for _, compressor := range slices.Sorted(maps.Keys(e.ValueRatio)) {
		add("Values under "+compressor, known(finding.FactCompressedParams{Share: e.ValueRatio[compressor]}))
	}
	lengths := slices.SortedFunc(maps.Keys(e.ValueRatios), func(a, b string) int { // "24 B" before "4096 B"
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, length := range lengths {
		for _, compressor := range slices.Sorted(maps.Keys(e.ValueRatios[length])) {
			add("Values of "+length+" under "+compressor, known(finding.FactCompressedParams{Share: e.ValueRatios[length][compressor]}))
		}
	}
	add("Telemetry overhead", telemetryOverhead(run))
	return facts
}

// telemetryOverhead is the share of one core that Assay itself took to sample the phases.
func telemetryOverhead(run *record.Run) string {
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
		return known(finding.FactNotMeasured)
	}
	return known(finding.FactOverheadParams{Percent: 100 * used / elapsed})
}

// trialFileSystem names the file systems that trials had of their own, of the size of the disk
// quota; "" where they had none.
func trialFileSystem(run *record.Run) string {
	var kinds []string
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil || t.QuotaMount == nil {
			continue
		}
		m := t.QuotaMount
		kind := known(finding.FactFileSystemParams{FileSystem: m.FileSystem, Loop: m.By == host.QuotaLoop,
			Bytes: m.Bytes, UsableBytes: m.UsableBytes})
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return format.ListMax(kinds, 3)
}

// againCommand is what does a run again: the experiment file that the run directory keeps, and what
// the command line changed of it. It makes a run directory of its own. "" where that file is
// missing.
func againCommand(run *record.Run, more ...string) string {
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
			applied := name == "--set" && bytes.HasPrefix(run.Source, []byte(record.WrittenBy))
			if name != "--out" && !applied { // that directory exists
				again = append(again, words...)
			}
			i += len(words) - 1
		}
	}
	return shellCommand(append(again, more...)...)
}
