package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// ToDetect is [facts.ToDetect] of the difference that a run is to detect.
func ToDetect(run *record.Run) (int, error) {
	if err := facts.Check(run); err != nil {
		return 0, err
	}
	tables, _ := Judge(run.ByGroup())
	return facts.ToDetect(tables, run.Experiment.Detect), nil
}

// detected says whether as many blocks were run as the difference to detect needs.
func detected(run *record.Run, tables []*facts.Table) finding.Message {
	e, blocks := &run.Experiment, run.Blocks()
	return finding.New(finding.BlocksDetectParams{
		Blocks: blocks, Needed: facts.ToDetect(tables, e.Detect), Share: e.Detect, Most: blocks >= e.BlocksMax,
		Seconds: e.Time.Seconds(),
	})
}
