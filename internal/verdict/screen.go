package verdict

import (
	"assay/internal/model"
	"assay/internal/record"
)

// summaryOf makes the one screen.
func summaryOf(runs []*record.Run, tables [][]*table, r *model.Result) model.Summary {
	return model.Summary{}
}

// note says what is true of the table's figures.
func (t *table) note() {}
