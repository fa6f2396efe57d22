package read

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/experiment"
	"assay/store"
)

// FaultFile is one thing that happens to a server while a phase runs.
type FaultFile struct {
	At     DurationForm `yaml:"at" jsonschema_description:"How long after the phase's start."`
	Kill   NodeForm     `yaml:"kill" jsonschema_description:"node N: the server's processes are killed (SIGKILL); its files stay."`
	Freeze NodeForm     `yaml:"freeze" jsonschema_description:"node N: the server's processes are stopped (SIGSTOP), its connections stay."`
	Cut    NodeForm     `yaml:"cut" jsonschema_description:"node N: nothing passes between clients and the server any more; Assay stands between them as a proxy from the trial's start."`
	Start  NodeForm     `yaml:"start" jsonschema_description:"node N: undoes what was done to it."`
	Reset  NodeForm     `yaml:"reset" jsonschema_description:"node N: all connections to it that are open are reset at once; new ones are let through."`

	Delay     DelayForm       `yaml:"delay" jsonschema_description:"20ms, or 20ms ± 5ms: answers of node: come so much later."`
	Bandwidth BandwidthForm   `yaml:"bandwidth" jsonschema_description:"10MB/s: so much passes to and from node:, in each direction, over all connections."`
	Drop      PartForm        `yaml:"drop_connections" jsonschema_description:"10%: this share of the connections to node: is reset at once, chosen by chance."`
	Memory    MemoryLimitForm `yaml:"memory" jsonschema_description:"512MiB: the server's processes may hold so many bytes, page cache included."`
	CPU       CPUTimeForm     `yaml:"cpu" jsonschema_description:"50%: the server's processes get so much of the time of one CPU; 150% is one and a half."`
	SlowDisk  SlowDiskFile    `yaml:"slow_disk" jsonschema_description:"The most that the disk of the data directory does for the server's processes in a second, and how much later it answers."`
	Node      NodeForm        `yaml:"node" jsonschema_description:"The server that delay, bandwidth, drop_connections, memory, cpu and slow_disk are of: node N, or N. Default: node 1."`
}

// SlowDiskFile is the most that a disk does in a second, and how much longer it takes.
type SlowDiskFile struct {
	Latency    DurationForm  `yaml:"latency" jsonschema_description:"5ms: a sync, and a read that no cache has, take so much longer. Default: no longer."`
	ReadIOPS   IOPSForm      `yaml:"read_iops" jsonschema_description:"Reads a second. Default: no limit."`
	WriteIOPS  IOPSForm      `yaml:"write_iops" jsonschema_description:"Writes a second. Default: no limit."`
	ReadBytes  BandwidthForm `yaml:"read" jsonschema_description:"Bytes a second that are read, such as 10MB/s. Default: no limit."`
	WriteBytes BandwidthForm `yaml:"write" jsonschema_description:"Bytes a second that are written, such as 10MB/s. Default: no limit."`
}

func (f SlowDiskFile) limits() experiment.SlowDisk {
	return experiment.SlowDisk{Latency: time.Duration(f.Latency), ReadIOPS: uint64(f.ReadIOPS),
		WriteIOPS: uint64(f.WriteIOPS),
		ReadBytes: uint64(f.ReadBytes), WriteBytes: uint64(f.WriteBytes)}
}

// IOPSForm is what a disk does in a second. 0: not given.
type IOPSForm uint64

const iopsMax = 10_000_000

func (f *IOPSForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	number, ok := parseWhole(n.text)
	if n.kind != scalar || !ok || number < 1 || number > iopsMax {
		return n.expected(path, fmt.Sprintf("a whole number from 1 to %d", iopsMax))
	}
	*f = IOPSForm(number)
	return nil
}

// CPUTimeForm is CPU time a second, as a share of one CPU's: 50%, 150%, 0.5.
type CPUTimeForm float64

// cpuTimeMin is what a quota can be, and cpuTimeMax more than machines have.
const cpuTimeMin, cpuTimeMax = 0.01, 1024

