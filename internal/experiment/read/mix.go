package read

import (
	"slices"
	"strings"

	"assay/internal/experiment/trace"
)

// mixNames are the operations that a mix may have.
func mixNames() []string {
	return slices.DeleteFunc(trace.OperationNames(), func(name string) bool {
		return name == trace.Batch.String() || name == trace.MultiRead.String() ||
			name == trace.ReadOrFill.String() || name == trace.Request.String()
	})
}

func onlyInserts(mix map[string]float64) bool {
	for name, weight := range mix {
		if operation, _ := trace.ParseOperation(name); weight > 0 && operation != trace.Insert &&
			operation != trace.Add {
			return false
		}
	}
	return len(mix) > 0
}

// putsFresh says if a mix stores records that were not there.
func putsFresh(mix map[string]float64) bool {
	for _, o := range []trace.Operation{trace.Insert, trace.Upsert, trace.Add} {
		if mix[o.String()] > 0 {
			return true
		}
	}
	return false
}

type weight struct {
	operation, text string
	number          float64
}

// parseMix reads "read=95,update=5"; a lone operation has the weight 100.
func parseMix(text string) (weights []weight, mistake error) {
	in := newSource("--mix "+quoteForShell(text), text, true)
	column := 1
	for _, part := range strings.Split(text, ",") {
		name, number, given := strings.Cut(part, "=")
		if !given {
			name, number, given = strings.Cut(part, ":")
		}
		at := place{in: in, line: 1, column: column, width: max(len(part), 1)}
		column += len(part) + 1
		name, number = strings.TrimSpace(name), strings.TrimSpace(number)
		if !given {
			number = "100"
		}
		number = strings.TrimSuffix(number, "%")
		if meant := otherOperations[strings.ToLower(name)]; slices.Contains(mixNames(), meant) {
			name = meant
		}
		if !slices.Contains(mixNames(), name) {
			return nil, unknownOperation(at.shifted(0, max(len(name), 1)), "mix", name)
		}
		parsed, ok := parseNumber(number)
		if !ok || parsed < 0 {
			return nil, at.fail("mix", "expected OPERATION=WEIGHT, got %q", part).hint("such as --mix read=95,update=5")
		}
		if slices.ContainsFunc(weights, func(w weight) bool { return w.operation == name }) {
			return nil, at.fail("mix", "%s is in the mix twice", name)
		}
		weights = append(weights, weight{name, number, parsed})
	}
	return weights, nil
}

// otherOperations are names that other benchmarks give to operations, and what each may mean here.
var otherOperations = map[string]string{
	"get": "read", "reads": "read", "select": "read",
	"put": "upsert", "set": "upsert", "write": "upsert", "writes": "upsert",
	"overwrite": "update", "remove": "delete", "del": "delete", "range": "scan", "iterate": "scan",
	"getset": "get_and_set", "expire": "touch",
	"rmw": "read_modify_write", "cas": "compare_and_swap",
	"readmodifywrite": "read_modify_write",
}

func unknownOperation(at place, path, name string) *Error {
	e := at.fail(path, "unknown operation %q", name)
	if name == trace.Batch.String() {
		return at.fail(path, "a batch is not an operation of a mix").
			hint("put batch: N beside the mix: its writes then go in batches of N")
	}
	if name == trace.ReadOrFill.String() {
		return at.fail(path, "a fill is not an operation of a mix").hint("put on_miss: fill beside the mix: its reads then fill what they miss")
	}
	if o, _ := trace.ParseOperation(name); o == trace.MultiRead || strings.ToLower(name) == "multi_get" {
		return at.fail(path, "a multi-read is not an operation of a mix").
			hint("put multi_read: N beside the mix: its reads then go in calls of N keys")
	}
	if slices.Contains([]string{"multi_write", "multi_set", "mset"}, strings.ToLower(name)) {
		return at.fail(path, "writes of several records in one call are a batch").
			hint("put batch: N beside the mix: its writes then go in batches of N")
	}
	if meant := otherOperations[strings.ToLower(name)]; meant != "" {
		return e.hint("expected %s", meant)
	}
	return e.hint("expected one of %s", strings.Join(mixNames(), ", ")).near(name, mixNames())
}
