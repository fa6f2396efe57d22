package read

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/internal/experiment"
)

// FaultFile is one thing that happens to a server while a phase runs.
type FaultFile struct {
	At     DurationForm `yaml:"at" jsonschema_description:"How long after the phase's start."`
	Kill   NodeForm     `yaml:"kill" jsonschema_description:"node N: the server's processes are killed (SIGKILL); its files stay."`
	Freeze NodeForm     `yaml:"freeze" jsonschema_description:"node N: the server's processes are stopped (SIGSTOP), its connections stay."`
	Cut    NodeForm     `yaml:"cut" jsonschema_description:"node N: nothing passes between clients and the server any more; Assay stands between them as a proxy from the trial's start."`
	Start  NodeForm     `yaml:"start" jsonschema_description:"node N: undoes what was done to it."`
}

// NodeForm is one of a store's servers, counted from 1 in the order of its endpoints: node 2, or 2.
// 0: not given.
type NodeForm int

func (f *NodeForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	digits := strings.TrimSpace(strings.TrimPrefix(n.text, "node"))
	number, err := strconv.Atoi(digits)
	if n.kind != scalar || err != nil || number < 1 || number > experiment.ServersMax {
		return n.expected(path, fmt.Sprintf("node N, with N from 1 to %d", experiment.ServersMax))
	}
	*f = NodeForm(number)
	return nil
}

func (f FaultFile) doing() (all []experiment.Fault) {
	for _, one := range []experiment.Fault{{Does: experiment.FaultKill, Node: int(f.Kill)}, {Does: experiment.FaultFreeze, Node: int(f.Freeze)},
		{Does: experiment.FaultCut, Node: int(f.Cut)}, {Does: experiment.FaultStart, Node: int(f.Start)}} {
		if one.Node > 0 {
			one.At = time.Duration(f.At)
			all = append(all, one)
		}
	}
	return all
}

// faults takes over what happens to servers in a phase.
func (r workResolver) faults(file PhaseFile, p *experiment.Phase) *Error {
	down := map[int]string{}
	for k, f := range file.Faults {
		at := func(field ...string) []string { return r.in(append([]string{"faults", fmt.Sprint(k)}, field...)...) }
		all := f.doing()
		switch {
		case p.Load:
			return r.fail(r.in("faults"), "a load has no faults: what follows works on its records")
		case p.Duration == 0:
			return r.fail(r.in("faults"), "the phase %s ends with its operations: faults need for: DURATION", p.Name)
		case len(all) != 1:
			return r.fail(at(), "a fault does one thing to one server").hint("expected {at: 10s, kill: node 2}, or freeze, cut or start in place of kill")
		case f.At == 0:
			return r.fail(at(), "a fault without its time").hint("expected at: DURATION, counted from the phase's start")
		}
		fault := all[0]
		last := time.Duration(0)
		if k > 0 {
			last = p.Faults[k-1].At
		}
		switch was := down[fault.Node]; {
		case fault.At >= p.Duration:
			return r.fail(at("at"), "the phase %s lasts %s: nothing happens in it at %s", p.Name, p.Duration, fault.At)
		case fault.At < last:
			return r.fail(at("at"), "faults stand in the order of their times: %s comes before %s", fault.At, last)
		case fault.Does == experiment.FaultStart && was == "":
			return r.fail(at("start"), "node %d runs at %s: nothing was done to it", fault.Node, fault.At)
		case fault.Does != experiment.FaultStart && was != "":
			return r.fail(at(fault.Does), "node %d is down at %s, by %s: start it first", fault.Node, fault.At, was)
		}
		down[fault.Node] = fault.Does
		if fault.Does == experiment.FaultStart {
			delete(down, fault.Node)
		}
		p.Faults = append(p.Faults, fault)
	}
	if len(p.Faults) > 0 && p.HasCut() {
		r.note("clients of servers reach them through a proxy of Assay's in all phases, because the phase %s cuts one off", p.Name)
	}
	return nil
}
