package mongodb

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// Explain is the command of that name, of what Query and Count send: of a count, the aggregation that
// the library makes of it.
func (h *handle) Explain(query int, values [][]byte, count bool) (store.Plan, error) {
	q, filter, err := h.asked("explain", query, values)
	if err != nil {
		return store.Plan{}, err
	}
	name := h.collection.Name()
	asked := bson.D{{Key: "find", Value: name}, {Key: "filter", Value: filter}}
	if sort, ordered := h.layout.order(q); ordered {
		asked = append(asked, bson.E{Key: "sort", Value: sort})
	}
	asked = append(asked, bson.E{Key: "limit", Value: int64(q.Limit)})
	if count {
		asked = bson.D{{Key: "aggregate", Value: name}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: filter}},
			bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: 1}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}},
		}}}
	}
	ctx, cancel := h.begin()
	defer cancel()
	answer, err := h.client.Database(h.collection.Database().Name()).RunCommand(ctx,
		bson.D{{Key: "explain", Value: asked}, {Key: "verbosity", Value: "queryPlanner"}}).Raw()
	if err != nil {
		return store.Plan{}, h.outcome("explain", err)
	}
	var w planWalk
	w.document(answer, false)
	return sqlkv.PlanOf(w.accesses, !count && q.Sort >= 0, strings.Join(w.words, "; ")), nil
}

// planWalk gathers the stages of winning plans, wherever they stand: an aggregation has the plan of
// its first stages within its own. FerretDB gives the lines of SQLite's plan instead.
type planWalk struct {
	accesses []sqlkv.Access
	words    []string
}

func (w *planWalk) document(d bson.Raw, winning bool) {
	elements, err := d.Elements()
	if err != nil {
		return
	}
	if winning {
		w.stage(d)
	}
	for _, e := range elements {
		switch name := e.Key(); name {
		case "rejectedPlans", "slotBasedPlan", "command", "serverInfo":
		case "Plan":
			w.lines(e.Value())
		default:
			w.value(e.Value(), winning || name == "winningPlan")
		}
	}
}

func (w *planWalk) value(v bson.RawValue, winning bool) {
	if d, is := v.DocumentOK(); is {
		w.document(d, winning)
	}
	if list, is := v.ArrayOK(); is {
		values, err := list.Values()
		for i := range values {
			if err == nil {
				w.value(values[i], winning)
			}
		}
	}
}

// stage reads one stage of a plan (https://www.mongodb.com/docs/manual/reference/explain-results/).
func (w *planWalk) stage(d bson.Raw) {
	stage := text(d, "stage")
	if stage == "" {
		return
	}
	word := stage
	index := text(d, "indexName")
	switch {
	case index != "":
		word += " " + index
		w.accesses = append(w.accesses, sqlkv.Access{Index: index, Finds: isBounded(d)})
	case stage == "COLLSCAN":
		w.accesses = append(w.accesses, sqlkv.Access{})
	case strings.HasPrefix(stage, "IDHACK"), strings.HasPrefix(stage, "CLUSTERED_IXSCAN"):
		w.accesses = append(w.accesses, sqlkv.Access{Index: keyField, Finds: true})
	}
	w.words = append(w.words, word)
}

// isBounded reports whether an index is walked between bounds, rather than from end to end. A stage
// that counts by an index has a start and an end key, which are bounds.
func isBounded(stage bson.Raw) bool {
	bounds, is := stage.Lookup("indexBounds").DocumentOK()
	if !is {
		return true
	}
	return !strings.Contains(bounds.String(), "[MinKey, MaxKey]") && !strings.Contains(bounds.String(), "[MaxKey, MinKey]")
}

// lines reads the lines of SQLite's EXPLAIN QUERY PLAN.
func (w *planWalk) lines(v bson.RawValue) {
	list, is := v.ArrayOK()
	if !is {
		return
	}
	values, err := list.Values()
	if err != nil {
		return
	}
	for _, value := range values {
		line, _ := value.StringValueOK()
		w.words = append(w.words, line)
		_, name, indexed := strings.Cut(line, " USING ")
		switch {
		case indexed:
			w.accesses = append(w.accesses, sqlkv.Access{Index: name, Finds: strings.Contains(line, "SEARCH ")})
		case strings.Contains(line, "SCAN "):
			w.accesses = append(w.accesses, sqlkv.Access{})
		}
	}
}
