package read_test

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
)

// countFile has a place for every whole number.
const countFile = `name: counts
stores: [pebble]
durability: D3
records: 1000
keys: {format: decimal, digits: 5}
phases:
  - {name: load, load: true}
  - {name: scan, mix: {scan: 1}, scan: {min: 1, max: 1000000}, for: 1s}
  - {name: write, mix: {update: 1}, operations: 5}
  - {name: beside, groups: [{name: g, mix: {update: 1}, operations: 5}]}
  - {name: look, mix: {read: 1}, operations: 5}
  - {name: around, groups: [{name: r, mix: {read: 1}, operations: 5}]}
`

// countsInFile returns the names of the fields that are whole numbers, each after the field that it
// stands in.
func countsInFile(t reflect.Type, within string, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[read.OneOrMany[read.Count]]() {
		t = t.Elem()
	}
	if t == reflect.TypeFor[read.Count]() || t == reflect.TypeFor[read.BlocksForm]() ||
		t == reflect.TypeFor[read.OneOrMany[read.Count]]() {
		into[within] = true
	} else if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			if name := f.Tag.Get("yaml"); name != "" {
				parent := within[strings.LastIndex(within, ".")+1:]
				countsInFile(f.Type, strings.TrimPrefix(parent+"."+name, "."), into)
			}
		}
	}
}

var namedRange = regexp.MustCompile(`from (\d+) to (\d+)`)

