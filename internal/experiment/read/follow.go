package read

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/store"
)

// followed returns the fields that follow from the stores. A flag that replaces a preset's stores asks
// the same question about other stores; what a flag gives itself does not change.
func followed(changes []change) map[string]bool {
	stores, given := false, map[string]bool{}
	for _, c := range changes {
		first, _, deeper := strings.Cut(c.path, ".")
		field := canonical(reflect.TypeFor[File](), first)
		given[field] = true
		stores = stores || field == "stores" && (!deeper || c.value.kind == null)
	}
	return map[string]bool{
		"baseline": stores && !given["baseline"], "durability": stores && !given["durability"], "phases": stores && !given["phases"],
	}
}

// classOrder has the classes from the weakest to the strongest. D2 is not among them: it needs a
// window. D4 comes first, and is taken where there is no other: it depends on how many replicas there are,
// which options choose.
var classOrder = []store.Durability{store.D4, store.D0, store.D1, store.D3}

// followStores leaves out the durability classes that no store here reaches, where others gave the
// classes. Where none is left, or none is given, it takes the strongest class that all stores reach.
func (r *resolver) followStores() *Error {
	if !slices.ContainsFunc(r.e.Stores, func(s experiment.Store) bool { return s.Missing == "" }) {
		return nil
	}
	inCases := slices.ContainsFunc(r.file.Cases, func(c CaseFile) bool {
		return slices.ContainsFunc(c.Changes, func(ch change) bool { return ch.path == "durability" })
	})
	if len(r.file.Durability) == 0 && !inCases {
		forms, why := r.strongest()
		r.note("%s", why)
		r.setDurability(forms)
	}
	if r.fromStores && r.root.field("keys") == nil {
		if err := r.keysForStores(); err != nil {
			return err
		}
	}
	if !r.follows["durability"] {
		return nil
	}
	asked := r.file.Durability
	var kept OneOrMany[DurabilityForm]
	var dropped []string
	for _, form := range asked {
		if slices.ContainsFunc(r.e.Stores, func(s experiment.Store) bool { return s.Reaches(form.Class) }) {
			kept = append(kept, form)
		} else {
			dropped = append(dropped, form.String())
		}
	}
	if len(dropped) == 0 {
		return nil
	}
	why := "durability " + format.List(dropped) + " left out: no store reaches " + itOrThem(len(dropped))
	if len(kept) == 0 {
		kept, why = r.strongest()
	}
	r.note("%s", why)
	r.setDurability(kept)
	return nil
}

// keysForStores makes keys decimal where a store takes text only, and positions where one is an
// array.
func (r *resolver) keysForStores() *Error {
	for _, s := range r.e.Stores {
		var fields []entry
		scalarOf := func(key, text string) entry {
			return entry{key, r.root.at, &node{kind: scalar, text: text, at: r.root.at}}
		}
		switch {
		case s.Description.KeyText:
			fields = []entry{scalarOf("format", "decimal")}
			r.note("keys are decimal: %s takes no binary keys", s.Name)
		case s.Description.KeyNumbers:
			fields = []entry{scalarOf("format", "binary"), scalarOf("bytes", "8")}
			r.note("keys have 8 bytes: %s takes positions in an array", s.Name)
		default:
			continue
		}
		keys := &node{kind: table, at: r.root.at, entries: fields}
		r.root.set("keys", r.root.at, keys)
		if err := decode(keys, reflect.ValueOf(&r.file.Keys).Elem(), "keys"); err != nil {
			return err
		}
		return r.keys()
	}
	return nil
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// defaultDurability is the class of a case without one, where other cases have theirs.
func (r *resolver) defaultDurability() DurabilityForm {
	if !slices.ContainsFunc(r.e.Stores, func(s experiment.Store) bool { return s.Missing == "" }) {
		return DurabilityForm{Class: store.D1} // nothing is known of them
	}
	forms, _ := r.strongest()
	return forms[0]
}

// reached is how a store reaches a class: as its driver claims, or, of a server that was asked, as it
// is set.
type reached struct {
	store experiment.Store
	given *Given // nil: as the driver claims
}

func (s reached) form(class store.Durability) (DurabilityForm, bool) {
	if s.given == nil {
		return DurabilityForm{Class: class}, s.store.Reaches(class)
	}
	i := slices.IndexFunc(s.given.Classes, func(form DurabilityForm) bool { return form.Class == class })
	if i < 0 {
		return DurabilityForm{}, false
	}
	return s.given.Classes[i], true
}

// strongest returns the strongest class that all stores reach, and says so. Stores without a common
// class each get their own strongest.
func (r *resolver) strongest() (forms OneOrMany[DurabilityForm], why string) {
	var claimed, known []reached
	for _, s := range r.e.Stores {
		if s.Missing != "" {
			continue
		}
		claimed = append(claimed, reached{store: s})
		asked := reached{store: s}
		if r.drivers.Gives != nil && s.Outlives() {
			asked.given = r.drivers.Gives(s)
		}
		known = append(known, asked)
	}
	forms, why = strongestOf(known)
	if unset, _ := strongestOf(claimed); !slices.Equal(forms, unset) {
		for _, s := range known {
			if s.given != nil && s.given.Stronger != "" {
				why += "; as it is set, " + s.given.Stronger
			}
		}
	}
	return forms, why
}

func strongestOf(known []reached) (forms OneOrMany[DurabilityForm], why string) {
	for _, class := range slices.Backward(classOrder) {
		all := len(known) > 0
		for _, s := range known {
			_, reaches := s.form(class)
			all = all && reaches
		}
		if all {
			return OneOrMany[DurabilityForm]{{Class: class}},
				"durability: " + string(class) + ", the strongest class that all stores reach"
		}
	}
	var names []string
	for _, s := range known {
		classes := classOrder
		if s.given != nil && len(s.given.Classes) > 0 {
			classes = []store.Durability{s.given.Classes[0].Class} // D2 too, whose window is known here
		}
		for _, class := range slices.Backward(classes) {
			if form, reaches := s.form(class); reaches {
				forms = append(forms, form)
				break
			}
		}
	}
	slices.SortFunc(forms, func(a, b DurabilityForm) int { return strings.Compare(a.String(), b.String()) })
	forms = slices.Compact(forms)
	for _, form := range forms {
		names = append(names, form.String())
	}
	switch {
	case len(forms) == 0:
		return OneOrMany[DurabilityForm]{{Class: store.D2, Window: time.Second}},
			"durability: D2(1s), because a class without a window is not reached"
	case len(forms) == 1:
		return forms, "durability: " + names[0] + ", the strongest class that all stores reach"
	}
	return forms, "durability: " + format.List(names) + ", because no class is common to all stores"
}

func (r *resolver) setDurability(forms OneOrMany[DurabilityForm]) {
	r.file.Durability = forms
	value := &node{kind: list, at: r.root.at}
	for _, form := range forms {
		value.items = append(value.items, &node{kind: scalar, text: form.String(), at: r.root.at})
	}
	if len(value.items) == 1 {
		value = value.items[0]
	}
	r.root.set("durability", r.root.at, value)
}

func (r *resolver) dropPhase(name string) {
	phases := r.root.field("phases")
	phases.items = slices.DeleteFunc(phases.items, func(n *node) bool { return n.textOf("name") == name })
}
