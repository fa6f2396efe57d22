package detect

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/store"
)

// setting is an option that must grow with the data, and how to tell that it did not.
type setting struct {
	drivers []string
	option  string
	reading bool // matters in phases that read; otherwise in all
	// least is the smallest value that fits so much data; enough is what the remedy proposes.
	least, enough func(records, bytes float64) float64
	effect        string // of a value below least: one of the words of finding.SettingsTooSmall
}

func perRecord(records, _ float64) float64 { return records }

func perByte(_, bytes float64) float64 { return bytes }

func hundredth(_, bytes float64) float64 { return bytes / 100 }

func tenth(_, bytes float64) float64 { return bytes / 10 }

func double(_, bytes float64) float64 { return 2 * bytes }

// settings are the rules, each from the documentation of the library: Tokyo Cabinet and Kyoto
// Cabinet on bnum (buckets: half to four times the number of records) and xmsiz, LMDB on
// mdb_env_set_mapsize; a cache below a hundredth of what is read from holds little but the upper
// levels of an index.
var settings = []setting{
	{drivers: []string{"tokyocabinet-hash", "tokyocabinet-table", "kyotocabinet-hash"}, option: "bnum", least: perRecord, enough: perRecord, effect: "chains"},
	{drivers: []string{"tokyocabinet-hash", "tokyocabinet-table"}, option: "xmsiz_bytes", least: perByte, enough: double, effect: "calls"},
	{drivers: []string{"lmdb"}, option: "map_bytes", least: perByte, enough: double, effect: finding.EffectFails},
	{drivers: []string{"rocksdb", "leveldb", "goleveldb"}, option: "block_cache_bytes", reading: true, least: hundredth, enough: tenth, effect: "blocks"},
	{drivers: []string{"pebble"}, option: "cache_bytes", reading: true, least: hundredth, enough: tenth, effect: "blocks"},
	{drivers: []string{"wiredtiger", "berkeleydb-btree", "berkeleydb-hash", "sqlite", "sqlite-c"}, option: "cache_bytes", least: hundredth, enough: tenth, effect: "pages"},
}

// detectServerKept names the servers that are not emptied between trials: Assay empties none
// without being told.
func detectServerKept(run *record.Run, _ []*facts.Table) []finding.Finding {
	var arms []string
	for _, s := range run.Experiment.Stores {
		// Keys that begin with the trial's name meet no other trial's records.
		if s.Outlives() && s.Options["flush_at_open"] != "true" && !run.Experiment.KeyNamespace {
			arms = append(arms, s.Name)
		}
	}
	if len(arms) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.ServerKeptParams{Arms: arms}))}
}

// detectSettings names the settings that are known to be wrong for this amount of data, most of
// them defaults.
func detectSettings(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for i := range run.Experiment.Stores {
		arm := &run.Experiment.Stores[i]
		for _, rule := range settings {
			if !slices.Contains(rule.drivers, arm.Driver) {
				continue
			}
			records, bytes := largestData(run, tables, i, rule.reading)
			value, set, known := valueOf(run, i, rule.option)
			least := rule.least(records, bytes)
			if !known || value >= least || least == 0 {
				continue
			}
			option, _ := optionOf(arm.Description, rule.option)
			found = append(found, finding.Make(finding.Where{Run: run.Header.ID,
				Arm: arm.Name}, finding.New(finding.SettingsTooSmallParams{Arm: arm.Name,
				Option: rule.option, Value: value, InBytes: option.Type == store.Bytes, Set: set,
				Effect: rule.effect, Records: records, Bytes: bytes, Proposed: proposed(option,
					rule.enough(records, bytes))})))
		}
	}
	return found
}

// largestData returns the most that a store held in the phases that count: measured after them, or
// planned where a trial did not get so far.
func largestData(run *record.Run, tables []*facts.Table, storeIndex int, reading bool) (records, bytes float64) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if reading && !facts.IsRead(t.Work) || r.Store != storeIndex || r.State == record.Refused {
			return
		}
		planned := float64(t.Parameters.Records)
		records = max(records, planned)
		bytes = max(bytes, planned*float64(run.Experiment.Keys.BytesMax()+t.Parameters.ValueBytes))
		for _, o := range r.Trials {
			if o.Phase == nil {
				continue
			}
			if n := o.Phase.Sizes.Records; n != nil {
				records = max(records, float64(*n))
			}
			if n := o.Phase.Sizes.LogicalBytes; n != nil {
				bytes = max(bytes, float64(*n))
			}
		}
	})
	return records, bytes
}

// valueOf returns an option's value and whether the experiment set it: what the store itself
// reports is believed before what it was given.
func valueOf(run *record.Run, storeIndex int, name string) (value float64, set, known bool) {
	arm := run.Experiment.Stores[storeIndex]
	option, ok := optionOf(arm.Description, name)
	if !ok {
		return 0, false, false
	}
	text := option.Default
	if given, is := arm.Options[name]; is {
		text, set = given, true
	}
	for _, planned := range run.Plan {
		if trial := run.Trials[planned.ID]; planned.Store == storeIndex && trial != nil && trial.Settings[name] != "" {
			if v, ok := numberIn(option, trial.Settings[name]); ok {
				return v, set, true
			}
		}
	}
	v, ok := numberIn(option, text)
	return v, set, ok
}

func optionOf(d store.Description, name string) (store.Option, bool) {
	i := slices.IndexFunc(d.Options, func(o store.Option) bool { return o.Name == name })
	if i < 0 {
		return store.Option{}, false
	}
	return d.Options[i], true
}

func numberIn(o store.Option, text string) (float64, bool) {
	if o.Type == store.Bytes {
		v, err := store.ParseBytes(text)
		return float64(v), err == nil
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// proposed writes a value for the command line: bytes as a power of two of at least a MiB, numbers
// as they are.
func proposed(o store.Option, v float64) string {
	if o.Type != store.Bytes {
		return strconv.FormatFloat(math.Ceil(v), 'f', 0, 64)
	}
	mebibytes := 1
	for float64(mebibytes)*(1<<20) < v {
		mebibytes *= 2
	}
	return fmt.Sprintf("%dMiB", mebibytes)
}
