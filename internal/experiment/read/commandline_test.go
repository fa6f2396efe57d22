package read_test

import (
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
)

// What a command line asks for is what the experiment does; what has no equal is named.
func TestImportCommand(t *testing.T) {
	for _, test := range []struct {
		line  string
		notes []string
		is    func(e *experiment.Experiment) bool
	}{
		{"memtier_benchmark -s 127.0.0.1 -p 11211 -P memcache_text -t 2 -c 25 --ratio=1:4 --test-time=30 -d 100 --key-maximum 999 --hide-histogram --wait-ratio=1:2",
			[]string{"--hide-histogram is left out: it changes what is printed", "--wait-ratio=1:2 has no equal here", "nothing is loaded first"},
			func(e *experiment.Experiment) bool {
				p, c := e.Phases[0], e.Cells[0]
				return len(e.Phases) == 1 && p.Mix["read"] == 4 && p.Mix["upsert"] == 1 && p.Duration.Seconds() == 30 && c.Threads == 50 && c.Records == 1000 &&
					c.ValueBytes == 100 && e.Stores[0].Endpoints[0] == "127.0.0.1:11211" && e.Keys.Prefix == experiment.KeyPlaceholder+"memtier-"
			}},
		{"/usr/bin/memtier_benchmark --protocol memcache_text --ratio 0:1 --key-pattern Z:Z --key-zipf-exp=1.1 -c 5 -n 500 --data-size-list=10:1,100:3 --pipeline=1 -R",
			[]string{"a load of all keys stands first", "no server is named"},
			func(e *experiment.Experiment) bool {
				p := e.Phases[1]
				return e.Phases[0].Load && p.Operations == 500*20 && p.Order.Distribution == "zipfian" && p.Order.Theta == 1.1 && len(e.Values.Sizes) == 2 && e.Values.RepeatedPermille == 0
			}},
		{"pgbench -S -c 8 -j 2 -T 20 -s 10 -n -M prepared -P 1 bench", []string{"--jobs=2 has no equal", "the database bench is left out", "--progress=1 is left out"},
			func(e *experiment.Experiment) bool {
				return e.Phases[1].Mix["read"] == 100 && e.Cells[0].Records == 1_000_000 && e.Cells[0].Threads == 8 && e.Phases[1].Duration.Seconds() == 20
			}},
		{"pgbench -c 4 -t 100 -R 50 -C", []string{"tpcb-like is a transaction"},
			func(e *experiment.Experiment) bool {
				return e.Phases[1].Mix["read_modify_write"] == 100 && e.Phases[1].Operations == 400 && e.Phases[1].Rate == 50 && e.Cells[0].Handles == experiment.PerOperation
			}},
		{"./db_bench --benchmarks=fillseq,readrandom,overwrite,readrandomwriterandom,seekrandom,compact --num=20000 --reads=5000 --threads=2 --value_size=400 --key_size=20 --compression_ratio=0.25 --sync=1 --seek_nexts=10 --cache_size=8388608 --db=/tmp/x",
			[]string{"--benchmarks=compact has no equal here", "--cache-size=8388608 has no equal: it is an option of the store", "--db=/tmp/x has no equal: each trial has a directory of its own"},
			func(e *experiment.Experiment) bool {
				return len(e.Phases) == 5 && e.Phases[0].Load && e.Phases[1].Operations == 10_000 && e.Phases[2].Mix["upsert"] == 100 && e.Phases[3].Mix["read"] == 90 && e.Phases[4].Scan.Max == 10 &&
					e.Keys.Bytes == 20 && e.Cells[0].ValueBytes == 400 && e.Values.RepeatedPermille == 750 && e.Cells[0].Durability == "D3"
			}},
		{"db_bench --benchmarks fillrandom --num 1000 --disable_wal=true --batch_size=10", nil,
			func(e *experiment.Experiment) bool {
				return e.Phases[0].Mix["upsert"] == 100 && e.Phases[0].Operations == 1000 && e.Phases[0].Batch == 10 && e.Cells[0].Durability == "D0"
			}},
		{"redis-benchmark -t set,get,lpush -n 5000 -c 20 -r 700 -d 64 -q", []string{"-t lpush has no equal", "--quiet is left out"},
			func(e *experiment.Experiment) bool {
				return len(e.Phases) == 2 && e.Phases[0].Mix["upsert"] == 100 && e.Phases[1].Mix["read"] == 100 && e.Phases[1].Operations == 5000 && e.Cells[0].Records == 700 &&
					e.Cells[0].Threads == 20 && e.Keys.Digits == 12
			}},
		{"redis-benchmark -t get -k 0", []string{"without -r all requests are for one key", "a load of all keys stands before get"},
			func(e *experiment.Experiment) bool {
				return e.Phases[0].Load && e.Cells[0].Handles == experiment.PerOperation
			}},
	} {
		text, err := read.ImportCommand(test.line)
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		for _, note := range test.notes {
			if !strings.Contains(string(text), "#  * "+note) && !strings.Contains(string(text), note) {
				t.Errorf("%s: no note %q in\n%s", test.line, note, text)
			}
		}
		// The fakes have no server that is called redis or postgres, and no rocksdb.
		loadable := strings.NewReplacer("driver: redis,", "driver: memcached,", "driver: postgres,", "driver: memcached,", "[rocksdb]", "[pebble]").Replace(string(text))
		if strings.Contains(loadable, "driver: memcached") {
			loadable = strings.ReplaceAll(loadable, "durability: D3", "durability: D0")
		}
		e, err := read.Load([]byte(loadable), "imported.yaml", nil, fakeDrivers())
		if err != nil {
			t.Errorf("%s: %v\n%s", test.line, err, text)
			continue
		}
		if !test.is(e) {
			t.Errorf("%s became\n%s", test.line, text)
		}
	}
}

func TestImportCommandRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"":                              "an empty command line",
		"wrk -t 2":                      `"wrk" is not known`,
		"redis-bench -n 1":              "redis-benchmark",
		"memtier_benchmark --ratio='1":  "within quotation marks",
		"memtier_benchmark --ratio=1":   "--ratio is SETS:GETS",
		"pgbench -f my.sql":             "a script of one's own",
		"pgbench -i -s 10":              "-i makes the tables",
		"redis-benchmark -t lpush":      "none of the tests",
		"redis-benchmark eval 'x' 0":    "a command of its own",
		"db_bench --benchmarks=compact": "none of the benchmarks",
		"memtier_benchmark --key-minimum=5 --key-maximum=4": "is below",
	} {
		if _, err := read.ImportCommand(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func FuzzImportCommand(f *testing.F) {
	f.Add("memtier_benchmark -t2 --ratio=1:1")
	f.Add("db_bench --benchmarks=fillseq -n 'x")
	f.Fuzz(func(t *testing.T, line string) {
		text, err := read.ImportCommand(line)
		if err == nil && !strings.HasPrefix(string(text), "# Made from: ") {
			t.Errorf("%q", text)
		}
	})
}
