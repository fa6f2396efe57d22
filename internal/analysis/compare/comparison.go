package compare

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
)

// Version is that of the JSON form. It grows when a field changes its meaning or goes.
const Version = 1

// Comparison is what `assay compare` says: of two runs, of two arms of one, or of a series of runs.
type Comparison struct {
	Version  int               `json:"version"`
	Sides    []string          `json:"sides"` // names of what is compared, oldest first
	Outcome  Outcome           `json:"outcome"`
	Verdict  finding.Message   `json:"verdict"`
	Rows     []ComparisonRow   `json:"rows"`
	Skipped  []Skipped         `json:"not_compared,omitempty"`
	Notes    []finding.Message `json:"notes,omitempty"`
	Criteria []Criterion       `json:"criteria,omitempty"` // of --fail-if
}

// Outcome is what a comparison comes to.
type Outcome string

// The outcomes. Exit statuses: 0 for none and improvement, 4 for regression, 5 for inconclusive.
const (
	NoRegression Outcome = "no regression"
	Improvement  Outcome = "improvement"
	Regression   Outcome = "regression"
	Inconclusive Outcome = "inconclusive"
)

// ComparisonRow is one metric of one arm in one cell and phase.
type ComparisonRow struct {
	Arm    string           `json:"arm"`
	Cell   string           `json:"cell"`
	Class  string           `json:"class"`
	Phase  string           `json:"phase"`
	Metric string           `json:"metric"` // rate, p50, p99, p99.9, memory, disk
	Values []facts.Estimate `json:"values"` // of each side
	// AtMost says that the figure holds too much of the harness's delay: the store's own is not above it.
	AtMost  bool            `json:"at_most,omitempty"`
	Ratio   *facts.Ratio    `json:"ratio"` // last side ÷ first
	Outcome Outcome         `json:"outcome"`
	Why     finding.Message `json:"why,omitzero"`
	Changes []Change        `json:"changes,omitempty"` // of a series of runs
}

// Change is a change point in a series of runs.
type Change struct {
	Side   int     `json:"side"` // the first run of the new level
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// Skipped is something that one side lacks, or that can't be compared: it takes no part.
type Skipped struct {
	Arm   string          `json:"arm,omitempty"`
	Cell  string          `json:"cell,omitempty"`
	Phase string          `json:"phase,omitempty"`
	Why   finding.Message `json:"why"`
}

// Criterion is one threshold of --fail-if.
type Criterion struct {
	Text     string  `json:"text"` // as it was given: "p99 > 1.10x", "p99 > 10ms"
	Metric   string  `json:"metric"`
	Below    bool    `json:"below"`              // fails where the ratio, or the figure, is below the limit; otherwise above
	Absolute bool    `json:"absolute,omitempty"` // the limit is one of the last side's figure, not of the ratio
	Limit    float64 `json:"limit"`              // a factor; absolute: operations a second, ns or bytes
	Failed   int     `json:"failed"`             // rows that fail it for sure
	Open     int     `json:"open"`               // rows whose interval holds the limit
}
