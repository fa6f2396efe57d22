package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/base/format"
	"assay/internal/experiment/imitation"
	"assay/internal/experiment/recording"
)

// profiled is what assay profile --json prints.
type profiled struct {
	Version int `json:"version"`
	*imitation.Profile
}

// profileFlags say which part of a recording is looked at, and how it is read.
type profileFlags struct {
	form, columns, sample string
	from, until           time.Duration
	write                 string
	stores                []string
	asJSON                bool
}

func profileCommand() *cobra.Command {
	var f profileFlags
	c := &cobra.Command{
		Use:   "profile FILE",
		Short: "Say what recorded traffic is like, and write an experiment that imitates it",
		Long: `Reads a recording of requests (a cache trace of Twitter's, CacheLib's or libCacheSim's,
what Redis prints for MONITOR, RocksDB's printed trace, or CSV; gzip and zstd too) and
says how many requests came when, what they did, to how many keys, how these are
spread, and what caches would have answered.

--write makes an experiment that imitates it: a mix, an order, lengths and a rate. How
far that is off stands in it. An experiment with replay: FILE plays the recording
itself, as assay run DRIVER --replay FILE does.`,
		Example: `  assay profile requests.csv.zst
  assay profile monitor.txt --json
  assay profile requests.csv --write imitation.yaml --stores redis@start,pebble
  assay profile odd.csv --columns time=ts,op=verb,key=id,size=len,unit=ms --until 60s`,
		Args: takes(1, 1, "one recording"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error { return f.profile(c.OutOrStdout(), args[0]) },
	}
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON: docs/commands.schema.json")
	c.Flags().StringVar(&f.write, "write", "", "write an experiment that imitates the recording to a new `file`")
	c.Flags().StringSliceVar(&f.stores, "stores", []string{"memory"}, "of --write: the `stores`, with commas between")
	c.Flags().StringVar(&f.form, "as", "", "the recording's `form`, where it is not found by looking: "+strings.Join(recording.Formats, ", "))
	c.Flags().StringVar(&f.columns, "columns", "", "of a CSV file, which `column` is what: time=NAME,op=NAME,key=NAME,size=NAME,ttl=NAME,unit=ms; or numbers, from 1 on")
	c.Flags().DurationVar(&f.from, "from", 0, "leave out requests before that `time`, since the first one")
	c.Flags().DurationVar(&f.until, "until", 0, "leave out requests from that `time` on")
	c.Flags().StringVar(&f.sample, "sample", "", "look at one key in so many: `1/100`")
	must(c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(recording.Formats, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func (f *profileFlags) profile(out io.Writer, name string) error {
	s, err := f.selection(name)
	if err != nil {
		return usage(err)
	}
	p, err := imitation.Of(s, nil)
	if err != nil {
		return usage(err)
	}
	if f.write != "" {
		err := writeNew(f.write, out, func(w io.Writer) error {
			_, err := io.WriteString(w, p.Experiment(f.stores))
			return err
		})
		if err != nil {
			return usage(fmt.Errorf("--write: %w", err))
		}
		if isStandardOutput(f.write) {
			return nil
		}
	}
	if f.asJSON {
		return failed(writeForm(out, profiled{formsVersion, p}))
	}
	_, err = io.WriteString(out, profileText(p, f.write))
	return failed(err)
}

func (f *profileFlags) selection(name string) (recording.Selection, error) {
	s := recording.Selection{File: name, Format: recording.Format(f.form), From: f.from, Until: f.until}
	if f.form != "" && !slices.Contains(recording.Formats, f.form) {
		return s, fmt.Errorf("--as %s: expected %s", f.form, strings.Join(recording.Formats, ", "))
	}
	if f.from < 0 || f.until < 0 || f.until > 0 && f.until <= f.from {
		return s, errors.New("--from and --until are times since the first request, the second after the first")
	}
	if f.sample != "" {
		of, ok := strings.CutPrefix(f.sample, "1/")
		n, err := strconv.ParseUint(of, 10, 32)
		if !ok || err != nil || n == 0 {
			return s, fmt.Errorf("--sample %s: expected 1/N, such as 1/100", f.sample)
		}
		s.OneIn = n
	}
	var err error
	s.Columns, err = columnsOf(f.columns)
	return s, err
}

// columnsOf reads time=NAME,op=NAME …
func columnsOf(text string) (c recording.Columns, err error) {
	fields := map[string]*string{"time": &c.Time, "op": &c.Operation, "key": &c.Key, "key_length": &c.KeyBytes, "size": &c.Bytes, "ttl": &c.TTL, "count": &c.Count, "unit": &c.Unit}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		name, column, ok := strings.Cut(part, "=")
		field := fields[name]
		if !ok || field == nil || column == "" {
			return c, fmt.Errorf("--columns %s: expected time=NAME and op, key, key_length, size, ttl, count, unit likewise", part)
		}
		*field = column
	}
	if c.Unit != "" && !slices.Contains(recording.Units, c.Unit) {
		return c, fmt.Errorf("--columns unit=%s: expected %s", c.Unit, strings.Join(recording.Units, ", "))
	}
	return c, nil
}

// profileText is the one screen of a profile.
func profileText(p *imitation.Profile, written string) string {
	var b strings.Builder
	line := func(name, text string, args ...any) { fmt.Fprintf(&b, "%-11s %s\n", name, fmt.Sprintf(text, args...)) }
	s := &p.Summary
	seconds := float64(s.DurationNS) / 1e9
	line("Recording", "%s: %s, %s %s", format.Clean(filepath.Base(p.File)), s.Parsed.Format, format.Count(s.Parsed.Lines), map[bool]string{true: "records", false: "lines"}[s.Parsed.Format == recording.Oracle])
	rates := perSecond(s)
	line("Requests", "%s in %s: %s", format.Count(s.Requests), format.Seconds(seconds), format.Rate(p.Rate))
	line("", "%s", format.Spark(rates, 0, slices.Max(rates)))
	for _, burst := range p.Bursts {
		line("", "within %s up to %s (%s of the mean); counts vary %s times as much as independent requests do", format.Seconds(burst.WidthS),
			format.Rate(burst.Peak), format.Factor(burst.Peak/p.Rate), format.Number(burst.Dispersion))
	}
	var mix []string
	for o := recording.Get; o <= recording.Delete; o++ {
		if n := s.Operations[o.String()]; n > 0 {
			mix = append(mix, fmt.Sprintf("%s %s", format.Percent(float64(n)/float64(s.Requests)), o))
		}
	}
	line("Mix", "%s", strings.Join(mix, ", "))
	line("Keys", "%s; %s asked for once; the most popular one has %s of the requests", format.Count(s.Keys), format.Percent(p.Keys.Once), format.Percent(p.Keys.MostOfOne))
	line("", "1 %% of the keys has %s of the requests, 10 %% have %s", format.Percent(p.Keys.Top1), format.Percent(p.Keys.Top10))
	line("", "a zipfian of theta %v fits best, and is off by %s of the requests at most", p.Keys.Theta, format.Percent(p.Keys.Off))
	if s.KeyBytesMax > 0 {
		line("Key length", "%d to %s B, mean %s B", s.KeyBytesMin, format.Count(uint64(s.KeyBytesMax)), format.Tenths(s.KeyBytesMean))
	}
	if v := p.Values; v.Max > 0 {
		line("Values", "mean %s, p1 %s, p50 %s, p99 %s, longest %s", format.Bytes(v.Mean), format.Bytes(float64(v.P1)), format.Bytes(float64(v.P50)), format.Bytes(float64(v.P99)), format.Bytes(float64(v.Max)))
	} else {
		line("Values", "the recording has no lengths")
	}
	var reuse []string
	for _, r := range p.Reuse {
		reuse = append(reuse, fmt.Sprintf("%s of the keys: %s", format.Percent(r.KeysShare), format.Percent(r.HitRate)))
	}
	line("Reuse", "an LRU cache of %s would answer", strings.Join(reuse[:2], ", "))
	line("", "%s", strings.Join(reuse[2:], ", "))
	if s.TTLs > 0 {
		var ttls []string
		for _, t := range p.TTLs {
			ttls = append(ttls, fmt.Sprintf("%s (%s)", format.Duration(time.Duration(t.Seconds)*time.Second), format.Count(t.Requests)))
		}
		line("TTLs", "%s requests have one, most often %s", format.Count(s.TTLs), strings.Join(ttls, ", "))
	}
	for _, left := range s.Parsed.Left {
		line("Left out", "%s: %s (the first is line %s)", format.Count(left.Count), left.Why, format.Count(left.First))
	}
	if s.Parsed.Late > 0 {
		line("Late", "%s requests have a time before that of the line above", format.Count(s.Parsed.Late))
	}
	i := &p.Imitation
	line("Imitation", "hit rates differ by at most %s points, gaps by %s, written lengths by %s", format.Tenths(100*i.Hits), format.Percent(i.Gaps), format.Percent(i.Distances.Sizes))
	if written != "" {
		line("", "wrote %s; assay run %s --dry-run shows what it would do", written, written)
	} else {
		line("", "assay profile %s --write my.yaml writes it; replay: %s plays the recording itself", p.File, p.File)
	}
	return b.String()
}

// perSecond are the rates of a recording over time, in as many steps as a line has room for.
func perSecond(s *recording.Summary) (rates []float64) {
	const steps = 60
	n := len(s.Counts)
	for k := range min(steps, n) {
		from, to := n*k/min(steps, n), n*(k+1)/min(steps, n)
		sum := 0.0
		for _, c := range s.Counts[from:to] {
			sum += float64(c)
		}
		rates = append(rates, sum/float64(to-from))
	}
	return rates
}
