package detect_test

import (
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// sized is a clean run of 1,000,000 records and 1.016 GB in which elm has a driver's name and an
// option with its default.
func sized(driver string, option store.Option) *record.Run {
	run := resulttest.CleanRun()
	elm := &run.Experiment.Stores[1]
	elm.Driver, elm.Options, elm.Description.Options = driver, nil, []store.Option{option}
	for _, trial := range resulttest.Trials(run, "elm") {
		trial.Settings = nil
	}
	return run
}

func bytesOption(name, value string) store.Option {
	return store.Option{Name: name, Type: store.Bytes, Default: value}
}

func TestSettingThatIsTooSmallForTheDataIsNamed(t *testing.T) {
	for _, c := range []struct {
		driver string
		wrong  store.Option // with a default that is just too small
		fits   string       // and a value that is not
		remedy string
	}{
		{"tokyocabinet-hash", store.Option{Name: "bnum", Type: store.Int, Default: "131071"}, "1000000", "--set stores.elm.options.bnum=1000000"},
		{"tokyocabinet-table", store.Option{Name: "bnum", Type: store.Int, Default: "999999"}, "1000003", "--set stores.elm.options.bnum=1000000"},
		{"kyotocabinet-hash", store.Option{Name: "bnum", Type: store.Int, Default: "10"}, "1048583", "--set stores.elm.options.bnum=1000000"},
		{"tokyocabinet-hash", bytesOption("xmsiz_bytes", "64MiB"), "1GiB", "--set stores.elm.options.xmsiz_bytes=2048MiB"},
		{"tokyocabinet-table", bytesOption("xmsiz_bytes", "1GB"), "1.1GB", "--set stores.elm.options.xmsiz_bytes=2048MiB"},
		{"lmdb", bytesOption("map_bytes", "10MiB"), "2GiB", "--set stores.elm.options.map_bytes=2048MiB"},
		{"rocksdb", bytesOption("block_cache_bytes", "8MiB"), "16MiB", "--set stores.elm.options.block_cache_bytes=128MiB"},
		{"leveldb", bytesOption("block_cache_bytes", "8MiB"), "16MiB", "--set stores.elm.options.block_cache_bytes=128MiB"},
		{"goleveldb", bytesOption("block_cache_bytes", "8388608"), "16MiB", "--set stores.elm.options.block_cache_bytes=128MiB"},
		{"pebble", bytesOption("cache_bytes", "8388608"), "16MiB", "--set stores.elm.options.cache_bytes=128MiB"},
		{"wiredtiger", bytesOption("cache_bytes", "10MB"), "100MiB", "--set stores.elm.options.cache_bytes=128MiB"},
		{"berkeleydb-btree", bytesOption("cache_bytes", "256KiB"), "64MiB", "--set stores.elm.options.cache_bytes=128MiB"},
		{"berkeleydb-hash", bytesOption("cache_bytes", "256KiB"), "64MiB", "--set stores.elm.options.cache_bytes=128MiB"},
		{"sqlite", bytesOption("cache_bytes", "2048000"), "64MiB", "--set stores.elm.options.cache_bytes=128MiB"},
		{"sqlite-c", bytesOption("cache_bytes", "2000KiB"), "64MiB", "--set stores.elm.options.cache_bytes=128MiB"},
	} {
		t.Run(c.driver+" "+c.wrong.Name, func(t *testing.T) {
			t.Parallel()
			r := resulttest.ResultOf(t, sized(c.driver, c.wrong))
			f := resulttest.Find(r, finding.SettingsTooSmall)
			if f == nil || f.Where.Arm != "elm" || finding.Remedy(f.Message) != c.remedy || f.Params["set"] != false || f.Params["records"] != 1e6 || f.Params["bytes"] != 1.016e9 {
				t.Fatalf("%+v", r.Findings)
			}
			set := sized(c.driver, c.wrong)
			set.Experiment.Stores[1].Options = map[string]string{c.wrong.Name: c.fits}
			if f := resulttest.Find(resulttest.ResultOf(t, set), finding.SettingsTooSmall); f != nil {
				t.Errorf("%s fits, and is named: %+v", c.fits, f)
			}
			told := sized(c.driver, c.wrong)
			for _, trial := range resulttest.Trials(told, "elm") {
				trial.Settings = map[string]string{c.wrong.Name: c.fits}
			}
			if f := resulttest.Find(resulttest.ResultOf(t, told), finding.SettingsTooSmall); f != nil {
				t.Errorf("the store tells %s, which fits, and is named: %+v", c.fits, f)
			}
			if f := resulttest.Find(resulttest.ResultOf(t, sized("another", c.wrong)), finding.SettingsTooSmall); f != nil {
				t.Errorf("a driver without a rule: %+v", f)
			}
		})
	}
}

func TestBlockCacheMattersWhereThereAreReads(t *testing.T) {
	run := sized("rocksdb", bytesOption("block_cache_bytes", "8MiB"))
	run.Experiment.Phases[2].Mix = map[string]float64{"update": 1}
	if f := resulttest.Find(resulttest.ResultOf(t, run), finding.SettingsTooSmall); f != nil {
		t.Errorf("nothing is read: %+v", f)
	}
}

// A store that failed at its limit has no figure of how much it holds: what was planned counts.
func TestTooSmallMapIsNamedThoughItsTrialsFailed(t *testing.T) {
	run := sized("lmdb", bytesOption("map_bytes", "10MiB"))
	for _, trial := range resulttest.Trials(run, "elm") {
		trial.State, trial.Error, trial.Phases = record.Failed, "the map is full", nil
		delete(run.InMemory, trial.Plan.ID)
	}
	if f := resulttest.Find(resulttest.ResultOf(t, run), finding.SettingsTooSmall); f == nil || f.Params["effect"] != "fails" {
		t.Errorf("%+v", f)
	}
	next := resulttest.ResultOf(t, run).Summary.Next
	if len(next) == 0 || !strings.Contains(next[0].Command, " --set stores.elm.options.map_bytes=") {
		t.Errorf("what to type first is %+v, which gives the map no room", next)
	}
}
