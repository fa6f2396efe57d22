package read

import (
	"maps"
	"slices"
	"strings"
)

// Variant is the first store of an experiment under another name, with options that differ.
type Variant struct {
	Name    string
	Options map[string]string // on top of the store's own; with "server." before their names those of its server
	Tuned   string            // the workload on which they were tuned; "": on none
}

// WithVariants returns a change that puts variants of the first store in the place of all stores.
func (l *Loaded) WithVariants(variants []Variant) Change {
	stores := &node{kind: list}
	for _, v := range variants {
		stores.items = append(stores.items, l.variant(v))
	}
	return Change{Flag: "--set", Path: "stores", Value: flow(stores)}
}

// StoresChange returns a change that puts the experiment's stores in the place of another's.
func (l *Loaded) StoresChange() Change {
	return Change{Flag: "--set", Path: "stores", Value: flow(l.root.field("stores"))}
}

func (l *Loaded) variant(v Variant) *node {
	given := l.root.field("stores").items[0]
	arm := given.clone()
	if arm.kind != table {
		arm = &node{kind: table}
		arm.setText("driver", given)
	}
	arm.setText("name", &node{kind: scalar, text: v.Name, quoted: true})
	for _, name := range slices.Sorted(maps.Keys(v.Options)) {
		of, short := arm, name
		if rest, ofServer := strings.CutPrefix(name, "server."); ofServer {
			of, short = arm.tableOf("server", "start"), rest
		}
		of.tableOf("options", "").setText(short, &node{kind: scalar, text: v.Options[name]})
	}
	if v.Tuned != "" {
		arm.setText("tuned", &node{kind: scalar, text: v.Tuned, quoted: true})
	}
	return arm
}

func (n *node) setText(key string, value *node) { n.set(key, n.at, value) }

// tableOf returns the table under a key, made where there is none. A single value there, such as start,
// becomes true under the key that it is short for.
func (n *node) tableOf(key, short string) *node {
	of := n.field(key)
	if of == nil || of.kind != table {
		made := &node{kind: table, at: n.at}
		if short != "" {
			made.setText(short, &node{kind: scalar, text: "true"})
		}
		of = made
		n.set(key, n.at, of)
	}
	return of
}
