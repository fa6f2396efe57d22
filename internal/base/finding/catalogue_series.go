package finding

// The codes of what a rate does over time. Package series makes them.
const (
	SeriesSteady       Code = "series-steady"
	SeriesCliff        Code = "series-cliff"
	SeriesStep         Code = "series-step"
	SeriesDecline      Code = "series-decline"
	SeriesRise         Code = "series-rise"
	SeriesHalf         Code = "series-half"
	SeriesStalls       Code = "series-stalls"
	SeriesDips         Code = "series-dips"
	SeriesEndsLow      Code = "series-ends-low"
	SeriesOscillation  Code = "series-oscillation"
	SeriesGap          Code = "series-gap"
	SeriesInterruption Code = "series-interruption"
	SeriesTooFew       Code = "series-too-few"
	SeriesTooEmpty     Code = "series-too-empty"
	SeriesTooNoisy     Code = "series-too-noisy"
	SeriesWanders      Code = "series-wanders"
	SeriesChangedWith  Code = "series-changed-with"
	SeriesMovesWith    Code = "series-moves-with"
)

const (
	seriesAt     = `{{if .records}}, at {{number .records}} records{{else if .bytes}}, at {{bytes .bytes}}{{end}}`
	seriesPeriod = `{{if .period_s}}, every {{moment .period_s}}{{else if .tested}}, not periodic{{end}}`
	seriesWhen   = `{{if .to_s}}between {{moment .at_s}} and {{moment .to_s}}{{else}}at {{moment .at_s}}{{if .high_s}} ({{moment .low_s}} to {{moment .high_s}}){{end}}{{end}}`
)

