package read

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

const requestStepsMax = 100

// StepForm is a step of a request: an operation's name, or {name: length of its value}, or
// {name: length of its value, adds: items}.
type StepForm struct {
	Operation string
	Bytes     *Count
	Adds      *Count
	at        place
}

const (
	addsField   = "adds"
	itemsAddMax = 1_000_000
)

func (s *StepForm) fromNode(n *node, path string) *Error {
	const what = "an operation, or a table of an operation and the length of its value, such as {update: 600} or {update: 600, adds: 3}"
	s.at = n.at
	switch {
	case n.kind == scalar:
		s.Operation = n.text
		return nil
	case n.kind != table:
		return n.expected(path, what)
	}
	for _, e := range n.entries {
		at := join(path, e.key)
		switch {
		case e.key == addsField:
			items, whole := parseWhole(e.value.text)
			if !whole || items < 1 || items > itemsAddMax {
				return e.value.expected(at, fmt.Sprintf("how many items the write adds to the record, from 1 to %d", itemsAddMax))
			}
			s.Adds = new(Count(items))
		case s.Operation != "":
			return n.expected(path, what)
		default:
			bytes, err := e.value.bytes(at, "the length of a value, such as 600 or 1KiB")
			if err != nil {
				return err
			}
			s.Operation, s.Bytes = e.key, new(Count(bytes))
		}
	}
	if s.Operation == "" {
		return n.expected(path, what)
	}
	return nil
}

// stepNames are the operations that a request may be made of.
func stepNames() []string {
	return slices.DeleteFunc(trace.OperationNames(), func(name string) bool {
		o, _ := trace.ParseOperation(name)
		return !o.OneKey() || o == trace.ReadOrFill || o == trace.Append
	})
}

// request refuses steps that can't be, and gives a phase of requests the mix of their steps: what
// holds for operations holds for them.
func (r workResolver) request(p *PhaseFile) *Error {
	if len(p.Request) == 0 {
		return nil
	}
	switch {
	case p.Load:
		return r.fail(r.in("request"), "a load has no requests: it stores every record once")
	case len(p.Mix) > 0:
		return r.fail(r.in("request"), "the phase %s has a mix and a request: expected one of them", p.Name)
	case p.Batch != nil:
		return r.fail(r.in("batch"), "requests have no batches: each step is one operation")
	case p.Order.Distribution == trace.Counting || p.Order.Distribution == trace.Latest:
		return r.fail(r.in("order"), "requests have no order %s", p.Order.Distribution).hint("expected uniform, zipfian, sequential or shuffled")
	case len(p.Request) > requestStepsMax:
		return r.fail(r.in("request"), "a request has at most %d steps, not %d", requestStepsMax, len(p.Request))
	}
	p.Mix = map[string]float64{}
	for i, s := range p.Request {
		path := strings.Join(r.in("request"), ".")
		o, _ := trace.ParseOperation(s.Operation)
		if !slices.Contains(mixNames(), s.Operation) {
			return unknownOperation(s.at, path, s.Operation)
		}
		if !o.OneKey() {
			return s.at.fail(path, "%s can't be a step of a request: it is not about one key", s.Operation).
				hint("expected one of %s", strings.Join(stepNames(), ", "))
		}
		if s.Bytes != nil && !o.Puts() {
			return s.at.fail(path, "%s writes no value: it has no length", s.Operation)
		}
		if s.Adds != nil && !o.Writes() {
			return s.at.fail(path, "%s writes no value: it adds no items", s.Operation)
		}
		if s.Bytes != nil && (*s.Bytes < 1 || *s.Bytes > valueBytesMax) {
			return s.at.fail(path, "a value has 1 to %d bytes, not %d", uint64(valueBytesMax), *s.Bytes)
		}
		if s.Bytes != nil && len(r.file.Values.Columns) > 0 {
			return s.at.fail(path, "values are records with columns: their length is that of the columns")
		}
		if i > 0 && (o == trace.Insert || o == trace.Add) {
			return s.at.fail(path, "%s makes the key that the request is about: it is the first step or none", s.Operation)
		}
		p.Mix[s.Operation]++
	}
	return nil
}

// steps takes over the steps of requests.
func (r workResolver) steps(p PhaseFile, resolved *experiment.Phase) *Error {
	for _, s := range p.Request {
		resolved.Request = append(resolved.Request, experiment.Step{Operation: s.Operation, Bytes: orCount(s.Bytes,
			0), Adds: orCount(s.Adds, 0)})
	}
	return nil
}
