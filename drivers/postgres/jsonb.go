package postgres

import (
	"strings"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// asJSONB keeps the columns of a record as the fields of one jsonb document, whose indexes are of
// expressions. Bytes, which JSON does not have, are base64.
var asJSONB = &sqlkv.Document{
	Type: "jsonb",
	Column: func(document string, c store.Column) string {
		text := document + " ->> '" + c.Name + "'" // a name has letters, digits and _ alone
		switch c.Type {
		case store.IntegerColumn:
			return "((" + text + ")::bigint)"
		case store.BytesColumn:
			return "(decode(" + text + ", 'base64'))"
		}
		return "((" + text + ") COLLATE \"C\")"
	},
	Make: func(columns []store.Column, values []string) string {
		var parts []string
		for from := 0; from < len(columns); from += pairsMax {
			var pairs []string
			for i := from; i < min(from+pairsMax, len(columns)); i++ {
				pairs = append(pairs, "'"+columns[i].Name+"', "+asJSON(columns[i].Type, values[i]))
			}
			parts = append(parts, "jsonb_build_object("+strings.Join(pairs, ", ")+")")
		}
		return strings.Join(parts, " || ")
	},
	Replace: func(document, with string) string { return document + " || " + with },
}

// pairsMax is what a function takes: 100 arguments (FUNC_MAX_ARGS).
const pairsMax = 50

func asJSON(t store.ColumnType, value string) string {
	switch t {
	case store.IntegerColumn:
		return value + "::bigint"
	case store.BytesColumn:
		return "replace(encode(" + value + "::bytea, 'base64'), chr(10), '')" // encode breaks lines
	}
	return value + "::text"
}
