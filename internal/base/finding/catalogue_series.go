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
	seriesIf     = `{{if .p}}; p = {{printf "%.1g" .p}} if the points are independent{{end}}`
	seriesWhen   = `{{if .to_s}}between {{moment .at_s}} and {{moment .to_s}}{{else}}at {{moment .at_s}}{{if .high_s}} ({{moment .low_s}} to {{moment .high_s}}){{end}}{{end}}`
)

var _ = register(
	Entry{Example: SeriesSteadyParams{Rate: 99800.0, Low: 96000.0, High: 104000.0, WarmupS: Known(5.0)}, Severity: Notice,
		Says: `Steady at {{rate .rate}}{{if .drops}}, drops included{{end}}. 90 % of the samples are between {{rate .low}} and {{rate .high}}.` +
			`{{if .warmup_s}} The warm-up ended at {{moment .warmup_s}}.{{end}}`,
		Many: `{{list .Arms}}: steady, {{rate .min_rate}} to {{rate .max_rate}}.`},
	Entry{Example: SeriesCliffParams{SeriesStepParams: SeriesStepParams{SeriesChange: SeriesChange{AtS: 30.0, Records: Known(3.74e6), Before: 125000.0, After: 26200.0, Change: 0.79}, LowS: 29.0, HighS: 30.0}, Fall: 0.79}, Severity: Warning, Answer: true,
		Says: `Throughput fell by {{percent .fall}} ` + seriesWhen + seriesAt + `: from {{rate .before}} to {{rate .after}}` + seriesIf + `.` +
			`{{if .back_s}} From {{moment .back_s}} on it was {{rate .back}}.{{end}}`,
		Many:   `{{list .Arms}}: throughput fell by {{percent .min_fall}} to {{percent .max_fall}}, {{moment .min_at_s}} to {{moment .max_at_s}} after the start.`,
		Remedy: "look at what changed at that time: memory, page faults, IO wait, compaction"},
	Entry{Example: SeriesStepParams{SeriesChange: SeriesChange{Change: 0.21, AtS: 30.0, Before: 100000.0, After: 121000.0}, Up: true, ToS: Known(36.0)}, Severity: Warning,
		Says: `Throughput {{if .up}}rose{{else}}fell{{end}}{{if .before}} by {{percent .change}}{{end}} ` + seriesWhen + seriesAt +
			`: from {{rate .before}} to {{rate .after}}` + seriesIf + `.` +
			`{{if .back_s}} From {{moment .back_s}} on it was {{rate .back}}.{{end}}`,
		Many: `{{list .Arms}}: throughput changed by {{percent .min_change}} to {{percent .max_change}} within 10 s.`},
	Entry{Example: SeriesDeclineParams{SeriesChange: SeriesChange{Change: 0.62, AtS: 0.0, Before: 126000.0, After: 50600.0}, ToS: 42.0}, Severity: Warning, Answer: true,
		Says:   `Throughput declined by {{percent .change}} from {{moment .at_s}} to {{moment .to_s}}: from {{rate .before}} to {{rate .after}}` + seriesIf + `.`,
		Many:   `{{list .Arms}}: throughput declined by {{percent .min_change}} to {{percent .max_change}}.`,
		Remedy: "compare at the amount of data that you will have"},
	Entry{Example: SeriesRiseParams{SeriesChange: SeriesChange{Change: 0.3, AtS: 0.0, Before: 100000.0, After: 130000.0}, ToS: 60.0}, Severity: Warning,
		Says:   `Throughput rose by {{percent .change}} from {{moment .at_s}} to {{moment .to_s}}: from {{rate .before}} to {{rate .after}}` + seriesIf + `.`,
		Many:   `{{list .Arms}}: throughput rose by {{percent .min_change}} to {{percent .max_change}}.`,
		Remedy: "run longer, until it stops rising"},
	Entry{Example: SeriesHalfParams{Early: 126000.0, Late: 11700.0, AtS: 23.0, Records: Known(2.1e6)}, Severity: Notice,
		Says: `Throughput fell below half of the early {{rate .early}} at {{moment .at_s}}` + seriesAt + `, and stayed there; the last level is {{rate .late}}.`,
		Many: `{{list .Arms}}: throughput fell below half of the early rate after {{moment .min_at_s}} to {{moment .max_at_s}}, and stayed there.`},
	Entry{Example: SeriesStallsParams{SeriesDrops: SeriesDrops{Count: 20, AtS: 7.0, LongestS: 2.0, SeriesPeriod: SeriesPeriod{PeriodS: Known(30.0)}}, Dips: 2}, Severity: Warning,
		Says: `Stalled {{plural .count "time" "times"}} (below 10 % of the usual rate): first at {{moment .at_s}}, at most for {{moment .longest_s}}` + seriesPeriod + `.` +
			`{{if .dips}} {{plural .dips "shallower drop" "shallower drops"}} besides.{{end}}`,
		Many:   `{{list .Arms}}: stalls of up to {{moment .max_longest_s}}.`,
		Remedy: "compare with compaction, flushes and host writes at these times; look at p99.9 and the maximum"},
	Entry{Example: SeriesDipsParams{SeriesDrops: SeriesDrops{Count: 101, AtS: 671.0, Seconds: 5.0, Left: 0.29, Share: 0.14, SeriesPeriod: SeriesPeriod{PeriodS: Known(29.1)}}}, Severity: Notice,
		Says: `Dropped {{plural .count "time" "times"}} from {{moment .at_s}} on, to {{percent .left}} of the usual rate, for {{moment .seconds}}` + seriesPeriod + `.` +
			`{{if .back_s}} It was back at {{moment .back_s}}.{{else}} The drops take {{percent .share}} of the time.{{end}}`,
		Many:   `{{list .Arms}}: drops to {{percent .min_left}} to {{percent .max_left}} of the usual rate.`,
		Remedy: "compare with compaction, flushes and host writes at these times; look at p99.9 and the maximum"},
	Entry{Example: SeriesEndsLowParams{AtS: 117.0, Before: 100000.0, After: 20000.0}, Severity: Warning,
		Says:   `The series ends low: {{rate .after}} from {{moment .at_s}} on, {{rate .before}} before. Too short to tell a stall from a cliff.`,
		Many:   `{{list .Arms}}: the series end low.`,
		Remedy: "run longer"},
	Entry{Example: SeriesOscillationParams{SeriesChange: SeriesChange{AtS: 30.0}, ToS: 43.0, High: 46500.0, Low: 5630.0, HighShare: 0.54}, Severity: Warning, Answer: true,
		Says: `Throughput oscillates between {{rate .high}} ({{percent .high_share}} of the time) and {{rate .low}}, from {{moment .at_s}} to {{moment .to_s}}` +
			seriesPeriod + `. The mean describes neither.`,
		Many:   `{{list .Arms}}: throughput oscillates between two levels; the mean describes neither.`,
		Remedy: "state both levels and their shares of the time"},
	Entry{Example: MissingParams{Code: SeriesGap, Seconds: 30.0, Count: 1, AtS: 12.0}, Severity: Notice,
		Says: `Nothing was sampled for {{moment .seconds}} in {{plural .count "gap" "gaps"}}, first at {{moment .at_s}}.`,
		Many: `{{list .Arms}}: gaps in sampling.`},
	Entry{Example: MissingParams{Code: SeriesInterruption, Seconds: 3.0, Count: 1, AtS: 12.0}, Severity: Warning,
		Says: `The process was stopped from outside for {{moment .seconds}}, first at {{moment .at_s}}. This time is left out.`,
		Many: `{{list .Arms}}: processes were stopped from outside.`},
	Entry{Example: DoubtParams{Code: SeriesTooFew, Samples: 3, Needed: 10}, Severity: Notice,
		Says:   `inconclusive: {{plural .samples "sample" "samples"}}, at least {{.needed}} needed`,
		Many:   `{{.Count}} series are inconclusive: too few samples.`,
		Remedy: "run longer, or sample more often"},
	Entry{Example: DoubtParams{Code: SeriesTooEmpty, Samples: 60}, Severity: Notice,
		Says:   `inconclusive: at least half of the {{.samples}} samples are empty`,
		Many:   `{{.Count}} series are inconclusive: half of their samples are empty.`,
		Remedy: "use longer samples"},
	Entry{Example: DoubtParams{Code: SeriesTooNoisy, Samples: 40, Low: -0.25, High: 0.4}, Severity: Notice,
		Says: `inconclusive: {{if .wide}}{{.samples}} samples, large scatter{{else}}` +
			`a change between {{percent .low}} and {{percent .high}} fits the {{.samples}} samples{{end}}`,
		Many:   `{{.Count}} series are inconclusive: too noisy for their length.`,
		Remedy: "run longer"},
	Entry{Example: DoubtParams{Code: SeriesWanders, Samples: 200}, Severity: Warning,
		Says:   `inconclusive: the rate moves like a random walk; levels and slopes mean little`,
		Many:   `{{.Count}} series are inconclusive: they move like random walks.`,
		Remedy: "run longer, alone on the machine"},
	Entry{Example: SeriesChangedWithParams{Resource: "major_faults", AtS: 30.0, Up: true, Before: 0.0, After: 4210.0, PerSecond: true}, Severity: Notice,
		Says: `At {{moment .at_s}}, near the step, {{clean .resource}} {{if .up}}rose{{else}}fell{{end}} from {{number .before}} to {{number .after}}{{if .per_second}} a second{{end}}.`,
		Many: `{{.Count}} resources changed near the step.`},
	Entry{Example: SeriesMovesWithParams{Resource: "cpu", Rank: 0.62, Up: true}, Severity: Notice,
		Says: `{{clean .resource}} {{if .up}}rises and falls with{{else}}rises as{{end}} the rate{{if not .up}} falls{{end}}: detrended correlation {{number .rank}}; cause unknown.`,
		Many: `{{.Count}} resources move with the rate; cause unknown.`},
)