func (f *CPUTimeForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	text, percent := strings.CutSuffix(n.text, "%")
	number, ok := parseNumber(strings.TrimSpace(text))
	if percent {
		number /= 100
	}
	if n.kind != scalar || !ok || number < cpuTimeMin || number > cpuTimeMax {
		return n.expected(path, "a share of one CPU's time from 1% on, such as 50%")
	}
	*f = CPUTimeForm(number)
	return nil
}

// DelayForm is a duration, and how much more or less it may be: 20ms, 20ms ± 5ms or 20ms +- 5ms.
type DelayForm struct{ Delay, Jitter time.Duration }

func (f *DelayForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	text, more, jitters := strings.Cut(strings.ReplaceAll(n.text, "+-", "±"), "±")
	delay, ok := parseDuration(strings.TrimSpace(text))
	jitter := time.Duration(0)
	if jitters && ok {
		jitter, ok = parseDuration(strings.TrimSpace(more))
	}
	if n.kind != scalar || !ok || delay <= 0 || jitter < 0 || jitter > delay {
		return n.expected(path, "a duration such as 20ms, or 20ms ± 5ms, with less behind ± than before it")
	}
	*f = DelayForm{delay, jitter}
	return nil
}

// BandwidthForm is bytes a second: 10MB/s, 512KiB/s.
type BandwidthForm float64

func (f *BandwidthForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	text, perSecond := strings.CutSuffix(n.text, "/s")
	bytes, err := store.ParseBytes(strings.TrimSpace(text))
	if n.kind != scalar || !perSecond || err != nil || bytes < bandwidthMin {
		return n.expected(path, "bytes a second from 1KB/s on, such as 10MB/s")
	}
	*f = BandwidthForm(bytes)
	return nil
}

// bandwidthMin is below what a protocol's own timeouts endure.
const bandwidthMin = 1000

// PartForm is a share up to the whole: 10%, 0.1, 100%.
type PartForm float64

