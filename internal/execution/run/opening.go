package run

import (
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/store"
)

// opening is how a trial's store is opened: which class it has before its records are loaded and
// after that, where it is, and what its records are made of.
type opening struct {
	experiment *experiment.Experiment
	cell       experiment.Cell
	store      experiment.Store
	tested     *underTest
	disk       *disk
}

// first is the class in which the store is opened first.
func (o *opening) first() store.Durability {
	if o.loads() && !o.store.Description.ServerSetsClass {
		return o.store.Description.Durability[0].Class
	}
	return o.cell.Durability
}

func (o *opening) loads() bool {
	for _, p := range o.experiment.Phases {
		if p.Load {
			return true
		}
	}
	return false
}

// unmeasuredHandles is how threads share handles in what is not measured. A new one for each operation
// takes several times as long as the operations. A store in memory is not opened again after its load,
// so that its load has those of the cell.
func unmeasuredHandles(c experiment.Cell, kind store.Kind) string {
	if c.Handles == experiment.PerOperation && kind != store.Memory {
		return experiment.PerThread
	}
	return c.Handles
}

// requestUnmeasured is request for a load, or to delete keys.
func (o *opening) requestUnmeasured(class store.Durability) control.Open {
	r := o.request(class)
	r.Handles = unmeasuredHandles(o.cell, o.store.Description.Kind)
	return r
}

// request asks for the store in a durability class, but for who opens it first and its threads.
func (o *opening) request(class store.Durability) control.Open {
	return control.Open{
		Driver: o.store.Driver, Directory: o.directory(), Endpoints: o.tested.clientEndpoints(), Durability: class,
		LossWindowNS: int64(o.cell.LossWindow), Options: o.tested.driverOptions(), Handles: o.cell.Handles,
		PoolHandles: o.cell.PoolHandles, Pipeline: o.cell.Pipeline,
	}
}

// definition gives the records their columns and names all phases' queries; nil: they have none.
func (o *opening) definition() *control.Define {
	values := &o.experiment.Values
	if len(values.Columns) == 0 {
		return nil
	}
	d := &control.Define{Columns: values.Columns, Queries: values.Queries}
	indexes, _ := o.experiment.IndexesOf(o.store)
	for _, x := range indexes {
		d.Indexes = append(d.Indexes, control.Index{Column: x.Column, Kind: x.Kind, Descending: x.Descending})
	}
	return d
}

// directory is where the store's files go, if the worker makes them.
func (o *opening) directory() string {
	if o.store.Description.Kind == store.Embedded {
		return o.disk.data
	}
	return ""
}
