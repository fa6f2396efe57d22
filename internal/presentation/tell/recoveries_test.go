package tell

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// The soonest comes first; a store whose rate was not back in most blocks is listed separately, and one that
// did not have the fault (its phase ended first) not at all.
func TestRecoveryOf(t *testing.T) {
	kill := func(at, recovered float64) facts.Recovery {
		r := facts.Recovery{ServerFault: record.ServerFault{At: at, Does: "kill", Node: 2}, Down: 10}
		if recovered > 0 {
			r.RecoveredAt = &recovered
		}
		return r
	}
	blocks := func(all ...facts.Recovery) (each [][]facts.Recovery) {
		for _, r := range all {
			each = append(each, []facts.Recovery{r})
		}
		return each
	}
	table := &facts.Table{Phase: "put", Class: "D1"}
	arms := []string{"slow", "soon", "half", "never", "short"}
	each := map[string][][]facts.Recovery{
		"slow": blocks(kill(15, 28), kill(15.5, 27.5), kill(15, 0)), "soon": blocks(kill(15, 26)), "half": blocks(kill(15, 26), kill(15, 0)),
		"never": blocks(kill(15, 0)), "short": {{}},
	}
	const want = "Node 2 was killed for 10.0 s in put (D1). Time to recover half of the rate: soon 11.0 s and slow 12.5 s. " +
		"Not recovered before the next fault or the end: half and never."
	if got := finding.Text(recoveryOf(table, 0, arms, each)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if m := recoveryOf(table, 1, arms, each); m.Code != "" {
		t.Errorf("the recovery from a second fault is reported: %s", finding.Text(m))
	}
}
