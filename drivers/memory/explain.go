package memory

import "assay/store"

// Explain tells what each does: there is no planner to ask.
func (h tableHandle) Explain(query int, values [][]byte, _ bool) (store.Plan, error) {
	if query >= len(h.queries) {
		return store.Plan{}, errNoQuery
	}
	x, _ := h.indexFor(&h.queries[query], values)
	if x == nil {
		return store.Plan{Use: store.IndexNone, Text: "every row of every shard"}, nil
	}
	name := h.columns[x.Column].Name + " (" + string(x.Kind) + ")"
	return store.Plan{Use: store.IndexFinds, Index: name, Text: "hash map of " + name}, nil
}

// Explain is an ability of every handle, as Query is.
func (h *handle) Explain(int, [][]byte, bool) (store.Plan, error) { return store.Plan{}, errNoQuery }

// DeleteQuery likewise.
func (h *handle) DeleteQuery(int, [][]byte) (uint64, error) { return 0, errNoQuery }
