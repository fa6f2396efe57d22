package archive

import (
	"fmt"
	"time"

	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
)

// Entry is a run as it is kept.
type Entry struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"` // of the experiment
	About      string    `json:"about,omitempty"`
	Experiment string    `json:"experiment_sha256"`
	Machine    string    `json:"machine"`
	Created    time.Time `json:"created"`
	Code       string    `json:"code"`    // what was measured: a commit, a release, a date
	CodeAt     time.Time `json:"code_at"` // orders a series
	Seconds    float64   `json:"seconds"`
	Directory  string    `json:"directory"`
	Assay      string    `json:"assay,omitempty"` // version of Assay; "": the archive did not keep it
	Figures    []Figure  `json:"-"`
	Page       []byte    `json:"-"` // its report, HTML

	rates []Figure // of an archive

	pageSum, kept string // of the archive: the checksums of the page as it is packed, and of the rest
}

// Changed stands behind a commit where tracked files were changed.
const Changed = " with changes"

// Figure is one metric of one arm in one phase of one cell: rate (operations a second), p50, p99,
// p99.9 (ns), memory or disk (bytes).
type Figure struct {
	Class, Cell, Phase, Arm, Metric string
	Version                         string // of the store
	Value                           float64
	Low, High                       *float64 // ends of the 95 % interval; nil: none
}

// EntryOf is what is kept of a run: the figures of the arms that have a rank. The page and the code
// are the caller's to add.
func EntryOf(run *record.Run, r *model.Result) Entry {
	e := Entry{ID: run.Header.ID, Name: run.Header.Name, Experiment: run.Header.Hash, Machine: Machine(run.Environment),
		Created: run.Header.Created, Directory: run.Directory, Assay: run.Environment.Assay}
	for _, of := range r.Runs {
		if of.ID == e.ID {
			e.About, e.Seconds = of.About, of.Seconds
		}
	}
	versions := map[string]string{}
	for _, s := range r.Stores {
		versions[s.Arm] = s.Version
	}
	for i := range r.Tables {
		for j := range r.Tables[i].Rows {
			e.addRow(&r.Tables[i], &r.Tables[i].Rows[j], versions)
		}
	}
	return e
}

func (e *Entry) addRow(t *model.Table, row *model.Row, versions map[string]string) {
	if row.Standing != model.Ranked {
		return
	}
	add := func(metric string, value float64, low, high *float64) {
		e.Figures = append(e.Figures, Figure{t.Class, t.Label, t.Phase, row.Arm, metric, versions[row.Arm], value,
			low, high})
	}
	if row.Rate != nil && !t.Open {
		add("rate", row.Rate.Value, row.Rate.Low, row.Rate.High)
	}
	for _, p := range row.Points {
		switch p.Quantile {
		case 0.5, 0.99, 0.999:
			add(format.Quantile(p.Quantile), p.NS, p.Low, p.High)
		}
	}
	for metric, bytes := range map[string]*float64{"memory": row.MemoryBytes, "disk": row.DiskBytes} {
		if bytes != nil {
			add(metric, *bytes, nil, nil)
		}
	}
}

// Machine names a machine by what a figure depends on most. Two that are named alike are taken for
// one: kernels and libraries may differ between two runs on it.
func Machine(e record.Environment) string {
	const GiB = 1 << 30
	processor := e.CPU
	if processor == "" {
		processor = "unknown processor"
	}
	return fmt.Sprintf("%s, %s, %d GiB, %s", processor, format.Plural(e.CPUs, "CPU", ""), (e.MemoryBytes+GiB/2)/GiB, e.Filesystem)
}
