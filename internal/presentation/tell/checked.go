package tell

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/store"
)

// cutClasses are those that cuts can prove: power cuts, and kills for D1.
var cutClasses = []store.Durability{store.D3, store.D2, store.D1}

// checkedOf says what of the data was verified, and what cuts have shown of the classes.
func checkedOf(runs []*record.Run) (checked, badges []finding.Message) {
	var all record.Verified
	for _, run := range runs {
		all.Add(run.Verified())
	}
	if all.Trials > 0 {
		p := finding.VerifiedParams{Values: all.Values, Right: all.Right, Old: all.Old, Missed: all.Missed,
			ReadBack: all.ReadBack,
			Lost:     all.Lost, Stale: all.Stale, Evicted: all.Evicted, StoreEvicted: all.StoreEvicted,
			Of: all.Of, NotRead: all.NotRead, Trials: all.Trials, NotChecked: all.NotChecked}
		if all.NotJudged > 0 {
			p.ReadRight, p.NotJudged = all.ReadRight, all.NotJudged
		}
		checked = append(checked, finding.New(p))
	}
	if x := all.Expiry; x != nil {
		checked = append(checked, finding.New(finding.ExpiredParams{OnTime: x.OnTime(), Over: x.Over(),
			LatestNS: float64(x.LatestNS),
			Early:    x.Early, EarliestNS: float64(x.EarliestNS), Evicted: all.EarlyEvicted}))
	}
	if all.Values > 0 {
		badges = append(badges, finding.New(finding.BadgeParams{Values: all.Values, Lost: all.Lost + all.Missed,
			Stale: all.Stale + all.Old,
			Wrong: all.Values - min(all.Right+all.Old, all.Values)}))
	}
	for _, class := range cutClasses {
		p := proofsOf(runs, class)
		// D1's title says it
		if tried := len(p.Proved)+len(p.Elsewhere) > 0; tried || len(p.Claimed) > 0 && class != store.D1 {
			checked = append(checked, finding.New(p))
		}
	}
	return checked, badges
}

// flushesOfSync is how many flushes a disk may count for one sync: two where the file has grown.
const flushesOfSync = 2

// writesPerSync is how many writes may have shared each sync that was counted: had a store left out
// more, the trial would be marked. 0: some phase has no count.
func writesPerSync(t *record.Trial) (most int) {
	for i := range t.Phases {
		s := t.Phases[i].Syncs
		switch {
		case s == nil || s.Acknowledged == 0:
		case s.Calls != nil || s.Server != nil:
			most = max(most, s.Clients)
		case s.Done != nil:
			most = max(most, flushesOfSync*s.Clients)
		default:
			return 0
		}
	}
	return most
}

// provedTitle adds to a table's title what cuts have shown of the run's stores in its class, or
// that the class is claimed.
func provedTitle(t *facts.Table, title string) string {
	if !slices.Contains(cutClasses, t.Parameters.Durability) {
		return title
	}
	class := t.Parameters.Durability
	p := finding.ClassProvedParams{Title: title, Kills: class == store.D1}
	eachProof([]*record.Run{t.Run}, class, func(_ string, trial *record.Trial) {
		c := trial.ProofOf(class)
		if p.Of++; !c.Proves() {
			return
		}
		if p.Proved++; p.Proved == 1 || c.Cuts < p.Cuts {
			p.Cuts, p.Records = c.Cuts, c.Records
		}
		if !slices.Contains(p.FileSystems, c.FileSystem) {
			p.FileSystems = append(p.FileSystems, c.FileSystem)
		}
	})
	if p.Of == 0 {
		return title // nothing was measured
	}
	slices.Sort(p.FileSystems)
	return finding.Text(finding.New(p))
}

// proofsOf gathers the arms that were measured in a class. One that a cut has refuted is a finding,
// and so is a class whose store's files could not be examined.
func proofsOf(runs []*record.Run, class store.Durability) finding.ProofsParams {
	p := finding.ProofsParams{Class: string(class), Kills: class == store.D1}
	var perSync []int // of each arm that is claimed
	eachProof(runs, class, func(arm string, t *record.Trial) {
		switch c := t.ProofOf(class); {
		case c.Proves():
			p.Proved = append(p.Proved, fmt.Sprintf("%s (%d on %s)", arm, c.Cuts, c.FileSystem))
		case !c.Refutes():
			p.Claimed = append(p.Claimed, arm)
			perSync = append(perSync, writesPerSync(t))
			if c != nil && len(c.Differs) > 0 {
				p.Elsewhere = append(p.Elsewhere, fmt.Sprintf("%s (%s)", arm, differences(c)))
			}
		}
	})
	if len(perSync) > 0 && slices.Min(perSync) > 0 {
		p.PerSync = slices.Max(perSync)
	}
	slices.Sort(p.Proved)
	slices.Sort(p.Claimed)
	slices.Sort(p.Elsewhere)
	return p
}

// differences says how a proof is not of what ran.
func differences(c *record.Proof) string {
	var words []string
	if !c.Kept {
		words = append(words, "refuted there")
	}
	for _, code := range c.Differs {
		words = append(words, finding.Difference(code))
	}
	return strings.Join(words, ", ")
}

// eachProof visits the arms that were measured in a class, each once, with a trial of it, which has what
// cuts had shown.
func eachProof(runs []*record.Run, class store.Durability, visit func(arm string, t *record.Trial)) {
	seen := map[string]bool{}
	for _, run := range runs {
		for _, planned := range run.Plan {
			t := run.Trials[planned.ID]
			if t == nil || planned.Role != plan.Measured || run.Experiment.Cells[planned.Cell].Durability != class ||
				seen[planned.Arm] || t.State != record.OK && t.State != record.Marked {
				continue
			}
			seen[planned.Arm] = true
			visit(planned.Arm, t)
		}
	}
}
