package finding

// The lines of the one screen. Package tell makes them.
var _ = register(
	Entry{Example: RanParams{Stores: 9, Classes: 3, Blocks: 3, Done: 96, Planned: 96, Seconds: 161.0,
		Conditions: []Message{New(ConditionCold)}},
		Says: `{{plural .stores "store" ""}}, {{plural .classes "durability class" ""}}{{if has .cells}}, {{plural .cells "cell" ""}}{{end}}, {{plural .blocks "block" ""}}: ` +
			`{{if has .missing}}{{count .done}} of {{plural .planned "trial" ""}}{{else}}{{plural .planned "trial" ""}}{{end}} in {{seconds .seconds}}.{{if .conditions}} {{capital (join .conditions)}}.{{end}}`},
	Entry{Example: MoreParams{Count: 3}, Says: `{{.count}} more: --full`},

	Entry{Example: NoFigureParams{Failed: true}, Says: `{{if .failed}}failed{{else}}no figure{{end}}`},
	Entry{Example: SectionParams{Code: SectionRefused, Arms: []string{"badger", "bbolt"}},
		Also: []Parameters{SectionParams{Code: SectionRefused, Arms: []string{"redis"}, Said: "redis at 127.0.0.1:6379 is a replica: it takes no writes"},
			SectionParams{Code: SectionRefused, Arms: []string{"memcached"}, Reason: "memcached can't store binary keys: set keys: {format: decimal}"}},
		Says: `{{if .said}}Refused: {{join .arms}} ({{clean .said}}).{{else}}Not supported: {{join .arms}}{{if .reason}} ({{clean .reason}}){{end}}.{{end}}`},
	Entry{Example: SectionParams{Code: SectionNoFigure, Arms: []string{"sqlite"}, Why: New(NoRankParams{Code: NoTrialEnded})},
		Also: []Parameters{SectionParams{Code: SectionNoFigure, Arms: []string{"redis"}, Why: New(CauseParams{Code: CauseStore}), Said: "NOAUTH Authentication required."}},
		Says: `No figure: {{join .arms}} ({{clean (say .why)}}{{if .said}}: {{clean .said}}{{end}}).`},
	Entry{Example: SectionParams{Code: SectionSameLeaders, Cells: 4},
		Says: `In the {{if eq .cells 1}}other cell{{else}}{{plural .cells "other cell" ""}}{{end}} the same stores are fastest.`},
	Entry{Example: SectionParams{Code: SectionUndecided, Cells: 4},
		Says: `In {{plural .cells "other cell" ""}} no store is known to be the fastest.`},
	Entry{Example: SectionParams{Code: SectionOtherCells, Cells: 4},
		Says: `{{plural .cells "other cell is" "other cells are"}} in the full report.`},
	Entry{Example: SectionLeadersParams{Phase: "insert", Leaders: []Message{New(LeaderParams{Arms: []string{"pebble"}, Cell: "10 records", Factor: 2.1}),
		New(LeaderParams{Arms: []string{"bbolt"}, Cell: "10,000 records"})}},
		Says: `{{.phase}}: fastest is {{join .leaders}}.`},

	Entry{Example: LeaderParams{Arms: []string{"pebble"}, Cell: "10 records", Factor: 2.1},
		Says: `{{list .arms}} at {{.cell}}{{if has .factor}} ({{factor .factor}}){{end}}`},

	Entry{Example: NextParams{Code: NextResume, Trials: 12}, Says: `{{plural .trials "trial is" "trials are"}} left to do.`},
	Entry{Example: NextParams{Code: NextEnoughBlocks, Blocks: 5},
		Says: `{{plural .blocks "block allows" "blocks allow"}} stores to be compared.`},
	Entry{Example: NextParams{Code: NextBlocks, Blocks: 7, Detectable: 1.2},
		Says: `{{plural .blocks "block" ""}} can detect differences of about {{factor .detectable}}.`},
	Entry{Example: NextParams{Code: NextFull, Remedy: "read the error messages in the trial"},
		Says: `This shows what each trial reported.{{if .remedy}} {{capital .remedy}}.{{end}}`},
	Entry{Example: NextParams{Code: NextLessNoise, Phases: []string{"insert"}},
		Says: `Phases this short differ too much from block to block; longer ones have less noise: {{join .phases}}.`},
	Entry{Example: NextParams{Code: NextNoise}, Says: `More blocks will not help: variation between blocks is too large. This says what disturbs the machine.`},
	Entry{Example: NextParams{Code: NextLonger, Phases: []string{"insert"}},
		Says: `Longer phases show whether rates hold: {{join .phases}}.`},
	Entry{Example: NextParams{Code: NextUndo, Arm: "etcd"}, Says: `This undoes what the run left on the server of {{.arm}}.`},
	Entry{Example: NextParams{Code: NextSetting, Arm: "lmdb"},
		Says: `This gives {{.arm}} room for the data: writes beyond its limit failed.`},
	Entry{Example: NextParams{Code: NextLanes, Arm: "memcached"},
		Says: `The client was the limit of {{.arm}}; asynchronous handles take less of its CPU.`},
	Entry{Example: NextParams{Code: NextNoStore, Remedy: "redis at 127.0.0.1:6379 is a replica: it takes no writes"},
		Says: `No store was measured; this shows every trial. {{clean .remedy}}.`},
	Entry{Example: NextParams{Code: NextDoctor},
		Also: []Parameters{NextParams{Code: NextDoctor, Trials: 3}},
		Says: `The machine disturbed {{if has .trials}}{{plural .trials "trial" ""}}{{else}}the figures{{end}}; this says what to change.`},
	Entry{Example: NextParams{Code: NextDoctorBusy},
		Says: `The machine disturbed all figures; this says what to change. Where it is always busy, --set busy_machine=tell ranks them with a warning.`},
)