func (f *PartForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	text, percent := strings.CutSuffix(n.text, "%")
	number, ok := parseNumber(strings.TrimSpace(text))
	if percent {
		number /= 100
	}
	if n.kind != scalar || !ok || number <= 0 || number > 1 {
		return n.expected(path, "a share above 0 and up to 100%, such as 10%")
	}
	*f = PartForm(number)
	return nil
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

// faultForm is how a fault is written, and what ends it.
type faultForm struct {
	does   string
	amount string // an example of it, with which the server stands in node; "": does has the server
	ending faultEnding
}

// faultEnding is what ends a fault.
type faultEnding int

const (
	untilStart faultEnding = iota // start, or the phase's end
	atOnce                        // it is over as soon as it has happened
	endsOther                     // it is what ends the others
)

var faultForms = []faultForm{
	{experiment.FaultKill, "", untilStart}, {experiment.FaultFreeze, "", untilStart}, {experiment.FaultCut, "", untilStart},
	{experiment.FaultReset, "", atOnce}, {experiment.FaultStart, "", endsOther},
	{experiment.FaultDelay, "20ms", untilStart}, {experiment.FaultBandwidth, "10MB/s", untilStart},
	{experiment.FaultDrop, "10%", atOnce}, {experiment.FaultMemory, "512MiB", untilStart},
	{experiment.FaultCPU, "50%", untilStart}, {experiment.FaultSlowDisk, "{write_iops: 200}", untilStart},
}

// written shows the form, with its time and its server.
func (f faultForm) written(at string, node int) string {
	if f.amount == "" {
		return fmt.Sprintf("{at: %s, %s: node %d}", at, f.does, node)
	}
	return fmt.Sprintf("{at: %s, %s: %s, node: %d}", at, f.does, f.amount, node)
}

// expectedFaults lists the forms: an example of each kind, and the names of the others.
func expectedFaults() string {
	var kinds []string
	for _, hasAmount := range []bool{false, true} {
		var names []string
		example := ""
		for _, f := range faultForms {
			switch {
			case hasAmount != (f.amount != ""):
			case example == "":
				example = f.written("10s", 2)
			default:
				names = append(names, f.does)
			}
		}
		kinds = append(kinds, example+" (or "+strings.Join(names, ", ")+")")
	}
	return "expected " + strings.Join(kinds, ", or ")
}

// unknownHint says of a fault with a field that it has not how it is written, and what ends it. A length that
// was given becomes the time at which it ends.
func (FaultFile) unknownHint(n *node, key string) string {
	i := slices.IndexFunc(faultForms, func(f faultForm) bool { return n.field(f.does) != nil })
	if i < 0 {
		return expectedFaults()
	}
	f, at, until, number := faultForms[i], "10s", "20s", NodeForm(1)
	server, typed := n.field("node"), n.field(f.does)
	switch {
	case f.amount == "":
		server = typed
	case typed.kind == scalar:
		f.amount = typed.text
	}
	if server != nil {
		_ = number.fromNode(server, "") // one that is wrong is refused once the field is gone
	}
	if given := n.field("at"); given != nil {
		if begin, ok := parseDuration(given.text); ok {
			length, is := parseDuration(n.field(key).text)
			if !is {
				length = begin
			}
			at, until = given.text, (begin + length).String()
		}
	}
	written := f.written(at, int(number))
	switch f.ending {
	case atOnce:
		return fmt.Sprintf("expected %s: a %s is over at once", written, f.does)
	case endsOther:
		return fmt.Sprintf("expected %s: it ends what was done to the node", written)
	}
	return fmt.Sprintf("expected %s: %s goes on until %s, or the phase's end", written, f.does,
		faultForm{does: experiment.FaultStart}.written(until, int(number)))
}

func (f FaultFile) doing() (all []experiment.Fault) {
	for _, one := range []experiment.Fault{{Does: experiment.FaultKill, Node: int(f.Kill)},
		{Does: experiment.FaultFreeze, Node: int(f.Freeze)},
		{Does: experiment.FaultCut, Node: int(f.Cut)}, {Does: experiment.FaultStart, Node: int(f.Start)},
		{Does: experiment.FaultReset, Node: int(f.Reset)}} {
		if one.Node > 0 {
			all = append(all, one)
		}
	}
	node := max(int(f.Node), 1)
	if f.Delay.Delay > 0 {
		all = append(all, experiment.Fault{Does: experiment.FaultDelay, Node: node, Delay: f.Delay.Delay,
			Jitter: f.Delay.Jitter})
	}
	if f.Bandwidth > 0 {
		all = append(all, experiment.Fault{Does: experiment.FaultBandwidth, Node: node,
			BytesPerSecond: float64(f.Bandwidth)})
	}
	if f.Drop > 0 {
		all = append(all, experiment.Fault{Does: experiment.FaultDrop, Node: node, Share: float64(f.Drop)})
	}
	if f.Memory > 0 {
		all = append(all, experiment.Fault{Does: experiment.FaultMemory, Node: node, MemoryBytes: uint64(f.Memory)})
	}
	if f.CPU > 0 {
		all = append(all, experiment.Fault{Does: experiment.FaultCPU, Node: node, CPUs: float64(f.CPU)})
	}
	if disk := f.SlowDisk.limits(); disk != (experiment.SlowDisk{}) {
		all = append(all, experiment.Fault{Does: experiment.FaultSlowDisk, Node: node, Disk: &disk})
	}
	for i := range all {
		all[i].At = time.Duration(f.At)
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
			return r.fail(at(), "a fault does one thing to one server").hint("%s", expectedFaults())
		case f.Node > 0 && f.Kill+f.Freeze+f.Cut+f.Start+f.Reset > 0:
			return r.fail(at("node"), "the fault names its server twice").hint("expected {at: 10s, kill: node 2}")
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
			return r.fail(at(fault.Does), "node %d is under %s at %s: undo that first, by start: node %[1]d", fault.Node, was, fault.At)
		}
		switch {
		case fault.Does == experiment.FaultStart:
			delete(down, fault.Node)
		case !experiment.Momentary(fault.Does):
			down[fault.Node] = fault.Does
		}
		p.Faults = append(p.Faults, fault)
	}
	if slices.ContainsFunc(p.Faults, experiment.Fault.AnswersLate) {
		r.note("servers reach their files through a file system of Assay's (FUSE) in all phases, because the phase %s has a disk that answers late", p.Name)
	}
	if p.NeedsProxy() {
		r.note("clients of servers reach them through a proxy of Assay's in all phases, because the phase %s needs one", p.Name)
	}
	return nil
}