type SeriesSteadyParams struct {
	Rate, Low, High float64
	WarmupS         *float64
	Drops           bool
}

func (SeriesSteadyParams) code() Code { return SeriesSteady }

type SeriesCliffParams struct {
	SeriesStepParams
	Fall float64
}

func (SeriesCliffParams) code() Code { return SeriesCliff }

type SeriesStepParams struct {
	SeriesChange
	Up               bool
	LowS, HighS      float64
	ToS, BackS, Back *float64
}

func (SeriesStepParams) code() Code { return SeriesStep }

type SeriesDeclineParams struct {
	SeriesChange
	ToS float64
}

func (SeriesDeclineParams) code() Code { return SeriesDecline }

type SeriesRiseParams struct {
	SeriesChange
	ToS float64
}

func (SeriesRiseParams) code() Code { return SeriesRise }

type SeriesHalfParams struct {
	Early, Late, AtS float64
	Records, Bytes   *float64
}

func (SeriesHalfParams) code() Code { return SeriesHalf }

type SeriesStallsParams struct {
	SeriesDrops
	Dips int
}

func (SeriesStallsParams) code() Code { return SeriesStalls }

type SeriesDipsParams struct {
	SeriesDrops
	BackS *float64
}

func (SeriesDipsParams) code() Code { return SeriesDips }

type SeriesEndsLowParams struct{ AtS, Before, After float64 }

func (SeriesEndsLowParams) code() Code { return SeriesEndsLow }

type SeriesOscillationParams struct {
	SeriesChange
	SeriesPeriod
	ToS, High, Low, HighShare float64
}

func (SeriesOscillationParams) code() Code { return SeriesOscillation }

type SeriesChangedWithParams struct {
	Resource      string
	AtS           float64
	Up            bool
	Before, After float64
	PerSecond     bool
}

func (SeriesChangedWithParams) code() Code { return SeriesChangedWith }

type SeriesMovesWithParams struct {
	Resource string
	Rank     float64
	Up       bool
}

func (SeriesMovesWithParams) code() Code { return SeriesMovesWith }
