package finding

// What a rate does over time: one vocabulary for tables, plots, answers and `assay analyze`. A
// message that names an arm is of all its blocks in a table; a brief one labels an event in a plot.
const (
	RateSteady      Code = "rate-steady"
	RateStep        Code = "rate-step"
	RateDeclined    Code = "rate-declined"
	RateRose        Code = "rate-rose"
	RateOscillates  Code = "rate-oscillates"
	RateDrops       Code = "rate-drops"            // stalls and dips
	RateEndsLow     Code = "rate-ends-low"         // too late to tell a stall from a step
	RateHalved      Code = "rate-declined halved"  // and stayed there
	RateUnknown     Code = "rate-unknown"          // too few, too empty or too noisy samples
	RateUnknownIn   Code = "rate-unknown measured" // in so many measurements, too short or too noisy
	SeenUnknown     Code = "rate-unknown seen"
	RateNotSampled  Code = "rate-not-sampled" // gaps, and times at which the process was stopped
	RateChangedWith Code = "rate-changed-with"
	RateFate        Code = "rate-fate" // how far stores held their rate as data grew
)

// Why it is unknown what a rate does.
const (
	TooFewSamples = "few"
	TooEmpty      = "empty"
	TooNoisy      = "noisy"
	TooUneven     = "uneven"
	Wanders       = "wanders"
)

// What became of a rate as data grew.
const (
	FateBroke   = "broke"
	FateFell    = "fell" // at a number of records that was not measured
	FateHeld    = "held"
	FateVaried  = "varied"
	FateUnknown = "unknown"
)

// What several sentences say alike.
const (
	rateAt     = `{{if has .records}}, at {{number .records}} records{{else if has .bytes}}, at {{bytes .bytes}}{{end}}`
	rateEvery  = `{{if has .period_s}}, every {{moment .period_s}}{{if has .period_low_s}} ({{moment .period_low_s}} to {{moment .period_high_s}}){{end}}{{else if .tested}}, not periodic{{end}}`
	inBlocks   = `{{if lt .blocks .of}} in {{.blocks}} of {{plural .of "block" ""}}{{end}}`
	rateIf     = `{{if has .p}}; p = {{printf "%.1g" .p}} if the points are independent{{end}}`
	rateWhen   = `{{if has .to_s}}between {{moment .at_s}} and {{moment .to_s}}{{else}}at {{moment .at_s}}{{if has .high_s}} ({{moment .low_s}} to {{moment .high_s}}){{end}}{{end}}`
	rateFromTo = `from {{moment .at_s}} to {{moment .to_s}}`
	beforeTo   = `from {{rate .before}} to {{rate .after}}`
	itWasBack  = `{{if has .back_s}} From {{moment .back_s}} on it was {{rate .back}}.{{end}}`
	rateWith   = `{{if .with}} {{capital (list .with)}} changed at that time.{{end}}`
	lookAtDrop = "read p99.9 and the maximum; compare with compaction, flushes and host writes at these times"
)

// rateExample is of a series.
func rateExample(code Code, fromS, toS, change float64) RateParams {
	return RateParams{Code: code, RateChange: RateChange{AtS: &fromS, ToS: &toS, Before: Known(126e3),
		After: Known(50.6e3), Change: &change}}
}

