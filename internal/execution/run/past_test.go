package run

import (
	"slices"
	"testing"

	"assay/internal/evidence/audit"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

func TestPast_add(t *testing.T) {
	inserts := &trace.File{Operations: []trace.Operation{trace.Insert}, Threads: []trace.Thread{
		{Stride: 2, Entries: []trace.Entry{trace.MakeEntry(trace.Insert, 100, 0, true)}},
		{Stride: 2, Entries: []trace.Entry{trace.MakeEntry(trace.Insert, 101, 0, true)}},
	}}
	var p past
	p.add(audit.Phase{}, inserts, []uint64{3, 2}, []uint64{3, 2}, 0)
	if p.loaded != 0 || p.fresh != inserts.IndexEnd([]uint64{3, 2}) || len(p.phases) != 1 {
		t.Errorf("after inserts: %+v", p)
	}
	fresh := p.fresh
	p.add(audit.Phase{}, inserts, []uint64{0, 0}, []uint64{0, 0}, 50)
	if p.loaded != 50 || p.fresh != fresh || len(p.phases) != 2 {
		t.Errorf("what a phase did not do was forgotten or added: %+v", p)
	}
	if spans := p.written(); !slices.ContainsFunc(spans, func(s trace.Span) bool {
		return s.From == 0 && s.Below >= 50
	}) || spans.End() < fresh {
		t.Errorf("the trial may have written %v", spans)
	}
}

func TestContent_tags_differ(t *testing.T) {
	e := &experiment.Experiment{KeyNamespace: true, Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16, Prefix: experiment.KeyPlaceholder + "k"}}
	var namespaces []string
	for range 3 {
		c, err := newContent(e, experiment.Cell{}, experiment.Store{})
		if err != nil {
			t.Fatal(err)
		}
		if c.tag == 0 || c.keys().Prefix != c.namespace+"k" {
			t.Errorf("tag %d, namespace %q, keys %+v", c.tag, c.namespace, c.keys())
		}
		namespaces = append(namespaces, c.namespace)
	}
	slices.Sort(namespaces)
	if len(slices.Compact(namespaces)) != 3 {
		t.Errorf("two trials have one namespace: %v", namespaces)
	}
}
