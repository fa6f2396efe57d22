package postgres

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/drivers/internal/sqlkv"
)

// node is a node of a plan: https://www.postgresql.org/docs/15/using-explain.html.
type node struct {
	Type  string `json:"Node Type"`
	Index string `json:"Index Name"`
	Cond  string `json:"Index Cond"`
	Plans []node `json:"Plans"`
}

// readPlan reads EXPLAIN (FORMAT JSON): a plan is a tree, and its scans are what reaches the table.
func readPlan(rows [][]string) (accesses []sqlkv.Access, text string, err error) {
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(rows[0][0]), &plans); err != nil {
		return nil, "", fmt.Errorf("reading the plan: %w", err)
	}
	if len(plans) != 1 {
		return nil, "", fmt.Errorf("%d plans, expected one", len(plans))
	}
	var words []string
	var walk func(n *node)
	walk = func(n *node) {
		word := n.Type
		if n.Index != "" {
			word += " using " + n.Index
		}
		if n.Cond != "" {
			word += " " + n.Cond
		}
		words = append(words, word)
		switch n.Type {
		case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
			accesses = append(accesses, sqlkv.Access{Index: n.Index, Finds: n.Cond != ""})
		case "Bitmap Heap Scan": // its children name the indexes
		default:
			if strings.HasSuffix(n.Type, "Scan") {
				accesses = append(accesses, sqlkv.Access{})
			}
		}
		for i := range n.Plans {
			walk(&n.Plans[i])
		}
	}
	walk(&plans[0].Plan)
	return accesses, strings.Join(words, "; "), nil
}
