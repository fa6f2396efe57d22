package sqlkv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/store"
)

// Explaining is how a database reports its plan of a statement.
type Explaining struct {
	Before string // the statement
	// Read makes accesses of what the database answers, row by row; text is the plan in one line.
	Read func(rows [][]string) (accesses []Access, text string, err error)
}

// Access is one way by which a plan reaches the table.
type Access struct {
	Index string // "": every row is looked at
	Finds bool   // by a condition; false: it walks the whole index
}

// PlanOf says what the accesses of a plan mean for a query. ordered says that the query has an order
// and a limit, which a walk along an index may end at.
func PlanOf(accesses []Access, ordered bool, text string) store.Plan {
	plan := store.Plan{Use: store.IndexFinds, Text: text}
	var names []string
	for _, a := range accesses {
		switch {
		case a.Index == "":
			plan.Use = store.IndexNone
		case !a.Finds && !ordered:
			plan.Use = store.IndexNone
		case !a.Finds && plan.Use == store.IndexFinds:
			plan.Use = store.IndexOrders
		}
		if a.Index != "" && !slices.Contains(names, a.Index) {
			names = append(names, a.Index)
		}
	}
	if len(accesses) == 0 {
		plan.Use = store.IndexUntold
	}
	plan.Index = strings.Join(names, ", ")
	return plan
}

// Explain asks the database for its plan of the statement that Query or Count uses.
func (h *Handle) Explain(asked int, values [][]byte, counts bool) (store.Plan, error) {
	o := explainQuery
	if counts {
		o = explainCount
	}
	s, err := h.asked(o, asked, values)
	if err != nil {
		return store.Plan{}, err
	}
	var rows [][]string
	err = s.Query(h.arguments, func(row [][]byte) bool {
		texts := make([]string, len(row))
		for i := range row {
			texts[i] = string(row[i])
		}
		rows = append(rows, texts)
		return true
	})
	clear(h.arguments)
	if err != nil {
		return store.Plan{}, h.outcome("explain", err)
	}
	if len(rows) == 0 {
		return store.Plan{}, h.outcome("explain", errors.New("the database gave no plan"))
	}
	accesses, text, err := h.layout.Dialect.Explain.Read(rows)
	if err != nil {
		return store.Plan{}, fmt.Errorf("%s: explain: %w", h.layout.Dialect.Name, err)
	}
	return PlanOf(accesses, !counts && h.layout.Queries[asked].Sort >= 0, text), nil
}
