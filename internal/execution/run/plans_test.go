package run

import (
	"errors"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

func asks(queries ...int) *trace.File {
	file := &trace.File{Operations: []trace.Operation{trace.Query}}
	var entries []trace.Entry
	for class, q := range queries {
		file.Amounts[class] = uint32(q)
		entries = append(entries, trace.MakeEntry(trace.Query, uint64(10+class), uint8(class), false))
	}
	file.Threads = []trace.Thread{{Entries: entries}}
	return file
}

// Each question is asked once, whatever comes of it; a worker that is gone ends the asking.
func TestPlanIsAskedForOnce(t *testing.T) {
	t.Parallel()
	var asked []int
	var answer error
	p := planner{true, func(r control.Request, result any) error {
		asked = append(asked, r.Explain.Query)
		*result.(*control.Explained) = control.Explained{Use: store.IndexFinds, Index: "i"}
		return answer
	}}
	known := []record.QueryPlan{{Operation: trace.Query.String(), Position: 1}}
	all, err := p.ask("look", asks(0, 1, 0), known)
	if err != nil || len(all) != 2 || len(asked) != 1 || all[1].Index != "i" || all[1].Phase != "look" {
		t.Errorf("%v: asked %v, told %+v", err, asked, all)
	}
	answer = &control.Error{Message: "no plan of it"}
	if all, err = p.ask("look", asks(2), nil); err != nil || all[0].Why != "no plan of it" {
		t.Errorf("%v: %+v", err, all)
	}
	answer = errors.New("gone")
	if _, err = p.ask("look", asks(2), nil); !errors.Is(err, answer) {
		t.Errorf("%v", err)
	}
	p.explains, asked = false, nil
	if all, err = p.ask("look", asks(2), nil); err != nil || all[0].Why != notReported || asked != nil {
		t.Errorf("%v: %+v", err, all)
	}
}