// A number that is none names the range that is allowed, and that range is the one that is held to.
func TestWholeNumbersNameTheirRange(t *testing.T) {
	all := map[string]bool{}
	countsInFile(reflect.TypeFor[read.File](), "", all)
	columns := "values={columns: [{name: a, value: \"x {i}\"}, {name: p, proof: 24}]}"
	query := "phases.scan={name: scan, mix: {query: 1}, query: {column: a}, for: 1s}"
	inJVM := []string{"durability=D0", "keys={format: decimal}", "phases=[{name: w, mix: {insert: 1}, operations: 5}]"}
	for field, c := range map[string]struct {
		path string // where it differs from the field
		sets []string
	}{
		"records": {}, "blocks": {}, "blocks_max": {}, "repeats": {}, "seed": {}, "verify_records": {}, "values.bytes": {}, "values.pool_bytes": {}, "keys.digits": {}, "keys.first": {},
		"keys.bytes":         {sets: []string{"keys=null", "records=10"}},
		"values.sizes.bytes": {path: "values.sizes"}, // of a form of its own: a list or a file
		"columns.proof":      {path: "values.columns", sets: []string{"stores=[sqlite]"}},
		"columns.stamp":      {path: "stamps", sets: []string{"stores=[sqlite]"}},
		"server.count":       {path: "stores"},
		"server.replicas":    {path: "stores=[bbolt, {driver: memcached, server: {start: true, replicas: N}}]"},
		"phases.batch":       {path: "phases.write.batch"},
		"append.bytes":       {path: "phases.write={name: write, mix: {append: 1}, append: {bytes: N}, operations: 5}", sets: []string{"stores=[memory]", "durability=D0"}},
		"append.parts":       {path: "phases.write={name: write, mix: {append: 1}, append: {parts: N}, operations: 5}", sets: []string{"stores=[memory]", "durability=D0"}},
		"phases.multi_read":  {path: "phases.look.multi_read"},
		"phases.operations":  {path: "phases.write.operations"},
		"phases.milestones":  {path: "phases.write.milestones"},
		"buckets.keys":       {path: "phases.look={name: look, mix: {read: 1}, operations: 5, order: {distribution: popularity, buckets: [{weight: 1, keys: N}]}}"},
		"replay.loops":       {path: "phases.write={name: write, replay: {file: testdata/recording.csv, loops: N}}"},
		"threads.threads":    {path: "threads"},
		"threads.processes":  {path: "threads={processes: N}", sets: []string{"stores=[{driver: memcached, server: start}]", "durability=D0", "phases=[{name: w, mix: {insert: 1}, operations: 5}]"}},
		"java.heap":          {path: "stores=[{driver: whalin, server: start, java: {heap: N}}]", sets: inJVM},
		"java.direct":        {path: "stores=[{driver: whalin, server: start, java: {direct: N}}]", sets: inJVM},
		"groups.batch":       {path: "phases.beside.groups.g.batch"},
		"groups.multi_read":  {path: "phases.around.groups.r.multi_read"},
		"groups.operations":  {path: "phases.beside.groups.g.operations"},
		"groups.milestones":  {path: "phases.beside.groups.g.milestones"},
		"scan.min":           {path: "phases.scan.scan.min"},
		"scan.max":           {path: "phases.scan.scan.max"},
		"rate":               {},
		"choose.memory":      {path: "phases.look={name: look, mix: {read: 1}, capacity: {objective: p99 < 5ms, choose: {rate: 100, memory: N}}}"},
		"choose.disk":        {path: "phases.look={name: look, mix: {read: 1}, capacity: {objective: p99 < 5ms, choose: {rate: 100, disk: N}}}"},
		"crash.cuts":         {path: "crash={kind: kill, cuts: N}"},
		"query.limit":        {path: "phases.scan.query.limit", sets: []string{"stores=[sqlite]", columns, query}},
	} {
		if !all[field] && field != "values.sizes.bytes" {
			t.Errorf("there is no whole number %s any more", field)
		}
		delete(all, field)
		try := func(number string) error {
			set := field + "=" + number
			switch {
			case c.path == "values.sizes":
				set = "values.sizes=[{weight: 1, bytes: " + number + "}]"
			case c.path == "stores":
				set = "stores=[bbolt, {driver: memcached, server: {start: true, count: " + number + "}}]"
			case c.path == "values.columns":
				set = "values.columns=[{name: a, value: \"x {i}\"}, {name: p, proof: " + number + "}]"
			case c.path == "stamps":
				set = "values.columns=[{name: a, value: \"x {i}\"}, {name: p, proof: 24}, {name: s, stamp: " + number + "}]"
			case strings.Contains(c.path, "N}"):
				set = strings.ReplaceAll(c.path, "N}", number+"}")
			case c.path != "":
				set = c.path + "=" + number
			}
			_, err := read.Load([]byte(countFile), "counts.yaml", append(c.sets, set), fakeDrivers())
			return err
		}
		for _, number := range []string{"-1", "0.5", "many"} {
			if err := try(number); err == nil || !namedRange.MatchString(err.Error()) {
				t.Errorf("%s: %s: no range in %v", field, number, err)
			}
		}
		found := namedRange.FindStringSubmatch(try("-1").Error())
		if found == nil {
			continue
		}
		least, _ := strconv.ParseUint(found[1], 10, 64)
		most, _ := strconv.ParseUint(found[2], 10, 64)
		if least > 0 && try(strconv.FormatUint(least-1, 10)) == nil {
			t.Errorf("%s: %d is accepted, though the error calls %d the least", field, least-1, least)
		}
		if most < math.MaxUint64 && try(strconv.FormatUint(most+1, 10)) == nil {
			t.Errorf("%s: %d is accepted, though the error calls %d the most", field, most+1, most)
		}
		if field != "records" { // 0 and 2^47 need files of their own
			for _, end := range []uint64{least, most} {
				if err := try(strconv.FormatUint(end, 10)); err != nil {
					t.Errorf("%s: %d should be allowed: %v", field, end, err)
				}
			}
		}
	}
	for field := range all {
		t.Errorf("the whole number %s is not tried here", field)
	}
}

func TestWholeNumbersMayBeWrittenInManyWays(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "1_000_000": 1e6, "1e6": 1e6, "1.5e3": 1500, "10k": 10_000, "1.5M": 1_500_000, "2g": 2e9, "18446744073709551.615k": math.MaxUint64, "1e18": 1e18, "1e19": 1e19, "18446744073709551615": math.MaxUint64} {
		if e := mustLoad(t, small, "seed="+text); e.Seed != want {
			t.Errorf("seed %s: %d, want %d", text, e.Seed, want)
		}
	}
	for _, text := range []string{"-1", "1.5", "1e-1", "0x10", "1e20", "18446744073709551616", "5B", "1KiB", "5t", "k", "10kk", "0.0001k", "18446744073709551.616k", "inf", "nan", "\"5\"", "1e99999"} {
		if _, err := read.Load([]byte(small), "small.yaml", []string{"seed=" + text}, fakeDrivers()); err == nil {
			t.Errorf("the seed %s is accepted", text)
		}
	}
}

