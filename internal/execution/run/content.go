package run

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"

	"assay/internal/evidence/audit"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// content is what a trial's keys and values are.
type content struct {
	experiment *experiment.Experiment
	cell       experiment.Cell
	store      experiment.Store
	tag        uint32 // in the check of every value
	namespace  string // with which keys begin on a server that others use too; "": keys have none
}

// newContent draws the trial's tag, which stands in the check of all its values, and from which its
// name in the keys of servers is made. The tag is drawn anew each time a trial is run: a repeated
// run, or a trial that is run again, has the same seed, and would otherwise take what the one before
// it left in a server for its own.
func newContent(e *experiment.Experiment, cell experiment.Cell, s experiment.Store) (*content, error) {
	c := &content{experiment: e, cell: cell, store: s}
	var word [4]byte
	for c.tag == 0 {
		if _, err := rand.Read(word[:]); err != nil {
			return nil, fmt.Errorf("drawing the trial's tag: %w", err)
		}
		c.tag = binary.LittleEndian.Uint32(word[:])
	}
	if e.KeyNamespace {
		c.namespace = fmt.Sprintf("%08x", c.tag)
	}
	return c, nil
}

// keys returns what the trial's keys look like.
func (c *content) keys() keyval.KeyShape {
	shape := c.experiment.Keys
	if c.experiment.KeyNamespace {
		shape.Prefix = c.namespace + shape.Prefix[len(experiment.KeyPlaceholder):]
	}
	return shape
}

// prepare is the part of the request that all phases of the trial share.
func (c *content) prepare(name string, number int, loaded uint64) *control.Prepare {
	e := c.experiment
	return &control.Prepare{
		Phase: name, Number: number, Keys: c.keys(),
		Values: keyval.ValueShape{
			PoolBytes: e.Values.PoolBytes, PoolSeed: e.Seed, RepeatedPermille: e.Values.RepeatedPermille,
			LengthMax:    c.lengthMax(),
			ShortLengths: c.shortLengths(), TrialTag: c.tag,
		},
		Verify: e.Verify, LoadedRecords: loaded, Clock: e.Clock,
	}
}

func (c *content) lengthMax() int {
	if record := c.experiment.Values.Record(); record != nil {
		return record.ProofBytes()
	}
	return c.experiment.ValueBytesMax(c.cell)
}

// alone reports whether no other trial's records have the trial's keys.
func (c *content) alone() bool { return c.namespace != "" || !c.store.Outlives() }

// shortLengths are the lengths of values that have no room for a stamp.
func (c *content) shortLengths() (lengths uint32) {
	if c.experiment.Values.Record() != nil {
		return 0
	}
	for _, bytes := range c.lengths() {
		lengths |= keyval.ShortLength(bytes)
	}
	return lengths
}

// lengths are those of all values that the trial writes, some of them more than once, and of the longest with
// what is appended to it.
func (c *content) lengths() (all []int) {
	for _, size := range c.sizes() {
		all = append(all, size.Bytes)
	}
	for i := range c.experiment.Phases {
		if replay := c.experiment.Phases[i].Replay; replay != nil {
			all = append(all, replay.ForTrace().Bytes...)
		}
		for _, part := range c.experiment.Phases[i].Parts() {
			for _, step := range part.Request {
				if step.Bytes > 0 {
					all = append(all, step.Bytes)
				}
			}
		}
	}
	if more := c.experiment.AppendedBytes(c.cell); more > 0 {
		all = append(all, slices.Max(all)+more)
	}
	return all
}

func (c *content) sizes() []trace.Size {
	if len(c.experiment.Values.Sizes) == 0 {
		return []trace.Size{{Bytes: c.cell.ValueBytes, Weight: 1}}
	}
	var sizes []trace.Size
	for _, s := range c.experiment.Values.Sizes {
		sizes = append(sizes, trace.Size{Bytes: s.Bytes, Weight: s.Weight})
	}
	return sizes
}

// expects returns what the conductor knows of a phase. there are the records that are there when it
// begins.
func (c *content) expects(there audit.Presence) expected {
	know := expected{keys: c.keys(), columns: c.experiment.Values.Record(), there: there,
		verify: c.experiment.Verify, answers: c.store.Description.Kind != store.None}
	if columns := know.columns; columns != nil {
		know.values = within64{uint64(columns.BytesMin()), uint64(columns.BytesMax())}
		know.queries = c.experiment.Values.QueryShapes()
	} else {
		lengths := c.lengths()
		know.values = within64{uint64(slices.Min(lengths)), uint64(slices.Max(lengths))}
	}
	if c.store.Outlives() { // a server may keep records of other trials
		know.there.Possible = nil
	}
	return know
}

// slotNames returns what names the slots of a trace in messages: a question by its query.
func (c *content) slotNames(file *trace.File) func(slot int) string {
	return func(slot int) string {
		o, query := file.Operations[slot], file.Query(slot)
		if o.Asks() && query < len(c.experiment.Values.Queries) {
			return experiment.QuestionName(o.String(), c.experiment.Values.Queries[query].Name)
		}
		return o.String()
	}
}
