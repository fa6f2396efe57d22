package csvseries

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const memtierJSON = `{"configuration": {"server": "localhost"}, "ALL STATS": {"Sets": {"Time-Serie": {"0": {"Count": 1}}},
 "Totals": {"Count": 600, "Time-Serie": {"0": {"Count": 100, "Average Latency": 0.5}, "1": {"Count": 200}, "2": {"Count": 300, "p99.00": 1.5}, "10": {"Count": 5}}}}}`

func TestRead_what_tools_print(t *testing.T) {
	vegeta := ""
	for i, second := range []int{10, 10, 10, 11, 13} {
		vegeta += fmt.Sprintf("17000000%d%09d,200,%d,0,5,,\"YQ==\",,%d,GET,http://x/,\n", second, i, 1000+i, i)
	}
	for _, c := range []struct {
		name, text, whose string
		ends, rates       []float64
	}{
		{"ycsb", "java -cp x\n[OVERALL], RunTime(ms), 5000\n2026-11-26 10:00:00:000 0 sec: 0 operations; est completion in 0 second\n" +
			"2026-11-26 10:00:10:001 10 sec: 12345 operations; 1234.5 current ops/sec; est completion in 5 seconds [READ: Count=6172, Max=5000, Avg=1.5]\n" +
			"2026-11-26 10:00:20:001 20 sec: 32345 operations; 2000 current ops/sec; [READ: Count=6172]\n" +
			"2026-11-26 10:00:30:001 30 sec: 32445 operations; 10 current ops/sec; [CLEANUP: Count=8]\n",
			"YCSB's status lines", []float64{10, 20, 30}, []float64{1234.5, 2000, 10}},
		{"pgbench", "pgbench (15.1)\nstarting vacuum...end.\nprogress: 5.0 s, 1234.5 tps, lat 2.345 ms stddev 0.678, 0 failed\r\n" +
			"progress: 10.0 s, 0.0 tps, lat NaN ms stddev NaN, 0 failed\nprogress: 15.0 s, 99.5 tps, lat 2.345 ms stddev 0.678\ntps = 5\n",
			"pgbench's progress lines", []float64{5, 10, 15}, []float64{1234.5, 0, 99.5}},
		{"sysbench", "sysbench 1.0.20\n\n[ 10s ] thds: 8 tps: 123.45 qps: 2469.00 (r/w/o: 1728.30/493.80/246.90) lat (ms,95%): 71.83 err/s: 0.00 reconn/s: 0.00\n" +
			"[ 20s ] thds: 8 tps: 100.00 qps: 2000.00 (r/w/o: 1/2/3) lat (ms,95%): 80.00 err/s: 1.50 reconn/s: 0.00\n",
			"sysbench's progress lines", []float64{10, 20}, []float64{123.45, 100}},
		{"k6", "metric_name,timestamp,metric_value,check\nhttp_reqs,1700000010,1.000000,\nhttp_req_duration,1700000010,5.5,\nhttp_reqs,1700000011,1.000000,\nhttp_reqs,1700000010,1.000000,\nhttp_reqs,1700000013,1.000000,\n",
			"k6's CSV output", []float64{1, 2, 3, 4}, []float64{2, 1, 0, 1}},
		{"vegeta", vegeta, "vegeta's CSV output", []float64{1, 2, 3, 4}, []float64{3, 1, 0, 1}},
		{"memtier", memtierJSON, "memtier_benchmark's JSON", []float64{1, 2, 3, 11}, []float64{100, 200, 300, 5}},
	} {
		s, notes, err := Read(strings.NewReader(c.text), Columns{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(s.Ends, c.ends) || !slices.Equal(s.Rates, c.rates) {
			t.Errorf("%s: %v at %v, want %v at %v", c.name, s.Rates, s.Ends, c.rates, c.ends)
		}
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "read as "+c.whose) }) {
			t.Errorf("%s: notes %q", c.name, notes)
		}
	}
}

// One line that looks like a tool's is none, and what a tool can't have printed is refused.
func TestRead_what_tools_do_not_print(t *testing.T) {
	for text, says := range map[string]string{
		"time_s,rate\n1,2\n2,3\nprogress: 5.0 s, 1 tps, lat 2 ms\n":                   "line 4",
		"metric_name,timestamp,metric_value\nvus,1700000010,1\n":                      "no request of k6",
		"metric_name,timestamp,metric_value\nhttp_reqs,1,1\nhttp_reqs,1700000010,1\n": "the requests go over",
		`{"ALL STATS": {"Totals": {"Time-Serie": {}}}}`:                               `no "Time-Serie"`,
		`{"ALL STATS": {"Totals": {"Time-Serie": {"-1": {"Count": 1}}}}}`:             `a second "-1"`,
		`{"ALL STATS": {"Totals": {"Time-Serie": {"0": {"Count": 1}`:                  "can't be read",
	} {
		if s, _, err := Read(strings.NewReader(text), Columns{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v, error %v, expected %q", text, s.Rates, err, says)
		}
	}
}
