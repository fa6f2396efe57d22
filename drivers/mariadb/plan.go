package mariadb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/drivers/internal/sqlkv"
)

// readPlan reads EXPLAIN FORMAT=JSON (https://mariadb.com/kb/en/explain-format-json/): each object
// with an access_type is a way to the table.
func readPlan(rows [][]string) (accesses []sqlkv.Access, text string, err error) {
	var plan any
	if err := json.Unmarshal([]byte(rows[0][0]), &plan); err != nil {
		return nil, "", fmt.Errorf("reading the plan: %w", err)
	}
	var words []string
	var walk func(part any)
	walk = func(part any) {
		switch p := part.(type) {
		case []any:
			for _, one := range p {
				walk(one)
			}
		case map[string]any:
			if how, is := p["access_type"].(string); is {
				found := accessesBy(how, keysIn(p))
				accesses = append(accesses, found...)
				words = append(words, wordOf(how, found))
				return
			}
			for _, name := range slices.Sorted(maps.Keys(p)) {
				if name == "filesort" || name == "temporary_table" {
					words = append(words, name)
				}
				walk(p[name])
			}
		}
	}
	walk(plan)
	return accesses, strings.Join(words, "; "), nil
}

// accessesBy says what an access type does: ALL looks at every row, index walks a whole index, and
// all others find rows by an index.
func accessesBy(how string, indexes []string) (accesses []sqlkv.Access) {
	if how == "ALL" || len(indexes) == 0 {
		return []sqlkv.Access{{}}
	}
	for _, index := range indexes {
		accesses = append(accesses, sqlkv.Access{Index: index, Finds: how != "index"})
	}
	return accesses
}

func wordOf(how string, accesses []sqlkv.Access) string {
	for _, a := range accesses {
		if a.Index != "" {
			how += " " + a.Index
		}
	}
	return how
}

// keysIn returns the names of indexes in a part of a plan: several where their finds are merged.
func keysIn(part any) (keys []string) {
	switch p := part.(type) {
	case []any:
		for _, one := range p {
			keys = append(keys, keysIn(one)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(p)) {
			if key, is := p[name].(string); is && name == "key" {
				keys = append(keys, key)
			}
			keys = append(keys, keysIn(p[name])...)
		}
	}
	return keys
}
