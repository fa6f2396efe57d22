package read

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// AgentsForm is where agents are: a list of places, or one text with commas between them; numbers, of
// agents on this machine, a list of which is an axis; {places: …, numbers: […]}, an axis over the first
// so many of the places; or {NAME: places, …}, which groups of clients name.
type AgentsForm struct {
	Places  []string
	Numbers []int
	Names   []experiment.AgentRange
}

func (f *AgentsForm) fromNode(n *node, path string) *Error {
	*f = AgentsForm{}
	switch {
	case n.kind == null || n.kind == scalar && n.text == "none":
		return nil
	case n.kind != table:
		return f.list(n, path)
	case n.field("numbers") == nil && n.field("places") == nil:
		for _, e := range n.entries {
			if !plainName(e.key) || len(e.key) > nameBytesMax {
				return e.at.fail(join(path, e.key), "the name %q of agents", e.key).hint(plainNameRule)
			}
			var places AgentsForm
			if err := places.list(e.value, join(path, e.key)); err != nil {
				return err
			}
			if len(places.Numbers) > 0 {
				return e.value.expected(join(path, e.key), experiment.AgentsExpected)
			}
			f.Names = append(f.Names, experiment.AgentRange{Name: e.key, First: experiment.CountAgents(f.Places),
				Count: experiment.CountAgents(places.Places)})
			f.Places = append(f.Places, places.Places...)
		}
		return nil
	}
	for _, e := range n.entries {
		if e.key != "numbers" && e.key != "places" {
			return e.at.fail(join(path, e.key), "%q stands beside places or numbers", e.key).hint("expected {places: …, numbers: […]}, or {NAME: places, …}")
		}
	}
	var numbers AgentsForm
	if at := n.field("places"); at == nil {
		return n.expected(path, "{places: …, numbers: […]}")
	} else if err := f.list(at, join(path, "places")); err != nil {
		return err
	}
	at := n.field("numbers")
	if at == nil {
		return nil
	}
	if err := numbers.list(at, join(path, "numbers")); err != nil {
		return err
	}
	if len(numbers.Numbers) == 0 {
		return at.expected(join(path, "numbers"), "a list of numbers of agents")
	}
	f.Numbers = numbers.Numbers
	for _, number := range f.Numbers {
		if have := experiment.CountAgents(f.Places); number > have {
			return at.at.fail(join(path, "numbers"), "%d agents of %d", number, have)
		}
	}
	return nil
}

// list reads places, or numbers of agents of this machine.
func (f *AgentsForm) list(n *node, path string) *Error {
	items := []*node{n}
	if n.kind == list {
		items = n.items
	}
	for _, item := range items {
		if item.kind != scalar {
			return item.expected(path, experiment.AgentsExpected)
		}
		for text := range strings.SplitSeq(item.text, ",") {
			text = strings.TrimSpace(text)
			if number, err := strconv.Atoi(text); err == nil {
				if number < 1 || number > trace.ProcessesMax {
					return item.at.fail(path, "agents: expected 1 to %d, not %d", trace.ProcessesMax, number)
				}
				f.Numbers = append(f.Numbers, number)
				continue
			}
			if _, err := experiment.ParseAgents(text); err != nil {
				return item.at.fail(path, "agents: %v", err)
			}
			f.Places = append(f.Places, text)
		}
	}
	if len(f.Numbers) > 0 && len(f.Places) > 0 {
		return n.at.fail(path, "agents: both places and numbers").hint("expected a list of places, a list of numbers, or {places: …, numbers: […]}")
	}
	if len(f.Numbers) > 0 && !strings.HasSuffix(path, ".numbers") {
		f.Places = []string{fmt.Sprint(experiment.AgentsLocal, ":", slices.Max(f.Numbers))}
		if len(f.Numbers) == 1 {
			f.Numbers = nil // all of them: no axis
		}
	}
	return nil
}

func (AgentsForm) JSONSchema() *jsonschema.Schema {
	places := func() *jsonschema.Schema {
		item := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}, {Type: "array", Items: item}}}
	}
	return &jsonschema.Schema{AnyOf: append(places().AnyOf, &jsonschema.Schema{Type: "object", AdditionalProperties: places()})}
}