type RanParams struct {
	Stores, Classes, Blocks, Done, Planned int
	Seconds                                float64
	Conditions                             []Message
	Cells, Missing                         int `param:"omitempty"`
}

func (RanParams) code() Code { return "ran" }

type MoreParams struct{ Count int }

func (MoreParams) code() Code { return "more" }

type NoFigureParams struct{ Failed bool }

func (NoFigureParams) code() Code { return "no-figure" }

type SectionLeadersParams struct {
	Phase   string
	Leaders []Message
}

func (SectionLeadersParams) code() Code { return "section leaders" }

// What would help most, and what stands below a grid.
const (
	NextResume       Code = "next resume"
	NextEnoughBlocks Code = "next enough-blocks"
	NextBlocks       Code = "next blocks"
	NextFull         Code = "next full"
	NextLessNoise    Code = "next less-noise"
	NextLonger       Code = "next longer"
	NextNoise        Code = "next noise"
	NextNoStore      Code = "next no-store"
	NextUndo         Code = "next undo"
	NextSetting      Code = "next setting"
	NextLanes        Code = "next lanes"
	NextDoctor       Code = "next doctor"
	NextDoctorBusy   Code = "next doctor-busy"

	SectionRefused     Code = "section refused"
	SectionNoFigure    Code = "section no-figure"
	SectionSameLeaders Code = "section same-leaders"
	SectionUndecided   Code = "section undecided"
	SectionOtherCells  Code = "section other-cells"
)

// NextParams are of why a command would help: it runs Phases longer, or so many blocks.
type NextParams struct {
	Code           Code     `param:"-"`
	Trials, Blocks int      `param:"omitempty"`
	Detectable     float64  `param:"omitempty"`
	Phases         []string `param:"omitempty"`
	Remedy         string   `param:"omitempty"`
	Arm            string   `param:"omitempty"`
}

func (p NextParams) code() Code { return p.Code }

// SectionParams are of what stands below a grid: arms without a figure, and cells in which nothing
// else leads.
type SectionParams struct {
	Code Code     `param:"-"`
	Arms []string `param:"omitempty"`
	Why  Message  `param:"omitempty"`
	Said string   `param:"omitempty"` // by the store, of a trial that was begun
	// Reason is why no trial was begun, unless the class is: a table's title says that.
	Reason string `param:"omitempty"`
	Cells  int    `param:"omitempty"`
}

func (p SectionParams) code() Code { return p.Code }

// LeaderParams are of who is fastest in a cell, and by which factor where it is one.
type LeaderParams struct {
	Arms   []string
	Cell   string
	Factor float64 `param:"omitempty"`
}

func (LeaderParams) code() Code { return "section leader" }