var _ = register(
	Entry{Example: RateSteadyParams{Rate: 99800.0, Low: 96000.0, High: 104000.0, WarmupS: Known(5.0)}, Severity: Notice,
		Says: `Steady at {{rate .rate}}{{if .drops}}, drops included{{end}}. 90 % of the samples are between {{rate .low}} and {{rate .high}}.` +
			`{{if .warmup_s}} The warm-up ended at {{moment .warmup_s}}.{{end}}`,
		Many: `{{list .Arms}}: steady, {{rate .min_rate}} to {{rate .max_rate}}.`},
	Entry{Example: RateParams{Code: RateStep, Of: &OfBlocks{At: example, Blocks: 3, Of: 3},
		With: []string{"page faults"},
		RateChange: RateChange{AtS: Known(41.0), Before: Known(412e3), After: Known(86e3),
			Records: Known(3.74e6)}}, Severity: Warning, Answer: true,
		Also: []Parameters{
			RateParams{Code: RateStep, Of: &OfBlocks{At: example, Blocks: 3, Of: 3}, Up: true,
				RateChange: RateChange{AtS: Known(41.0), Before: Known(86e3), After: Known(412e3)}},
			RateParams{Code: RateStep, Up: true, RateChange: RateChange{AtS: Known(30.0),
				ToS: Known(36.0), Before: Known(100e3), After: Known(121e3), Change: Known(0.21)}},
			RateParams{Code: RateStep, Cliff: true, RateChange: RateChange{AtS: Known(30.0),
				ToS: Known(36.0), Before: Known(100e3), After: Known(26e3), Change: Known(0.79)}},
			RateParams{Code: RateStep, Brief: true, RateChange: RateChange{AtS: Known(30.0),
				ToS: Known(36.0), Before: Known(100e3), After: Known(121e3), Change: Known(0.21)}}},
		Says: `{{if .brief}}{{rate .before}} before, {{rate .after}} after` +
			`{{else if has .arm}}{{.arm}} {{if .up}}rose{{else}}fell{{end}} ` + beforeTo + ` in {{.place}}` + inBlocks + `{{if has .records}} at {{number .records}} records{{else if has .at_s}} after {{seconds .at_s}}{{end}}.` + rateWith +
			`{{else}}Throughput {{if .up}}rose{{else}}fell{{end}}{{if .before}} by {{percent .change}}{{end}} ` + rateWhen + rateAt + `: ` + beforeTo + rateIf + `.` + itWasBack + `{{end}}`,
		Many: `{{if has .all_arm}}{{list .Arms}} did not hold {{agree .Arms "its" "their"}} rate in {{places .Places}}.` +
			`{{else}}{{list .Arms}}: throughput changed by {{percent .min_change}} to {{percent .max_change}}, {{moment .min_at_s}} to {{moment .max_at_s}} after the start.{{end}}`,
		Remedy: `{{if has .arm}}assay analyze DIR --trial ID: what changed at that time{{else if .cliff}}look at what changed at that time: memory, page faults, IO wait, compaction{{end}}`},
	Entry{Example: rateExample(RateDeclined, 0, 42, 0.62), Severity: Warning, Answer: true,
		Also: []Parameters{
			RateParams{Code: RateDeclined, Of: &OfBlocks{At: example, Blocks: 3, Of: 3},
				RateChange: RateChange{AtS: Known(30.0), ToS: Known(36.0), Before: Known(100e3),
					After: Known(121e3), Change: Known(0.21)}},
			RateParams{Code: RateDeclined, Brief: true, RateChange: RateChange{AtS: Known(30.0),
				ToS: Known(36.0), Before: Known(100e3), After: Known(121e3), Change: Known(0.21)}}},
		Says: `{{if .brief}}declines ` + beforeTo + `{{else if has .arm}}{{.arm}} declined ` + beforeTo + ` in {{.place}}` + inBlocks + `.` + rateWith +
			`{{else}}Throughput declined by {{percent .change}} ` + rateFromTo + `: ` + beforeTo + rateIf + `.{{end}}`,
		Many:   `{{list .Arms}}{{if has .all_arm}} declined in {{places .Places}}{{else}}: throughput declined by {{percent .min_change}} to {{percent .max_change}}{{end}}.`,
		Remedy: "compare at the amount of data that you will have"},
	Entry{Example: RateParams{Code: RateRose, RateChange: RateChange{AtS: Known(0.0), ToS: Known(60.0),
		Before: Known(100e3), After: Known(130e3), Change: Known(0.3)}}, Severity: Warning, Answer: true,
		Also: []Parameters{
			RateParams{Code: RateRose, Of: &OfBlocks{At: example, Blocks: 3, Of: 3},
				RateChange: RateChange{AtS: Known(30.0), ToS: Known(36.0), Before: Known(100e3),
					After: Known(121e3), Change: Known(0.21)}},
			RateParams{Code: RateRose, Brief: true, RateChange: RateChange{AtS: Known(30.0),
				ToS: Known(36.0), Before: Known(100e3), After: Known(121e3), Change: Known(0.21)}}},
		Says: `{{if .brief}}rises ` + beforeTo + `{{else if has .arm}}{{.arm}} was still getting faster at the end of {{.place}}` + inBlocks + `: {{rate .before}} at first, {{rate .after}} at last.` +
			`{{else}}Throughput rose by {{percent .change}} ` + rateFromTo + `: ` + beforeTo + rateIf + `.{{end}}`,
		Many:   `{{list .Arms}}{{if has .all_arm}} {{agree .Arms "was" "were"}} still getting faster at the end of {{places .Places}}{{else}}: throughput rose by {{percent .min_change}} to {{percent .max_change}}{{end}}.`,
		Remedy: `{{if has .arm}}` + runLonger + `{{else}}run longer, until it stops rising{{end}}`},
	Entry{Example: RateParams{Code: RateOscillates, RateChange: RateChange{AtS: Known(30.0),
		ToS: Known(43.0), Before: Known(46500.0), After: Known(5630.0)}, HighShare: Known(0.54)}, Severity: Warning,
		Answer: true,
		Also: []Parameters{
			RateParams{Code: RateOscillates, Of: &OfBlocks{At: example, Blocks: 3, Of: 3},
				RateChange: RateChange{AtS: Known(30.0), ToS: Known(36.0), Before: Known(100e3),
					After: Known(121e3), Change: Known(0.21)}},
			RateParams{Code: RateOscillates, Brief: true, RateChange: RateChange{AtS: Known(30.0),
				ToS: Known(36.0), Before: Known(100e3), After: Known(121e3), Change: Known(0.21)}}},
		Says: `{{if .brief}}oscillates between {{rate .after}} and {{rate .before}}{{else if has .arm}}{{.arm}} oscillates between {{rate .after}} and {{rate .before}} in {{.place}}` + inBlocks + `; the mean describes neither.` +
			`{{else}}Throughput oscillates between {{rate .before}} ({{percent .high_share}} of the time) and {{rate .after}}, ` + rateFromTo + rateEvery + `. The mean describes neither.{{end}}`,
		Many:   `{{list .Arms}} {{agree .Arms "oscillates" "oscillate"}} between two rates{{if has .all_arm}} in {{places .Places}}{{end}}; the means describe neither.`,
		Remedy: "state both levels and their shares of the time"},
	Entry{Example: RateDropsParams{Of: &OfBlocks{At: example, Blocks: 3, Of: 3}, Count: 20, Stalls: 3,
		LongestS: 2.0, Left: 0.02, RatePeriod: RatePeriod{PeriodS: Known(30.0)}}, Severity: Notice, Answer: true,
		Also: []Parameters{
			RateDropsParams{Of: &OfBlocks{At: example, Blocks: 3, Of: 3}, Count: 20, Stalls: 20, Collected: 18,
				LongestS: 0.4, Left: 0.02},
			RateDropsParams{Count: 22, Stalls: 20, AtS: Known(7.0), LongestS: 2.0},
			RateDropsParams{Count: 101, AtS: Known(671.0), Seconds: Known(5.0), Left: 0.29, Share: Known(0.14)},
			RateDropsParams{Brief: true, After: Known(0.0), Count: 3, LongestS: 2.0}},
		Says: `{{if .brief}}drops to {{rate .after}}, {{plural .count "time" ""}}, for up to {{seconds .longest_s}}` +
			`{{else if has .arm}}{{.arm}} dropped to {{percent .left}} of its usual rate in {{.place}}` + inBlocks + `: {{plural .count "time" ""}}, at most for {{seconds .longest_s}}` +
			`{{if has .period_s}}, every {{seconds .period_s}}{{end}}.` +
			`{{if has .collected}} During {{.collected}} of {{.count}}, garbage collection took at least half of the time.{{end}}` +
			`{{else if .stalls}}Stalled {{plural .stalls "time" "times"}} (below 10 % of the usual rate): first at {{moment .at_s}}, at most for {{moment .longest_s}}` + rateEvery + `.` +
			`{{if ne .count .stalls}} The series has {{.count}} drops, shallower ones included.{{end}}` +
			`{{else}}Dropped {{plural .count "time" "times"}} from {{moment .at_s}} on, to {{percent .left}} of the usual rate, for {{moment .seconds}}` + rateEvery + `.` +
			`{{if has .back_s}} It was back at {{moment .back_s}}.{{else}} The drops take {{percent .share}} of the time.{{end}}{{end}}`,
		Many:   `{{list .Arms}} dropped for moments{{if has .all_arm}} in {{places .Places}}{{end}}, at most for {{seconds .max_longest_s}}.`,
		Remedy: lookAtDrop},
	Entry{Example: rateExample(RateEndsLow, 117, 120, 0.8), Severity: Warning,
		Says:   `The series ends low: {{rate .after}} from {{moment .at_s}} on, {{rate .before}} before. Too short to distinguish a stall from a cliff.`,
		Many:   `{{list .Arms}}: the series end low.`,
		Remedy: "run longer"},
	Entry{Example: rateExample(RateHalved, 23, 60, 0.9), Severity: Notice,
		Says: `Throughput fell below half of the early {{rate .before}} at {{moment .at_s}}` + rateAt + `, and stayed there; the last level is {{rate .after}}.`,
		Many: `{{list .Arms}}: throughput fell below half of the early rate after {{moment .min_at_s}} to {{moment .max_at_s}}, and stayed there.`},
	Entry{Example: RateUnknownParams{Why: TooFewSamples, Samples: 3, Needed: 10}, Severity: Notice,
		Also: []Parameters{
			RateUnknownParams{Why: TooEmpty, Samples: 60},
			RateUnknownParams{Why: TooNoisy, Samples: 40, Low: -0.25, High: 0.4},
			RateUnknownParams{Why: TooUneven, Samples: 10, Before: 2, First: Known(104e3), Rest: Known(13e3)},
			RateUnknownParams{Why: Wanders}},
		Says: `inconclusive: {{if eq .why "few"}}{{plural .samples "sample" "samples"}}, at least {{.needed}} needed` +
			`{{else if eq .why "empty"}}at least half of the {{.samples}} samples are empty` +
			`{{else if eq .why "uneven"}}{{rate .first}} in the first {{plural .before "sample" "samples"}} and {{rate .rest}} after them; too few to distinguish a change from chance` +
			`{{else if eq .why "wanders"}}the rate moves like a random walk; levels and slopes mean little` +
			`{{else if .wide}}{{.samples}} samples, large scatter{{else}}a change between {{percent .low}} and {{percent .high}} fits the {{.samples}} samples{{end}}`,
		Many: `{{.Count}} series are inconclusive: too few samples, or too noisy for their length.`,
		Remedy: `{{if eq .why "few"}}run longer, or sample more often{{else if eq .why "empty"}}use longer samples` +
			`{{else if eq .why "wanders"}}run longer, alone on the machine{{else}}run longer{{end}}`},
	Entry{Example: RateNotSampledParams{Seconds: 30.0, Count: 1, AtS: 12.0}, Severity: Notice,
		Also: []Parameters{
			RateNotSampledParams{Stopped: true, Seconds: 3, AtS: 12},
			RateNotSampledParams{Brief: true, Stopped: true}},
		Says: `{{if .brief}}{{if .stopped}}the process was stopped from outside{{else}}not sampled{{end}}` +
			`{{else if .stopped}}The process was stopped from outside for {{moment .seconds}}, first at {{moment .at_s}}. This time is left out.` +
			`{{else}}Nothing was sampled for {{moment .seconds}} in {{plural .count "gap" "gaps"}}, first at {{moment .at_s}}.{{end}}`,
		Many: `{{list .Arms}}: gaps in sampling.`},
	Entry{Example: RateChangedWithParams{Resource: "major_faults", AtS: Known(30.0), Up: true,
		Before: 0.0, After: 4210.0, PerSecond: true}, Severity: Notice,
		Also: []Parameters{
			RateChangedWithParams{Resource: "cpu", Rank: 0.62, Up: true}},
		Says: `{{if has .at_s}}At {{moment .at_s}}, near the step, {{clean .resource}} {{if .up}}rose{{else}}fell{{end}} from {{number .before}} to {{number .after}}{{if .per_second}} a second{{end}}.` +
			`{{else}}{{clean .resource}} {{if .up}}rises and falls with{{else}}rises as{{end}} the rate{{if not .up}} falls{{end}}: detrended correlation {{number .rank}}; cause unknown.{{end}}`,
		Many: `{{.Count}} resources changed near the step, or move with the rate; cause unknown.`},
	Entry{Example: CauseUnknown, Says: `cause unknown`},
	Entry{Example: RateFateParams{Fate: FateBroke, Arms: []string{"tc-table"}, Low: Known(3.7e6),
		High: Known(3.7e6), With: []string{"page faults"}, Postponed: []string{"tc-table-tuned"}, To: 9.1e6}, Answer: true,
		Also: []Parameters{
			RateFateParams{Fate: FateFell, Arms: []string{"lmdb"}, Low: Known(12.0), High: Known(12.0)},
			RateFateParams{Fate: FateHeld, Arms: []string{"rocksdb", "lmdb"}, Low: Known(9.1e6)},
			RateFateParams{Fate: FateHeld, Arms: []string{"goleveldb", "bbolt"}, Each: []float64{4.8e6, 456e3}},
			RateFateParams{Fate: FateBroke, Arms: []string{"tc-hash"}, Low: Known(1.05e6), High: Known(1.05e6),
				Small: []string{"xmsiz_bytes (64 MiB)"}, With: []string{"page faults (20.0 to 9.00 k/s)", "run wait"}, More: 29},
			RateFateParams{Fate: FateVaried, Arms: []string{"bbolt"}},
			RateFateParams{Fate: FateUnknown, Arms: []string{"bbolt"}},
			RateFateParams{Brief: true, Fate: FateHeld, Low: Known(9.1e6)},
			RateFateParams{Brief: true, Fate: FateVaried, Kind: "oscillation"}},
		Says: `{{if .brief}}{{if eq .fate "fell"}}at {{seconds .low}}{{else if eq .fate "held"}}held{{if has .low}} to {{number .low}}{{end}}` +
			`{{else if eq .fate "unknown"}}too short{{else if eq .kind "oscillation"}}oscillates{{else if eq .kind "rise"}}rises{{else}}unsteady{{end}}` +
			`{{else}}{{if .each}}{{each .arms .each}}{{else}}{{list .arms}}{{end}}{{if eq .fate "broke"}} broke{{if not .each}} at {{span .low .high}} records{{end}}` +
			`{{if .small}}: {{join .small}} too small{{end}}{{if .with}}, with {{if has .more}}{{join .with}} and {{.more}} more{{else}}{{list .with}}{{end}}{{else if not .small}}; cause unknown{{end}}.` +
			`{{if has .cured}} Tuning cured it ({{join .cured}}).{{end}}{{if has .postponed}} Tuning postponed it to {{number .to}} ({{join .postponed}}).{{end}}` +
			`{{if has .same}} Tuning had no effect ({{join .same}}).{{end}}{{if has .sooner}} Tuning made it break sooner ({{join .sooner}}).{{end}}` +
			`{{if has .unknown}} Effect unknown: {{join .unknown}}.{{end}}` +
			`{{else if eq .fate "fell"}} fell after {{if eq .low .high}}{{seconds .low}}{{else}}{{seconds .low}} to {{seconds .high}}{{end}}{{if .with}}, with {{if has .more}}{{join .with}} and {{.more}} more{{else}}{{list .with}}{{end}}{{else}}; cause unknown{{end}}.` +
			`{{else if eq .fate "held"}} did not break{{if and (has .low) (not .each)}}, up to {{number .low}} records{{end}}.` +
			`{{else if eq .fate "varied"}} did not hold one rate, and did not break either.{{else}}: the phase was too short to say whether the rate holds.{{end}}{{end}}`},
)