// agents lets agents do the phases: their threads are parted over processes, one an agent unless the
// file says how many. It refuses what is of one machine alone.
func (r *resolver) agents() *Error {
	e := r.e
	if e.Agents, e.AgentNames = r.file.Agents.Places, r.file.Agents.Names; len(e.Agents) == 0 {
		if slices.ContainsFunc(e.Cells, func(c experiment.Cell) bool { return c.Agents > 0 }) {
			return r.fail([]string{"cases"}, "a case says how many agents there are, and the file does not say where").hint("expected agents: PLACES in the file")
		}
		return r.namedAgents(0)
	}
	at, agents := []string{"agents"}, e.AgentCount()
	if agents > trace.ProcessesMax {
		return r.fail(at, "at most %d agents, not %d", trace.ProcessesMax, agents)
	}
	if err := r.agentStores(at); err != nil {
		return err
	}
	spread := func(parts []string, agents, threads int, processes *int) *Error {
		asked := *processes
		if asked == 0 {
			*processes = agents
		}
		if *processes < agents || threads%*processes != 0 {
			return r.fail(parts, "%s can't be parted evenly over %d agents", experiment.TasksText(threads, asked), agents).
				hint("expected a multiple of %d threads, or {processes: N} with at least that many", agents)
		}
		return r.tasks(parts, threads, *processes)
	}
	for i := range e.Cells {
		c := &e.Cells[i]
		if c.CPUs != nil && len(c.CPUs.Client) > 0 {
			return r.fail([]string{"cpus", "client"}, "the client's CPUs are this machine's, and agents do the phases").
				hint("expected cpus: {server: …} alone")
		}
		if c.MemoryLimit > 0 {
			return r.fail([]string{"memory_limit"}, "memory_limit is of this machine, and agents do the phases")
		}
		if c.Agents > agents {
			return r.fail(at, "%d agents of %d", c.Agents, agents)
		}
		if err := spread([]string{"threads"}, e.AgentsIn(*c), c.Threads, &c.Processes); err != nil {
			return err
		}
	}
	for i := range e.Phases {
		if p := &e.Phases[i]; p.Threads > 0 && !p.Load && len(p.Groups) == 0 {
			for _, c := range e.Cells {
				processes := p.Processes
				if err := spread([]string{"phases", p.Name, "threads"}, e.AgentsIn(c), p.Threads, &processes); err != nil {
					return err
				}
			}
			if p.Processes == 0 && !slices.ContainsFunc(e.Cells, func(c experiment.Cell) bool { return c.Agents > 0 }) {
				p.Processes = agents
			}
		}
	}
	e.Agents = slices.Clone(e.Agents)
	return r.namedAgents(agents)
}

// agentStores refuses stores that agents can't load.
func (r *resolver) agentStores(at []string) *Error {
	for _, s := range r.e.Stores {
		kind := s.Description.Kind
		switch {
		case s.Missing != "" || kind == store.None:
		case kind != store.Server:
			return r.fail(at, "%s keeps its records in the process that opens it: agents load servers", s.Name).
				hint("leave agents out, or the stores without a server")
		case len(s.Worker) > 0:
			return r.fail(at, "%s has a worker of its own: agents run Assay's alone", s.Name).hint("leave agents out, or such stores")
		case !s.Description.Processes:
			return r.fail(at, "%s can't be opened by several processes: its driver does not claim that", s.Name)
		case slices.ContainsFunc(r.e.Agents, elsewhere):
			if i := slices.IndexFunc(s.Endpoints, isSocket); i >= 0 {
				return r.fail(at, "agents on other machines can't reach %s, a Unix socket of this one", s.Endpoints[i]).
					hint("expected agents: local:N, or endpoints: [HOST:PORT] of %s", s.Name)
			}
		}
	}
	return nil
}

// namedAgents puts groups of clients on the agents that they name. Each agent then has one process, which
// does one group's share of a phase.
func (r *resolver) namedAgents(agents int) *Error {
	e := r.e
	for i := range e.Phases {
		p := &e.Phases[i]
		taken := map[string]string{}
		for j := range p.Groups {
			g := &p.Groups[j]
			at := r.ofPhase(i).ofGroup(j).in
			name := r.file.Phases[i].Groups[j].Agents
			if name == "" {
				if slices.ContainsFunc(r.file.Phases[i].Groups, func(g GroupFile) bool { return g.Agents != "" }) {
					return r.fail(at(), "the group %s names no agents, and others of the phase %s do", g.Name, p.Name)
				}
				continue
			}
			known := slices.IndexFunc(e.AgentNames, func(a experiment.AgentRange) bool { return a.Name == name })
			if known < 0 {
				return r.fail(at("agents"), "no agents are named %q", name).hint("expected agents: {%s: PLACES, …} in the file", name)
			}
			if other := taken[name]; other != "" {
				return r.fail(at("agents"), "the groups %s and %s of a phase are on the same agents", other, g.Name).hint("an agent does one group of a phase: name others")
			}
			taken[name] = g.Name
			on := e.AgentNames[known]
			g.On = &on
			for _, c := range e.Cells {
				threads, _ := g.TasksIn(c)
				switch {
				case c.Agents > 0:
					return r.fail(at("agents"), "the number of agents is an axis, and groups name some of them")
				case c.Processes != agents || g.Processes > 0:
					return r.fail(at("agents"), "groups are on named agents, and those have one process each").hint("leave processes out")
				case threads%on.Count != 0:
					return r.fail(at("agents"), "%s can't be parted evenly over %d agents", experiment.TasksText(threads, 0), on.Count)
				}
			}
		}
	}
	return nil
}

// elsewhere reports whether agents of a place may be on another machine.
func elsewhere(place string) bool {
	parsed, err := experiment.ParseAgents(place)
	return err != nil || parsed.Scheme != experiment.AgentsLocal
}

func isSocket(endpoint string) bool { return store.Network(endpoint) == "unix" }
