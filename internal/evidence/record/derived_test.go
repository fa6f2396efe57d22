package record

import (
	"slices"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/finds"
	"assay/internal/evidence/host"
)

// A trial that says that it is fine is marked for what its own figures show.
//
// Fault (physics): a run directory is sealed again without its marks
// Assay: the stored figures mark a trial again when it is read. What only the trace showed is gone
func TestMarksAreDerivedFromWhatIsStored(t *testing.T) {
	count := func(n uint64) *uint64 { return &n }
	seconds := 0.5
	for name, c := range map[string]struct {
		change func(*Trial, *Phase)
		want   finding.Code // "": none
	}{
		"nothing": {func(*Trial, *Phase) {}, ""},
		"fewer flushes than writes": {func(_ *Trial, p *Phase) {
			p.Syncs = &Syncs{Acknowledged: 193801, Clients: 8, Done: count(152), Counted: "flushes", Disk: "vda"}
		}, finding.MarkTooFewSyncs},
		"a setting that does not give the class": {func(_ *Trial, p *Phase) { p.Syncs = &Syncs{Broken: "appendfsync is no"} }, finding.MarkClassChanged},
		"a refuted class":                        {func(t *Trial, _ *Phase) { t.Proof = &Proof{Why: "it lost a record"} }, finding.MarkClassRefuted},
		"a class refuted for loads alone":        {func(t *Trial, p *Phase) { t.Proof, p.Load = &Proof{Why: "it lost a record"}, true }, ""},
		"a stop":                                 {func(_ *Trial, p *Phase) { p.Stops = []Stop{{Why: host.StoppedBySignal, Seconds: 1}} }, finding.MarkStoppedSignal},
		"heat":                                   {func(_ *Trial, p *Phase) { p.Machine = &Machine{Seconds: 10, HeatSeconds: &seconds} }, finding.MarkHeat},
		"heat that is tolerated":                 {func(_ *Trial, p *Phase) { p.Machine = &Machine{Seconds: 10, HeatSeconds: &seconds, tolerated: true} }, ""},
		"a silent agent":                         {func(_ *Trial, p *Phase) { p.Agents = []AgentShare{{Name: "a", SilentSeconds: 2}} }, finding.MarkAgentSilent},
		"failed operations":                      {func(_ *Trial, p *Phase) { p.Operations[0].OK, p.Operations[0].Errors = 990, 10 }, finding.MarkFailed},
		"wrong values":                           {func(_ *Trial, p *Phase) { p.Operations[0].OK, p.Operations[0].Wrong = 990, 10 }, finding.MarkWrong},
		"records left out":                       {func(_ *Trial, p *Phase) { p.Finds = &finds.Result{Finds: 100, Owed: 900, Missing: 2, MissingIn: 2} }, finding.MarkFindsMissing},
		"records left out by an eventual store": {func(_ *Trial, p *Phase) {
			p.Eventual, p.Finds = true, &finds.Result{Finds: 100, Owed: 900, Missing: 2, MissingIn: 2}
		}, ""},
		"a full disk":         {func(_ *Trial, p *Phase) { p.EndedBy = EndedDiskFull }, finding.MarkDiskFull},
		"a loss at the end":   {func(t *Trial, _ *Phase) { t.Final = &FinalCheck{Records: 10, Right: 9, Lost: 1} }, finding.MarkReadbackLost},
		"times that can't be": {func(_ *Trial, p *Phase) { p.Operations[0].MaxNS, p.Machine = 4e9, &Machine{CPUs: 4} }, finding.MarkMaxOver},
	} {
		p := timed("scan", 1000, 900_000)
		p.Measured = true
		trial := &Trial{State: OK}
		c.change(trial, p)
		trial.Phases = []Phase{*p}
		marks := trial.CountedMarks()
		if c.want == "" && len(marks) > 0 || c.want != "" && !slices.ContainsFunc(marks, func(m finding.Mark) bool { return m.Code == c.want }) {
			t.Errorf("%s: %v, want %q", name, marks, c.want)
		}
	}
}
