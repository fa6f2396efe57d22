package verdict

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"assay/internal/record"
	"assay/internal/stat"
)

// otherWork says in what the work of a phase differs between two runs: then no ratio of its rates says anything. "": it is the same.
func otherWork(old, new *record.Run, phase string) string {
	var differ []string
	a, b := phaseNamed(old, phase), phaseNamed(new, phase)
	compare := func(what string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			differ = append(differ, what)
		}
	}
	compare("keys", old.Experiment.Keys, new.Experiment.Keys)
	x, y := old.Experiment.Values, new.Experiment.Values
	compare("columns", x.Columns, y.Columns)
	compare("indexes", x.Indexes, y.Indexes)
	compare("repeated", x.RepeatedPermille, y.RepeatedPermille)
	compare("cache", old.Experiment.Cache, new.Experiment.Cache)
	compare("mix", a.Mix, b.Mix)
	compare("order", a.Order, b.Order)
	compare("batch", max(a.Batch, 1), max(b.Batch, 1))
	compare("scan", a.Scan, b.Scan)
	compare("query", a.Query, b.Query)
	compare("rate", a.Rate, b.Rate)
	compare("operations", a.Operations, b.Operations)
	return strings.Join(differ, ", ")
}

// otherArms warns where arms of one name are not the same in both runs: that may be what is compared, and may be a mistake.
func otherArms(old, new *record.Run) (warnings []stat.Warning) {
	var differ []string
	for _, a := range old.Experiment.Stores {
		for _, b := range new.Experiment.Stores {
			switch {
			case a.Name != b.Name:
			case a.Driver != b.Driver:
				differ = append(differ, fmt.Sprintf("%s is %s and %s", a.Name, a.Driver, b.Driver))
			case !maps.Equal(a.Options, b.Options):
				differ = append(differ, a.Name+" has other options")
			}
		}
	}
	if a, b := old.Environment.Assay, new.Environment.Assay; a != b {
		differ = append(differ, fmt.Sprintf("Assay is %s and %s", a, b))
	}
	if len(differ) == 0 {
		return nil
	}
	return []stat.Warning{{Code: "arms-differ", Evidence: strings.Join(differ, "; "), Remedy: "nothing, if that is what you compare"}}
}
