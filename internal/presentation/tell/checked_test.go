package tell

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/store"
)

func TestTitlesSayWhatCutsHaveProved(t *testing.T) {
	kept := func(cuts int, fileSystem string) *record.Proof {
		return &record.Proof{Kept: true, Cuts: cuts, FileSystem: fileSystem}
	}
	for want, proofs := range map[string][]*record.Proof{
		"survives a power cut (D3), claimed by the drivers":                       {nil, nil},
		"survives a power cut (D3), claimed by the driver":                        {nil},
		"survives a power cut (D3), proved by 50 cuts on ext4":                    {kept(200, "ext4"), kept(50, "ext4")},
		"survives a power cut (D3), kept in 49 cuts on ext4":                      {kept(200, "ext4"), kept(49, "ext4")},
		"survives a power cut (D3), kept in 20 cuts on ext4, xfs":                 {kept(20, "xfs"), kept(20, "ext4")},
		"survives a power cut (D3), kept in 5 cuts on ext4 for 1 of 2 stores":     {nil, kept(5, "ext4")},
		"survives a power cut (D3), proved by 200 cuts on ext4 for 1 of 3 stores": {nil, kept(200, "ext4"), {Cuts: 5, FileSystem: "ext4"}},
	} {
		run := &record.Run{Trials: map[string]*record.Trial{}}
		run.Experiment.Cells = []experiment.Cell{{Durability: store.D3}}
		for i, p := range proofs {
			id := string(rune('a' + i))
			for _, trial := range []string{id + "1", id + "2"} {
				run.Plan = append(run.Plan, plan.Trial{ID: trial, Arm: id, Role: plan.Measured})
				run.Trials[trial] = &record.Trial{State: record.OK, Proof: p}
			}
		}
		if title := titleOf(&facts.Table{Run: run, Parameters: run.Experiment.Cells[0]}); title != want {
			t.Errorf("%q, expected %q", title, want)
		}
	}
}
