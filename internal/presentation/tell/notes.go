package tell

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
	"assay/store"
)

// notesOf says what is true of a table's figures, one note a cause.
func notesOf(t *facts.Table) []finding.Message {
	var notes []finding.Parameters
	add := func(p ...finding.Parameters) { notes = append(notes, p...) }
	if ranked := t.Ranked(); len(ranked) > 0 && !t.Open {
		var faster []string
		for _, r := range t.Rows {
			if r.Standing == model.NotRanked && r.HasGood() && facts.RateOrZero(r) > ranked[0].Rate.Value {
				faster = append(faster, r.Arm)
			}
		}
		if len(faster) > 0 {
			add(finding.NoteParams{Code: finding.NoteFasterUnranked, Arms: faster})
		}
	}
	if t.BatchItems > 0 {
		add(finding.NoteParams{Code: finding.NoteBatches, Items: t.BatchItems})
	}
	add(noteIndexes(t)...)
	switch {
	case t.Open || t.Measured() < 2:
	case t.AA == nil:
		add(finding.NotMeasuredParams{Code: finding.NoNoise})
	}
	add(noteWrites(t)...)
	add(noteServers(t)...)
	add(noteMemory(t)...)
	if mounted := trialFileSystem(t.Run); mounted != "" {
		add(finding.NoteParams{Code: finding.NoteQuotaMount, FileSystem: mounted})
	}
	return messagesOf(notes)
}

// reasonsOf gathers the arms that some phases give a reason for, by reason.
func reasonsOf(t *facts.Table, why func(*record.Process) string) (whys []string, arms map[string][]string) {
	arms = map[string][]string{}
	for _, r := range t.Stores() {
		for _, o := range r.Used() {
			text := format.Clean(why(&o.Phase.Process))
			if text == "" || slices.Contains(arms[text], r.Arm) {
				continue
			}
			if arms[text] == nil {
				whys = append(whys, text)
			}
			arms[text] = append(arms[text], r.Arm)
		}
	}
	return whys, arms
}

// noteIndexes names the stores that do without an optional index.
func noteIndexes(t *facts.Table) (notes []finding.Parameters) {
	e := &t.Run.Experiment
	for _, x := range e.Values.Indexes {
		var without []string
		for _, r := range t.Stores() {
			if r.Role != plan.Measured {
				continue
			}
			if _, lacks := e.IndexesOf(e.Stores[r.Store]); slices.Contains(lacks, x) {
				without = append(without, r.Arm)
			}
		}
		if len(without) > 0 {
			notes = append(notes, finding.NoteParams{Code: finding.NoteIndexLeftOut, Arms: without, Column: x.Column,
				Words: x.Kind == store.TokenIndex})
		}
	}
	return notes
}

// noteWrites says where host writes come from, or why there are none.
func noteWrites(t *facts.Table) (notes []finding.Parameters) {
	for _, r := range t.Stores() {
		if r.HostWriteSource == record.WritesOfDisk {
			notes = append(notes, finding.NoteParams{Code: finding.NoteWritesOfDisk})
			break
		}
	}
	whys, arms := reasonsOf(t, func(p *record.Process) string {
		if p.HostWriteWhy == record.WritesNowhere {
			return "" // no column needs it
		}
		return p.HostWriteWhy
	})
	for _, why := range whys {
		notes = append(notes, finding.NotMeasuredParams{Code: finding.NoWrites, Arms: arms[why], Why: why})
	}
	return notes
}

// noteServers says whose memory and CPU time are of a server and its client together, and whose are
// not known.
func noteServers(t *facts.Table) (notes []finding.Parameters) {
	for _, r := range t.Stores() {
		var client, server []float64
		for _, o := range r.Used() {
			if p := &o.Phase.Process; p.RSSMaxBytes != nil && p.ServerRSSMaxBytes != nil {
				client, server = append(client, float64(*p.RSSMaxBytes)), append(server, float64(*p.ServerRSSMaxBytes))
			}
		}
		if len(server) > 0 {
			notes = append(notes, finding.NoteParams{Code: finding.NoteServer, Arms: []string{r.Arm},
				Server: stat.Mean(server), Client: stat.Mean(client)})
		}
	}
	for _, of := range []func(*record.Process) string{
		func(p *record.Process) string { return p.ServerWhy },
		func(p *record.Process) string { return p.ServerSharedWhy },
	} {
		whys, arms := reasonsOf(t, of)
		for _, why := range whys {
			notes = append(notes, finding.NotMeasuredParams{Code: finding.NoServer, Arms: arms[why], Why: why})
		}
	}
	return notes
}

// noteMemory names the arms whose resident memory is above the cell's limit.
func noteMemory(t *facts.Table) (notes []finding.Parameters) {
	var arms []string
	for _, r := range t.Stores() {
		if limit := float64(t.Parameters.MemoryLimit); limit > 0 && r.MemoryBytes != nil && *r.MemoryBytes > limit {
			arms = append(arms, r.Arm)
		}
	}
	if len(arms) > 0 {
		notes = append(notes, finding.NoteParams{Code: finding.NoteOverLimit, Arms: arms,
			Limit: t.Parameters.MemoryLimit})
	}
	return notes
}
