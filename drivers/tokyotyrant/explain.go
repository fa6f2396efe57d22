package tokyotyrant

import (
	"strings"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// Explain is a search that is done for its hint: the server has no other way to ask.
func (h *tableHandle) Explain(query int, values [][]byte, counts bool) (store.Plan, error) {
	q, give := h.search.queries[query], keys
	if counts {
		q.Sort, give = -1, count
	}
	if err := h.search.ask(&h.connection, &q, values, give); err != nil {
		return store.Plan{}, err
	}
	accesses, text := readHint(h.search.hint)
	return sqlkv.PlanOf(accesses, q.Sort >= 0, text), nil
}

// readHint reads the lines of a hint (tctdb.c, tctdbqrysearchimpl): an index that is used by a
// condition, in the order that is asked for, or from end to end; or the whole table.
func readHint(hint []byte) (accesses []sqlkv.Access, text string) {
	lines := strings.Split(strings.TrimSpace(string(hint)), "\n")
	for _, line := range lines {
		_, named, used := strings.Cut(line, `using an index: "`)
		name, how, _ := strings.Cut(named, `"`)
		switch {
		case strings.Contains(line, string(wholeTable)), used && strings.HasSuffix(how, string(wholeIndex)):
			accesses = append(accesses, sqlkv.Access{})
		case used:
			accesses = append(accesses, sqlkv.Access{Index: name, Finds: !strings.HasSuffix(how, " (order)")})
		}
	}
	return accesses, strings.Join(lines, "; ")
}