var _ = register(
	Entry{Code: SeriesSteady, Severity: Notice,
		Says: `Steady at {{rate .rate}}{{if .drops}}, drops included{{end}}. 90 % of the samples are between {{rate .low}} and {{rate .high}}.` +
			`{{if .warmup_s}} The warm-up ended at {{moment .warmup_s}}.{{end}}`,
		Many:    `{{list .Arms}}: steady, {{rate .min_rate}} to {{rate .max_rate}}.`,
		Example: Params{"rate": 99800.0, "low": 96000.0, "high": 104000.0, "warmup_s": 5.0}},
	Entry{Code: SeriesCliff, Severity: Warning, Answer: true,
		Says: `Throughput fell by {{percent .fall}} ` + seriesWhen + seriesAt + `: from {{rate .before}} to {{rate .after}}.` +
			`{{if .back_s}} From {{moment .back_s}} on it was {{rate .back}}.{{end}}`,
		Many:    `{{list .Arms}}: throughput fell by {{percent .min_fall}} to {{percent .max_fall}}, {{moment .min_at_s}} to {{moment .max_at_s}} after the start.`,
		Remedy:  "look at what changed at that time: memory, page faults, IO wait, compaction",
		Example: Params{"fall": 0.79, "at_s": 30.0, "low_s": 29.0, "high_s": 30.0, "records": 3.74e6, "before": 125000.0, "after": 26200.0}},
	Entry{Code: SeriesStep, Severity: Warning,
		Says: `Throughput {{if .up}}rose{{else}}fell{{end}} by {{percent .change}} ` + seriesWhen + seriesAt + `: from {{rate .before}} to {{rate .after}}.` +
			`{{if .back_s}} From {{moment .back_s}} on it was {{rate .back}}.{{end}}`,
		Many:    `{{list .Arms}}: throughput changed by {{percent .min_change}} to {{percent .max_change}} within 10 s.`,
		Example: Params{"change": 0.21, "up": true, "at_s": 30.0, "to_s": 36.0, "before": 100000.0, "after": 121000.0}},
	Entry{Code: SeriesDecline, Severity: Warning, Answer: true,
		Says:    `Throughput declined by {{percent .change}} from {{moment .at_s}} to {{moment .to_s}}: from {{rate .before}} to {{rate .after}}.`,
		Many:    `{{list .Arms}}: throughput declined by {{percent .min_change}} to {{percent .max_change}}.`,
		Remedy:  "compare at the amount of data that you will have",
		Example: Params{"change": 0.62, "at_s": 0.0, "to_s": 42.0, "before": 126000.0, "after": 50600.0}},
	Entry{Code: SeriesRise, Severity: Warning,
		Says:    `Throughput rose by {{percent .change}} from {{moment .at_s}} to {{moment .to_s}}: from {{rate .before}} to {{rate .after}}.`,
		Many:    `{{list .Arms}}: throughput rose by {{percent .min_change}} to {{percent .max_change}}.`,
		Remedy:  "run longer, until it stops rising",
		Example: Params{"change": 0.3, "at_s": 0.0, "to_s": 60.0, "before": 100000.0, "after": 130000.0}},
	Entry{Code: SeriesHalf, Severity: Notice,
		Says:    `Half of the early {{rate .early}} was lost for good at {{moment .at_s}}` + seriesAt + `; the last level is {{rate .late}}.`,
		Many:    `{{list .Arms}}: half of the early rate was lost after {{moment .min_at_s}} to {{moment .max_at_s}}.`,
		Example: Params{"early": 126000.0, "late": 11700.0, "at_s": 23.0, "records": 2.1e6}},
	Entry{Code: SeriesStalls, Severity: Warning,
		Says: `Stalled {{plural .count "time" "times"}} (below 10 % of the usual rate): first at {{moment .at_s}}, at most for {{moment .longest_s}}` + seriesPeriod + `.` +
			`{{if .dips}} {{plural .dips "shallower drop" "shallower drops"}} besides.{{end}}`,
		Many:    `{{list .Arms}}: stalls of up to {{moment .max_longest_s}}.`,
		Remedy:  "compare with compaction, flushes and host writes at these times; look at p99.9 and the maximum",
		Example: Params{"count": 20, "at_s": 7.0, "longest_s": 2.0, "period_s": 30.0, "dips": 2}},
	Entry{Code: SeriesDips, Severity: Notice,
		Says: `Dropped {{plural .count "time" "times"}} from {{moment .at_s}} on, to {{percent .left}} of the usual rate, for {{moment .seconds}}` + seriesPeriod + `.` +
			`{{if .back_s}} It was back at {{moment .back_s}}.{{else}} The drops take {{percent .share}} of the time.{{end}}`,
		Many:    `{{list .Arms}}: drops to {{percent .min_left}} to {{percent .max_left}} of the usual rate.`,
		Remedy:  "compare with compaction, flushes and host writes at these times; look at p99.9 and the maximum",
		Example: Params{"count": 101, "at_s": 671.0, "seconds": 5.0, "left": 0.29, "share": 0.14, "period_s": 29.1}},
	Entry{Code: SeriesEndsLow, Severity: Warning,
		Says:    `The series ends low: {{rate .after}} from {{moment .at_s}} on, {{rate .before}} before. Too short to tell a stall from a cliff.`,
		Many:    `{{list .Arms}}: the series end low.`,
		Remedy:  "run longer",
		Example: Params{"at_s": 117.0, "before": 100000.0, "after": 20000.0}},
	Entry{Code: SeriesOscillation, Severity: Warning, Answer: true,
		Says: `Throughput oscillates between {{rate .high}} ({{percent .high_share}} of the time) and {{rate .low}}, from {{moment .at_s}} to {{moment .to_s}}` +
			seriesPeriod + `. The mean describes neither.`,
		Many:    `{{list .Arms}}: throughput oscillates between two levels; the mean describes neither.`,
		Remedy:  "state both levels and their shares of the time",
		Example: Params{"high": 46500.0, "low": 5630.0, "high_share": 0.54, "at_s": 30.0, "to_s": 43.0}},
	Entry{Code: SeriesGap, Severity: Notice,
		Says:    `Nothing was sampled for {{moment .seconds}} in {{plural .count "gap" "gaps"}}, first at {{moment .at_s}}.`,
		Many:    `{{list .Arms}}: gaps in sampling.`,
		Example: Params{"seconds": 30.0, "count": 1, "at_s": 12.0}},
	Entry{Code: SeriesInterruption, Severity: Warning,
		Says:    `The process was stopped from outside for {{moment .seconds}}, first at {{moment .at_s}}. This time is left out.`,
		Many:    `{{list .Arms}}: processes were stopped from outside.`,
		Example: Params{"seconds": 3.0, "count": 1, "at_s": 12.0}},
	Entry{Code: SeriesTooFew, Severity: Notice,
		Says:    `inconclusive: {{plural .samples "sample" "samples"}}, at least {{.needed}} needed`,
		Many:    `{{.Count}} series are inconclusive: too few samples.`,
		Remedy:  "run longer, or sample more often",
		Example: Params{"samples": 3, "needed": 10}},
	Entry{Code: SeriesTooEmpty, Severity: Notice,
		Says:    `inconclusive: at least half of the {{.samples}} samples are empty`,
		Many:    `{{.Count}} series are inconclusive: half of their samples are empty.`,
		Remedy:  "use longer samples",
		Example: Params{"samples": 60}},
	Entry{Code: SeriesTooNoisy, Severity: Notice,
		Says:    `inconclusive: a change between {{percent .low}} and {{percent .high}} fits the {{.samples}} samples`,
		Many:    `{{.Count}} series are inconclusive: too noisy for their length.`,
		Remedy:  "run longer",
		Example: Params{"samples": 40, "low": -0.25, "high": 0.4}},
	Entry{Code: SeriesWanders, Severity: Warning,
		Says:    `inconclusive: the rate moves like a random walk; levels and slopes mean little`,
		Many:    `{{.Count}} series are inconclusive: they move like random walks.`,
		Remedy:  "run longer, alone on the machine",
		Example: Params{"samples": 200}},
	Entry{Code: SeriesChangedWith, Severity: Notice,
		Says:    `At {{moment .at_s}}, near the step, {{clean .resource}} {{if .up}}rose{{else}}fell{{end}} from {{number .before}} to {{number .after}}{{if .per_second}} a second{{end}}.`,
		Many:    `{{.Count}} resources changed near the step.`,
		Example: Params{"resource": "major_faults", "at_s": 30.0, "up": true, "before": 0.0, "after": 4210.0, "per_second": true}},
	Entry{Code: SeriesMovesWith, Severity: Notice,
		Says:    `{{clean .resource}} {{if .up}}rises and falls with{{else}}rises as{{end}} the rate{{if not .up}} falls{{end}}: detrended correlation {{number .rank}}; cause unknown.`,
		Many:    `{{.Count}} resources move with the rate; cause unknown.`,
		Example: Params{"resource": "cpu", "rank": 0.62, "up": true}},
)
