package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/record"
	"assay/internal/stat"
)

// serversText says of a table which memory and CPU time are of a server and its client together, and whose are not known; "" if no store is a server.
// used are the phases of each row.
func serversText(rows []Row, used [][]*record.Phase) string {
	var sentences []string
	for i, row := range rows {
		if row.Rate == nil {
			continue
		}
		var client, server []float64
		var whys, shared []string
		for _, phase := range used[i] {
			p := &phase.Process
			if p.RSSMaxBytes != nil && p.ServerRSSMaxBytes != nil {
				client, server = append(client, float64(*p.RSSMaxBytes)), append(server, float64(*p.ServerRSSMaxBytes))
			}
			if p.ServerWhy != "" && !slices.Contains(whys, p.ServerWhy) {
				whys = append(whys, p.ServerWhy)
			}
			if p.ServerSharedWhy != "" && !slices.Contains(shared, p.ServerSharedWhy) {
				shared = append(shared, p.ServerSharedWhy)
			}
		}
		if len(server) > 0 {
			sentences = append(sentences, fmt.Sprintf("Memory and CPU per operation of %s are the server's and its client's together: of the memory, %s are the server's and %s the client's.",
				row.Arm, bytesText(stat.Mean(server)), bytesText(stat.Mean(client))))
		}
		for _, why := range shared {
			sentences = append(sentences, fmt.Sprintf("Memory that the processes of %s share counts once for each, but for shared memory: %s.", row.Arm, why))
		}
		for _, why := range whys {
			what := "Memory and CPU per operation"
			if len(server) > 0 {
				what = "CPU per operation, in part,"
			}
			sentences = append(sentences, fmt.Sprintf("%s of %s, a server, are not measured: %s.", what, row.Arm, strings.TrimSuffix(why, ".")))
		}
	}
	return strings.Join(sentences, " ")
}
