package experiment

import (
	"fmt"
	"strings"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// AskedQuery is a query that a phase asks or counts, and its weight relative to the others of the
// same operation.
type AskedQuery struct {
	Operation string  `json:"operation"` // query, count or delete_query
	Query     int     `json:"query"`     // position in Values.Queries
	Weight    float64 `json:"weight"`
}

// QuestionName is how a mix names a query that an operation asks: "count:category".
func QuestionName(operation, query string) string {
	if operation == trace.DeleteQuery.String() {
		operation = trace.Delete.String()
	}
	return operation + ":" + query
}

// QueryShapes returns the queries ready to be asked and checked.
func (v *Values) QueryShapes() (shapes []*keyval.QueryShape) {
	record := v.Record()
	for _, q := range v.Queries {
		shape, err := record.NewQueryShape(v.Columns, q)
		if err != nil {
			panic("experiment: a query that was resolved: " + err.Error())
		}
		shapes = append(shapes, shape)
	}
	return shapes
}

// QueryText says what a query asks for: "UserID equal and Tags has, by CreateTime descending, at
// most 10".
func QueryText(q keyval.Query) string {
	var any []string
	for _, all := range q.Where {
		var conditions []string
		for _, c := range all {
			text := c.Column + " " + string(c.Is)
			if c.Is == store.Range {
				text += fmt.Sprintf(" of %d", c.Span)
			}
			if c.Is == store.Prefix {
				text += fmt.Sprintf(" of %d bytes", c.Bytes)
			}
			conditions = append(conditions, text)
		}
		any = append(any, strings.Join(conditions, " and "))
	}
	text := strings.Join(any, ", or ")
	if len(any) == 0 {
		text = "all records"
	}
	if q.Sort != nil {
		text += ", by " + q.Sort.Column
		if q.Sort.Descending {
			text += " descending"
		}
	}
	if q.Limit > 0 {
		text += fmt.Sprintf(", at most %d", q.Limit)
	}
	return text
}
