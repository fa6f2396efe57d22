package finding

// How far replays differ from what was recorded.
const (
	Replayed      Code = "replayed"
	ReplayDiffers Code = "replay-differs"
)

var _ = register(
	Entry{Example: ReplayedParams{Place: "replay at D1", Sent: 1_000_000, Recorded: 1_000_000, Speed: 1, Gaps: 0.004, Hits: 0.002},
		Also: []Parameters{
			ReplayedParams{Place: "replay at D1", Sent: 10_000, Recorded: 10_000, Speed: 12.5, Closed: true, Hits: 0.002, OneIn: 100},
			ReplayedParams{Place: "replay at D1", Sent: 990_000, Recorded: 1_000_000, Speed: 0.9, Asked: 1, Gaps: 0.2, DelayNS: 3.2e6, Hits: 0.002, Left: 17, Why: []string{"a negative time"}},
			ReplayedParams{Place: "replay at D1", Sent: 10_000, Recorded: 10_000, Speed: 1, Gaps: 0.004, Hits: 0.002, Mix: 0.02, Sizes: 0.03, Lives: 0.04, Keys: 0.05},
		},
		Says: `Replayed {{count .sent}} of {{plural .recorded "request" ""}} in {{.place}}, ` +
			`{{if .closed}}closed: as fast as stores answered, at least {{number .speed}} times the recorded speed{{else}}at {{speed .speed}} times their speed{{if has .asked}} in place of {{speed .asked}}{{end}}{{end}}; ` +
			`{{if .closed}}hit rates differ{{else}}gaps differ by {{percent .gaps}}, hit rates{{end}} by at most {{points .hits}}.` +
			`{{if has .delay_ns}} Requests began {{latency .delay_ns}} late in the mean: clients were busy with those before.{{end}}` +
			`{{if has .mix}} Shares of operations differ by {{percent .mix}}.{{end}}` +
			`{{if has .sizes}} Lengths of written values differ by {{percent .sizes}}.{{end}}` +
			`{{if has .keys}} Lengths of keys differ by {{percent .keys}}.{{end}}` +
			`{{if has .lives}} TTLs of written values differ by {{percent .lives}}.{{end}}` +
			`{{if has .one_in}} One key in {{count .one_in}} was played.{{end}}` +
			`{{if has .left}} Left out: {{plural .left "line or request" "lines or requests"}} ({{list .why}}).{{end}}`},
	Entry{Example: ReplayDiffersParams{At: example, Sent: 990_000, Recorded: 1_000_000, Speed: 0.71, Asked: 1},
		Severity: Warning,
		Says: `{{.arm}} in {{.place}} was not sent the recorded traffic: {{count .sent}} of {{plural .recorded "request" ""}}, ` +
			`at {{speed .speed}} times the recorded speed in place of {{number .asked}}.`,
		Many:   `{{list .Arms}} in {{places .Places}} were not sent the recorded traffic as it was asked for.`,
		Remedy: `more threads, a lower speed, or closed: true`},
)

// ReplayedParams report of all stores of a table, and all blocks, the worst. Shares are from 0 to 1. Asked
// is the speed that was asked for, where it was not reached.
type ReplayedParams struct {
	Place          string
	Sent, Recorded uint64 // of one trial
	Speed          float64
	Asked          float64 `param:"omitempty"`
	Closed         bool
	Gaps, Hits     float64
	DelayNS        float64  `param:"omitempty"`
	Mix            float64  `param:"omitempty"`
	Sizes          float64  `param:"omitempty"`
	Keys           float64  `param:"omitempty"` // lengths of keys
	Lives          float64  `param:"omitempty"`
	OneIn          uint64   `param:"omitempty"`
	Left           uint64   `param:"omitempty"`
	Why            []string `param:"omitempty"`
}

func (ReplayedParams) code() Code { return Replayed }

// ReplayDiffersParams report of a store how many requests it was sent, and how fast.
type ReplayDiffersParams struct {
	At
	Sent, Recorded uint64
	Speed, Asked   float64
}

func (ReplayDiffersParams) code() Code { return ReplayDiffers }
