package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/record"
	"assay/internal/verdict"
)

// overLimitText says of arms whose memory is above the cell's limit why it may be, and what counted against the limit; "" where there is none.
func overLimitText(run *record.Run, t *verdict.Table, rows []Row) string {
	limit := uint64(max(t.Parameters.MemoryLimit, 0))
	if limit == 0 {
		return ""
	}
	var arms, servers []string
	var peak uint64
	for i, row := range rows {
		if row.Rate == nil || row.MemoryBytes == nil || *row.MemoryBytes <= float64(limit) {
			continue
		}
		if slices.ContainsFunc(usedPhases(run, t, &t.Rows[i]), func(p *record.Phase) bool { return p.Process.ServerRSSMaxBytes != nil }) {
			servers = append(servers, row.Arm)
			continue
		}
		arms = append(arms, row.Arm)
		for _, observed := range t.Rows[i].Trials {
			if trial := run.Trials[observed.Trial]; observed.Used && trial != nil && trial.Memory != nil && trial.Memory.PeakBytes != nil {
				peak = max(peak, *trial.Memory.PeakBytes)
			}
		}
	}
	var sentences []string
	if len(servers) > 0 {
		sentences = append(sentences, fmt.Sprintf("Memory of %s is above the limit of %s: what a server takes does not count against it.", listed(servers), limitText(limit)))
	}
	if len(arms) == 0 {
		return strings.Join(sentences, " ")
	}
	counted := "What did was not measured"
	switch {
	case peak > 0 && givenInBinary(limit):
		counted = "What did was " + binaryText(peak) + " at most"
	case peak > 0:
		counted = "What did was " + bytesText(float64(peak)) + " at most"
	}
	sentences = append(sentences, fmt.Sprintf("Memory of %s is above the limit of %s, for it is what is resident: pages that are charged to others, as those of the program and of files that were in the page cache before, do not count against the limit. %s.",
		listed(arms), limitText(limit), counted))
	return strings.Join(sentences, " ")
}
