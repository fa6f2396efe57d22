package report

import (
	"slices"
	"strings"

	"assay/internal/plan"
	"assay/internal/record"
)

// writesText says of a table where its host writes come from, or why there are none; "" if all are the kernel's count of
// the worker's, which was found true. used are the phases of each row.
func writesText(rows []Row, used [][]*record.Phase) string {
	var disk bool
	var whys []string
	without := map[string][]string{} // why → arms
	stores := 0
	for i, row := range rows {
		if row.Role == string(plan.Ceiling) || row.Rate == nil {
			continue
		}
		if slices.ContainsFunc(used[i], func(p *record.Phase) bool { return p.Process.HostWriteWhy == record.WritesNowhere }) {
			continue // nobody asks
		}
		stores++
		for _, p := range used[i] {
			disk = disk || p.Process.HostWriteSource == record.WritesOfDisk
			why := p.Process.HostWriteWhy
			if why == "" || slices.Contains(without[why], row.Arm) {
				continue
			}
			if without[why] == nil {
				whys = append(whys, why)
			}
			without[why] = append(without[why], row.Arm)
		}
	}
	var sentences []string
	if disk {
		sentences = append(sentences, "Host writes are what each trial's own disk was sent until a sync after the phase's drain, its file system's journal and metadata included.")
	}
	for _, why := range whys {
		of := ""
		if arms := without[why]; len(arms) < stores {
			of = " of " + strings.Join(arms, ", ")
		}
		sentences = append(sentences, "Host writes and write amplification"+of+" are not measured: "+strings.TrimSuffix(why, ".")+".")
	}
	return strings.Join(sentences, " ")
}