// CauseUnknown stands where nothing that may be the cause of a fall changed with it.
const CauseUnknown Bare = "cause-unknown"

// RateParams are of a change of a rate. Of an arm, Before and After are its early and its late rate;
// of an oscillation, the two levels.
type RateParams struct {
	Code  Code      `param:"-"`
	Of    *OfBlocks `param:"inline"`
	Brief bool      `param:"omitempty"`
	RateChange
	RatePeriod
	Up, Cliff                   bool `param:"omitempty"`
	LowS, HighS, BackS, Back, P *float64
	HighShare                   *float64
	With                        []string `param:"omitempty"`
}

func (p RateParams) code() Code { return p.Code }

// OfBlocks says that a message is of an arm's blocks in a table.
type OfBlocks struct {
	At
	Blocks, Of int
}

// RateChange is when a rate changed, and from what to what.
type RateChange struct {
	AtS, ToS, Before, After, Change *float64
	Records, Bytes                  *float64 // stored then
}

// RatePeriod is how far apart events are; without a period, whether one was looked for.
type RatePeriod struct {
	PeriodS, PeriodLowS, PeriodHighS *float64
	Tested                           *bool
}

type RateSteadyParams struct {
	Rate, Low, High float64
	WarmupS         *float64
	Drops           bool
}