// Some editors begin a file with a byte order mark.
func TestByteOrderMarkIsNoText(t *testing.T) {
	if e := mustLoad(t, "\ufeff"+small); e.Name != "small" {
		t.Errorf("the name is %q", e.Name)
	}
	_, err := read.Load([]byte("\ufeffnmae: x\n"), "bom.yaml", nil, fakeDrivers())
	if err == nil || !strings.HasPrefix(err.Error(), `bom.yaml:1:1: unknown field "nmae"`) {
		t.Errorf("%v", err)
	}
}

// Records are read back at the end of a trial whether or not reads are checked while the clock
// runs: both may be asked for.
func TestVerifyRecordsHoldWithoutVerify(t *testing.T) {
	for set, want := range map[string]uint64{"verify_records=100": 100, "verify_records=null": 0} {
		if e := mustLoad(t, small, "verify=false", set); e.Verify || e.VerifyRecords != want {
			t.Errorf("--set %s: verify %v, %d records", set, e.Verify, e.VerifyRecords)
		}
	}
}

func TestAmountsMayBeWrittenInManyWays(t *testing.T) {
	for _, c := range []struct {
		set  string
		got  func(*experiment.Experiment) any
		want any
	}{
		{"memory_limit=512mb", func(e *experiment.Experiment) any { return e.Cells[0].MemoryLimit }, int64(512e6)},
		{"memory_limit=512 mib", func(e *experiment.Experiment) any { return e.Cells[0].MemoryLimit }, int64(512 << 20)},
		{"disk_quota=1_000_000_000", func(e *experiment.Experiment) any { return e.Cells[0].DiskQuota }, int64(1e9)},
		{"values.bytes=4KB", func(e *experiment.Experiment) any { return e.Cells[0].ValueBytes }, 4000},
		{"stores.pebble-2.1.options.cache_bytes=8mib", func(e *experiment.Experiment) any { return e.Stores[1].Options["cache_bytes"] }, "8MiB"},
		{"phases.read.for=10 s", func(e *experiment.Experiment) any { return e.Phases[1].Duration }, 10 * time.Second},
		{"phases.read.for=2min", func(e *experiment.Experiment) any { return e.Phases[1].Duration }, 2 * time.Minute},
		{"phases.read.for=1h30m", func(e *experiment.Experiment) any { return e.Phases[1].Duration }, 90 * time.Minute},
		{"phases.read.rate=10k", func(e *experiment.Experiment) any { return e.Phases[1].Rate }, 10_000.0},
		{"phases.read.duration=3s", func(e *experiment.Experiment) any { return e.Phases[1].Duration }, 3 * time.Second},
		{"phases.read={name: read, mix: {read: 1}, ops: 10k, clients: 2}", func(e *experiment.Experiment) any {
			return []any{e.Phases[1].Operations, e.Phases[1].Threads}
		}, []any{uint64(10_000), 2}},
		{"clients=[2, 4]", func(e *experiment.Experiment) any { return e.Cells[len(e.Cells)-1].Threads }, 4},
		{"stores=[{engine: sqlite}]", func(e *experiment.Experiment) any { return e.Stores[0].Driver }, "sqlite"},
		{"values={size: 1kib}", func(e *experiment.Experiment) any { return e.Cells[0].ValueBytes }, 1024},
	} {
		if got := c.got(mustLoad(t, small, c.set)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("--set %s: %v, want %v", c.set, got, c.want)
		}
	}
}

func TestPasswordsAreNotEchoed(t *testing.T) {
	for _, endpoint := range []string{"admin:hunter2@h:1", "hunter2@h:1", "admin:a/hunter2=@h:1", "redis://admin:hunter2@h", "u:x,hunter2@h:1", "u:x]hunter2@h:1"} {
		for _, quote := range []string{"", "\"", "'"} {
			text := "name: x\nstores: [{driver: memcached, endpoints: [" + quote + endpoint + quote + "], nmae: 3}]\nphases: []\n"
			_, err := read.Load([]byte(text), "x.yaml", nil, fakeDrivers())
			_, setErr := read.Load([]byte(small), "x.yaml", []string{"stores.bbolt.endpoints=[" + quote + endpoint + quote + "]"}, fakeDrivers())
			if all := fmt.Sprint(err, setErr); err == nil || setErr == nil || strings.Contains(all, "hunter2") {
				t.Errorf("%s%s: %s", quote, endpoint, all)
			}
		}
	}
}
