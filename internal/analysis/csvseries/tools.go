package csvseries

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tool is a program whose own output is a series, though no table with a line of names.
type tool struct {
	name  string // of what it prints, for a note
	is    func(head []byte) bool
	write func(from *bufio.Reader, to *bufio.Writer) error // as CSV
}

// progress are lines among others: of each that is one, its groups are the fields of names.
func progress(name, names, line string) tool {
	form := regexp.MustCompile(line)
	return tool{name,
		func(head []byte) bool {
			found := 0
			for l := range bytes.Lines(head) {
				if form.Match(bytes.TrimRight(l, "\r\n")) {
					found++
				}
			}
			return found > 1
		},
		func(from *bufio.Reader, to *bufio.Writer) error {
			if _, err := fmt.Fprintln(to, names); err != nil {
				return err
			}
			return eachLine(from, func(l string) error {
				fields := form.FindStringSubmatch(l)
				if fields == nil {
					return nil
				}
				_, err := fmt.Fprintln(to, strings.Join(fields[1:], ","))
				return err
			})
		}}
}

// eachLine calls for each line, without its end.
func eachLine(from *bufio.Reader, do func(string) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, lineBytesMax)
	for lines.Scan() {
		if l := strings.TrimRight(lines.Text(), "\r"); l != "" {
			if err := do(l); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// secondsMax bounds a series of requests that is counted by the second: 11 days.
const secondsMax = 1_000_000

// requests are lines of one request each, which are counted by the second: at has the second and how
// many requests a line is.
func requests(name string, is func(head []byte) bool, at func(line string) (second int64, count float64,
	ok bool)) tool {
	return tool{name, is, func(from *bufio.Reader, to *bufio.Writer) error {
		counts := map[int64]float64{}
		err := eachLine(from, func(l string) error {
			second, count, ok := at(l)
			if !ok {
				return nil
			}
			if counts[second] += count; len(counts) > secondsMax {
				return fmt.Errorf("the requests are of more than %d seconds", secondsMax)
			}
			return nil
		})
		if err != nil || len(counts) == 0 {
			return cmp.Or(err, fmt.Errorf("no request of %s can be read", name))
		}
		seconds := slices.Sorted(maps.Keys(counts))
		first, last := seconds[0], seconds[len(seconds)-1]
		if last-first > secondsMax {
			return fmt.Errorf("the requests go over %d seconds: at most %d", last-first, secondsMax)
		}
		if _, err := fmt.Fprintln(to, "time_s,rate"); err != nil {
			return err
		}
		for s := first; s <= last; s++ {
			if _, err := fmt.Fprintf(to, "%d,%g\n", s-first+1, counts[s]); err != nil {
				return err
			}
		}
		return nil
	}}
}

var vegetaLine = regexp.MustCompile(`^\d{19},\d+,\d+,\d+,\d+,`)

// tools are recognized by their output. Prometheus' answer is JSON and needs none.
var tools = []tool{
	// 2026-11-26 10:00:01:000 10 sec: 12345 operations; 1234.5 current ops/sec; est completion in …
	progress("YCSB's status lines", "time_s,rate", `(?:^|\s)(\d+) sec: \d+ operations; ([\d.]+) current ops/sec;`),
	// progress: 5.0 s, 1234.5 tps, lat 2.345 ms stddev 0.678, 0 failed
	progress("pgbench's progress lines", "time_s,rate,latency_ms", `^progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+|NaN) ms`),
	// [ 10s ] thds: 8 tps: 123.45 qps: 2469.00 (r/w/o: 1728.30/493.80/246.90) lat (ms,95%): 71.83
	// err/s: 0.00 reconn/s: 0.00
	progress("sysbench's progress lines", "time_s,rate,queries_per_s,latency_ms,errors_per_s",
		`^\[ *(\d+)s *\] thds: \d+ tps: ([\d.]+) qps: ([\d.]+) .*lat \(ms,\d+%\): ([\d.]+) err/s:? ([\d.]+)`),
	requests("k6's CSV output", func(head []byte) bool { return bytes.HasPrefix(head, []byte("metric_name,timestamp,metric_value")) }, k6Request),
	requests("vegeta's CSV output", vegetaLine.Match, func(line string) (second int64, count float64, ok bool) {
		stamp, _, _ := strings.Cut(line, ",")
		ns, err := strconv.ParseInt(stamp, 10, 64)
		return ns / 1e9, 1, err == nil && vegetaLine.MatchString(line)
	}),
	{"memtier_benchmark's JSON", func(head []byte) bool { return isJSON(head) && bytes.Contains(head, []byte(`"ALL STATS"`)) }, writeMemtier},
}

// k6Request is a request of k6, which writes a line for each value of each metric. Its timestamps are
// seconds, or microseconds where it was asked for.
func k6Request(line string) (second int64, count float64, ok bool) {
	fields := strings.SplitN(line, ",", 4)
	if len(fields) < 3 || fields[0] != "http_reqs" {
		return 0, 0, false
	}
	at, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	if at > 1e14 {
		at /= 1e6
	}
	count, err = strconv.ParseFloat(fields[2], 64)
	return at, count, err == nil && count >= 0 && count < numberMax
}

// memtierBytesMax bounds its document, which has a line of statistics for each second.
const memtierBytesMax = 64 << 20

func writeMemtier(from *bufio.Reader, to *bufio.Writer) error {
	var document struct {
		All struct {
			Totals struct {
				Series map[string]struct {
					Count float64
					MS    *float64 `json:"Average Latency"`
				} `json:"Time-Serie"`
			}
		} `json:"ALL STATS"`
	}
	if err := json.NewDecoder(io.LimitReader(from, memtierBytesMax)).Decode(&document); err != nil {
		return fmt.Errorf("JSON that can't be read: %w", err)
	}
	counts := document.All.Totals.Series
	if len(counts) == 0 {
		return errors.New(`memtier_benchmark's JSON has no "Time-Serie" of its totals`)
	}
	bySecond := map[int]string{}
	for name := range counts {
		second, err := strconv.Atoi(name)
		if err != nil || second < 0 {
			return fmt.Errorf("memtier_benchmark's JSON has a second %q", name)
		}
		bySecond[second] = name
	}
	if _, err := fmt.Fprintln(to, "time_s,rate,latency_ms"); err != nil {
		return err
	}
	for _, second := range slices.Sorted(maps.Keys(bySecond)) {
		at := counts[bySecond[second]]
		latency := ""
		if at.MS != nil {
			latency = strconv.FormatFloat(*at.MS, 'g', -1, 64)
		}
		if _, err := fmt.Fprintf(to, "%d,%g,%s\n", second+1, at.Count, latency); err != nil {
			return err
		}
	}
	return nil
}

// translated returns what a known tool printed as CSV, and whose it is; "" with the reader as it is: no
// tool that is known.
func translated(from *bufio.Reader) (csv *bufio.Reader, whose string, err error) {
	head, _ := from.Peek(headBytes)
	for _, t := range tools {
		if !t.is(head) {
			continue
		}
		var whole translation
		to := bufio.NewWriter(&whole)
		if err := cmp.Or(t.write(from, to), to.Flush()); err != nil {
			return nil, t.name, err
		}
		return bufio.NewReaderSize(&whole, headBytes), t.name, nil
	}
	return from, "", nil
}

// translation holds what a tool's output is as CSV: a line a second, or so.
type translation struct{ bytes.Buffer }

const seriesBytesMax = 64 << 20

func (s *translation) Write(p []byte) (int, error) {
	if s.Len()+len(p) > seriesBytesMax {
		return 0, fmt.Errorf("the series has more than %d bytes", seriesBytesMax)
	}
	return s.Buffer.Write(p)
}