func (RateSteadyParams) code() Code { return RateSteady }

// RateDropsParams are of times at which a rate was low: Stalls of them below a tenth of the usual, and during
// Collected the store's JVM collected garbage for at least half of the time.
type RateDropsParams struct {
	Of        *OfBlocks `param:"inline"`
	Brief     bool      `param:"omitempty"`
	Collected int       `param:"omitempty"`
	RatePeriod
	Count, Stalls       int
	LongestS, Left      float64
	AtS, Seconds, Share *float64
	After, BackS        *float64
}

func (RateDropsParams) code() Code { return RateDrops }

// RateUnknownParams are of why it is open what a rate did.
type RateUnknownParams struct {
	Why             string
	Wide            bool // no range that says anything
	Samples, Needed int
	Low, High       float64
	Before          int `param:"omitempty"` // so many samples come first, at another rate than the rest
	First, Rest     *float64
}

func (RateUnknownParams) code() Code { return RateUnknown }

// RateNotSampledParams are of the time of which a series knows nothing.
type RateNotSampledParams struct {
	Brief, Stopped bool `param:"omitempty"`
	AtS, Seconds   float64
	Count          int
}

func (RateNotSampledParams) code() Code { return RateNotSampled }

// RateChangedWithParams are of a resource that changed near a step, or without AtS of one that moves
// with the rate all the time.
type RateChangedWithParams struct {
	Resource      string
	Up            bool
	AtS           *float64
	Before, After float64
	PerSecond     bool
	Rank          float64
}

func (RateChangedWithParams) code() Code { return RateChangedWith }

// RateFateParams are of what became of some arms' rates, between Low and High records (of FateFell:
// seconds), and of what tuning did to that.
type RateFateParams struct {
	Brief                                   bool `param:"omitempty"`
	Fate                                    string
	Kind                                    string   `param:"omitempty"` // of FateVaried, in a cell
	Arms                                    []string `param:"omitempty"`
	Low, High                               *float64
	Each                                    []float64 `param:"omitempty"` // records, of each arm, where they are far apart
	Small                                   []string  `param:"omitempty"` // settings that are too small for the data
	With                                    []string  `param:"omitempty"` // what changed first and most
	More                                    int       `param:"omitempty"` // resources that changed as well
	Postponed, Cured, Same, Sooner, Unknown []string  `param:"omitempty"`
	To                                      float64   `param:"omitempty"`
}

func (RateFateParams) code() Code { return RateFate }
