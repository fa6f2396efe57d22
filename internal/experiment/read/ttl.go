package read

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// TTLForm is for how long values live: a duration, or a mixture of them.
type TTLForm struct {
	Times []TTLFile
	list  bool // they stand in a list, and so have numbers
}

// TTLFile is one time of a mixture.
type TTLFile struct {
	After  LifeForm `yaml:"after" jsonschema_description:"How long after its write the store is to remove the value; none: never."`
	Weight float64  `yaml:"weight" jsonschema_description:"How often it comes, relative to the other times."`
}

// LifeForm is a duration, or none.
type LifeForm struct {
	Duration DurationForm
	given    bool
}

func (f *LifeForm) fromNode(n *node, path string) *Error {
	if f.given = n.kind != null; n.kind == scalar && n.text == "none" {
		return nil
	}
	return f.Duration.fromNode(n, path)
}

const ttlWords = "a duration such as 30s, or a mixture such as [{after: 30s, weight: 90}, {after: none, weight: 10}]"

func (f *TTLForm) fromNode(n *node, path string) *Error {
	switch n.kind {
	case null:
		return nil
	case scalar:
		var life LifeForm
		if err := life.Duration.fromNode(n, path); err != nil {
			return n.expected(path, ttlWords)
		}
		life.given = true
		f.Times = []TTLFile{{After: life, Weight: 1}}
		return nil
	case list:
		f.list = true
		if len(n.items) == 0 {
			return n.at.fail(path, "an empty list: expected at least one time").hint("expected %s", ttlWords)
		}
		for i, item := range n.items {
			var t TTLFile
			if item.kind != table {
				return item.expected(join(path, fmt.Sprint(i)), "a time and its weight, such as {after: 30s, weight: 90}")
			}
			if err := decodeStruct(item, reflect.ValueOf(&t).Elem(), join(path, fmt.Sprint(i))); err != nil {
				return err
			}
			f.Times = append(f.Times, t)
		}
		return nil
	}
	return n.expected(path, ttlWords)
}

// ttl resolves for how long what a phase or group writes is to live.
func (r workResolver) ttl(p PhaseFile, resolved *experiment.Phase) *Error {
	if p.TTL == nil || len(p.TTL.Times) == 0 {
		return nil
	}
	takes := p.Load
	for name, weight := range p.Mix {
		o, _ := trace.ParseOperation(name)
		takes = takes || weight > 0 && (o.TakesTTL() || o == trace.Read && p.OnMiss != "")
	}
	switch {
	case len(p.Request) > 0:
		return r.fail(r.in("ttl"), "what requests write has no TTL").hint("use a mix of reads and updates in place of the request")
	case !takes:
		return r.fail(r.in("ttl"), "the phase %s has no insert, update, upsert, touch and fill: a TTL has no effect", p.Name)
	case resolved.Batch > 1 && !p.Load:
		return r.fail(r.in("ttl"), "batches have no TTL: each of its values would need one").hint("leave out batch, or ttl")
	case len(r.file.Values.Columns) > 0:
		return r.fail(r.in("ttl"), "records with columns have no TTL").hint("leave out values.columns")
	case r.file.Latency.Every > 1:
		return r.fail(r.in("ttl"), "with latency: sampled(%d) most operations have no time, from which a TTL could count", r.file.Latency.Every).
			hint("leave out latency, or ttl")
	case r.has([]string{"agents"}):
		return r.fail(r.in("ttl"), "agents on several machines do not know when others wrote: values have no TTL there").hint("leave out agents, or ttl")
	}
	for i, t := range p.TTL.Times {
		at := r.in("ttl")
		if p.TTL.list {
			at = r.in("ttl", fmt.Sprint(i))
		}
		life := time.Duration(t.After.Duration)
		switch {
		case !t.After.given:
			return r.fail(at, "a time without after").hint("expected {after: 30s, weight: 90}")
		case t.Weight <= 0 || t.Weight > 1e12:
			return r.fail(append(at, "weight"), "each time needs a weight above 0 (and at most 1e12)")
		case life%time.Millisecond != 0 || life > math.MaxUint32*time.Millisecond:
			return r.fail(at, "a TTL is whole milliseconds, at most 49 days, not %s", life)
		case slices.ContainsFunc(resolved.TTL, func(o experiment.TTL) bool { return o.Life == life }):
			return r.fail(at, "the time %s stands there twice", life)
		}
		resolved.TTL = append(resolved.TTL, experiment.TTL{Life: life, Weight: t.Weight})
	}
	if len(resolved.TTL)*max(len(r.e.Values.Sizes), 1) > ttlClassesMax {
		return r.fail(r.in("ttl"), "%d times and %d sizes: a phase has at most %d different pairs of them", len(resolved.TTL),
			len(r.e.Values.Sizes), ttlClassesMax)
	}
	return nil
}

// ttlClassesMax leaves a trace classes for lengths of scans.
const ttlClassesMax = 120

// expiring refuses, behind a phase whose values have a TTL, what could not be judged.
func (r *resolver) expiring() *Error {
	expires := false
	for i, p := range r.e.Phases {
		for j, part := range p.Parts() {
			expires = expires || len(part.TTL) > 0
			if !expires {
				continue
			}
			if len(part.Request) > 0 {
				return r.fail(r.part(p, i, j).in("request"), "requests on values with a TTL can't be checked: a record that has expired would be a lost update").
					hint("leave out ttl, or put the requests into an experiment of their own")
			}
			if part.Mix[trace.Append.String()] > 0 {
				return r.fail(r.part(p, i, j).in("mix"), "append beside values with a TTL is not supported: parts of an expired value can't be recognised").
					hint("leave out append, or ttl")
			}
			if part.Mix[trace.Add.String()] > 0 {
				return r.fail(r.part(p, i, j).in("mix"), "add beside values with a TTL can't be checked: whether a record has expired before it is the store's to say").
					hint("leave out add, or ttl")
			}
		}
	}
	return nil
}
