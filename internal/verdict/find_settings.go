package verdict

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/store"
)

// setting is an option that must grow with the data, and how to tell that it did not.
type setting struct {
	drivers []string
	option  string
	reading bool // matters in phases that read; otherwise in all
	// least is the smallest value that fits so much data; enough is what the remedy proposes.
	least, enough func(records, bytes float64) float64
	because       string // what happens below least, after "…, "
}

func perRecord(records, _ float64) float64 { return records }
func perByte(_, bytes float64) float64     { return bytes }
func hundredth(_, bytes float64) float64   { return bytes / 100 }
func tenth(_, bytes float64) float64       { return bytes / 10 }
func double(_, bytes float64) float64      { return 2 * bytes }

// settings are the rules, each from the documentation of the library: Tokyo Cabinet and Kyoto Cabinet on bnum (buckets: half
// to four times the number of records) and xmsiz, LMDB on mdb_env_set_mapsize; a cache below a hundredth of what is read
// from holds little but the upper levels of an index.
var settings = []setting{
	{drivers: []string{"tokyocabinet-hash", "tokyocabinet-table", "kyotocabinet-hash"}, option: "bnum", least: perRecord, enough: perRecord,
		because: "so that records share buckets, and each operation walks chains of them"},
	{drivers: []string{"tokyocabinet-hash", "tokyocabinet-table"}, option: "xmsiz_bytes", least: perByte, enough: double,
		because: "and what lies beyond the mapped part is read and written by system calls"},
	{drivers: []string{"lmdb"}, option: "map_bytes", least: perByte, enough: double,
		because: "and a put beyond the map fails"},
	{drivers: []string{"rocksdb", "leveldb", "goleveldb"}, option: "block_cache_bytes", reading: true, least: hundredth, enough: tenth,
		because: "so that nearly every read decompresses a block again"},
	{drivers: []string{"pebble"}, option: "cache_bytes", reading: true, least: hundredth, enough: tenth,
		because: "so that nearly every read decompresses a block again"},
	{drivers: []string{"wiredtiger", "berkeleydb-btree", "berkeleydb-hash", "sqlite", "sqlite-c"}, option: "cache_bytes", least: hundredth, enough: tenth,
		because: "so that nearly every operation fetches its page again"},
}

// findSettings names the settings that are known to be wrong for this amount of data, most of them defaults.
func findSettings(run *record.Run, s *Summary) (found []Finding) {
	for i := range run.Experiment.Stores {
		arm := &run.Experiment.Stores[i]
		for _, rule := range settings {
			if !slices.Contains(rule.drivers, arm.Driver) {
				continue
			}
			records, bytes := largestData(run, s, i, rule.reading)
			value, origin, known := valueOf(run, i, rule.option)
			if least := rule.least(records, bytes); !known || value >= least || least == 0 {
				continue
			}
			option, _ := optionOf(arm.Description, rule.option)
			found = append(found, Finding{Code: FindSettings, Severity: Warning,
				Sentence: fmt.Sprintf("The %s of %s is too small for this data: it is %s, %s.", rule.option, arm.Name, amountOf(option, value), rule.because),
				Evidence: []string{fmt.Sprintf("%s is %s (%s); the data is %s records, %s; from %s on it would fit",
					rule.option, amountOf(option, value), origin, count(uint64(records)), size(bytes), amountOf(option, math.Ceil(rule.least(records, bytes))))},
				Remedy: fmt.Sprintf("--set stores.%s.options.%s=%s", arm.Name, rule.option, proposed(option, rule.enough(records, bytes))),
				Where:  Where{Arm: arm.Name}})
		}
	}
	return found
}

// largestData returns the most that a store held in the phases that count: measured after them, or planned where a trial
// did not get so far.
func largestData(run *record.Run, s *Summary, storeIndex int, reading bool) (records, bytes float64) {
	for _, t := range s.Tables {
		at := slices.IndexFunc(run.Experiment.Phases, func(p spec.Phase) bool { return p.Name == t.Phase })
		if reading && (at < 0 || !isRead(run.Experiment.Phases[at])) {
			continue
		}
		for _, r := range t.Rows {
			if r.Role != plan.Measured || r.Store != storeIndex || r.State == record.Refused {
				continue
			}
			records = max(records, float64(t.Parameters.Records))
			bytes = max(bytes, float64(t.Parameters.Records)*float64(run.Experiment.Keys.BytesMax()+t.Parameters.ValueBytes))
			for _, o := range r.Trials {
				if o.phase == nil {
					continue
				}
				if n := o.phase.Sizes.Records; n != nil {
					records = max(records, float64(*n))
				}
				if n := o.phase.Sizes.LogicalBytes; n != nil {
					bytes = max(bytes, float64(*n))
				}
			}
		}
	}
	return records, bytes
}

// valueOf returns an option's value and where it comes from: what the store itself tells is believed before what it was given.
func valueOf(run *record.Run, storeIndex int, name string) (value float64, origin string, known bool) {
	arm := run.Experiment.Stores[storeIndex]
	option, ok := optionOf(arm.Description, name)
	if !ok {
		return 0, "", false
	}
	text, origin := option.Default, "the default"
	if given, set := arm.Options[name]; set {
		text, origin = given, "set by the experiment"
	}
	for _, planned := range run.Plan {
		if trial := run.Trials[planned.ID]; planned.Store == storeIndex && trial != nil && trial.Settings[name] != "" {
			if v, ok := numberIn(option, trial.Settings[name]); ok {
				return v, origin, true
			}
		}
	}
	v, ok := numberIn(option, text)
	return v, origin, ok
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

func amountOf(o store.Option, v float64) string {
	if o.Type == store.Bytes {
		return size(v)
	}
	return count(uint64(v))
}

// proposed writes a value for the command line: bytes as a power of two of at least a MiB, numbers as they are.
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
