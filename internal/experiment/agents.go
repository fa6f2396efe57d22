package experiment

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"assay/internal/experiment/trace"
	"assay/store"
)

// AgentPlace is where agents are that do the measured phases.
type AgentPlace struct {
	Scheme string // one of AgentSchemes
	Target string // ssh: [USER@]HOST[:PORT]; kube: the Job's name
	Count  int

	Namespace string // kube: "": kubectl's own
}

// The ways to have agents.
const (
	AgentsLocal  = "local"  // so many processes of this machine
	AgentsDocker = "docker" // so many containers of this machine
	AgentsSSH    = "ssh"    // another machine
	AgentsKube   = "kube"   // so many pods
	AgentsJoin   = "join"   // so many that are started by somebody else
)

// AgentSchemes are the ways to have agents.
var AgentSchemes = []string{AgentsLocal, AgentsSSH, AgentsDocker, AgentsKube, AgentsJoin}

const agentsExpected = "local:N, ssh://HOST, docker:N, kube://[NAMESPACE/]NAME:N or join:N"

// kubeTarget is what stands behind kube:// where pods are agents.
var kubeTarget = regexp.MustCompile(`^//(?:([a-z0-9][-a-z0-9]{0,62})/)?([a-z0-9](?:[-a-z0-9]{0,50}[a-z0-9])?)(?::([0-9]{1,6}))?$`)

// ParseAgents reads one place.
func ParseAgents(text string) (AgentPlace, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	p := AgentPlace{Scheme: scheme, Count: 1}
	switch scheme {
	case AgentsLocal, AgentsDocker, AgentsJoin:
		count, err := strconv.Atoi(rest)
		if err != nil || count < 1 || count > trace.ProcessesMax {
			return p, fmt.Errorf("%q: expected %s:N, with N from 1 to %d", text, scheme, trace.ProcessesMax)
		}
		p.Count = count
		return p, nil
	case AgentsKube:
		parts := kubeTarget.FindStringSubmatch(rest)
		if parts == nil {
			return p, fmt.Errorf("%q: expected kube://[NAMESPACE/]NAME:N, the name in lower-case letters, digits and hyphens", text)
		}
		p.Namespace, p.Target = parts[1], parts[2]
		if parts[3] != "" {
			p.Count, _ = strconv.Atoi(parts[3]) // digits, and few
		}
		if p.Count < 1 || p.Count > trace.ProcessesMax {
			return p, fmt.Errorf("%q: expected 1 to %d pods", text, trace.ProcessesMax)
		}
		return p, nil
	case AgentsSSH:
		target, isURL := strings.CutPrefix(rest, "//")
		if !isURL || target == "" || strings.HasPrefix(target, "-") || strings.ContainsAny(target, " /\"'\\$`;|&<>") {
			return p, fmt.Errorf("%q: expected ssh://[USER@]HOST[:PORT]", text)
		}
		p.Target = target
		return p, nil
	}
	return p, fmt.Errorf("%q: expected %s", text, agentsExpected)
}

// AgentCount is how many agents the experiment has.
func (e *Experiment) AgentCount() (count int) {
	for _, text := range e.Agents {
		p, _ := ParseAgents(text) // it was read when the experiment was resolved
		count += p.Count
	}
	return count
}

// HereThreads is how many threads the worker has at most that loads and reads back on the conductor's
// machine while agents do the phases.
func (e *Experiment) HereThreads(c Cell) int {
	return max(e.LoadThreads(c), c.Threads/max(c.Processes, 1))
}

// AgentsForm is a list of places, or one text with commas between them.
type AgentsForm []string

func (f *AgentsForm) fromNode(n *node, path string) *Error {
	*f = nil
	items := []*node{n}
	switch n.kind {
	case null:
		return nil
	case scalar:
		if n.text == "none" {
			return nil
		}
	case list:
		items = n.items
	case table:
		return n.expected(path, agentsExpected)
	}
	for _, item := range items {
		if item.kind != scalar {
			return item.expected(path, agentsExpected)
		}
		for text := range strings.SplitSeq(item.text, ",") {
			text = strings.TrimSpace(text)
			if _, err := ParseAgents(text); err != nil {
				return item.at.fail(path, "agents: %v", err)
			}
			*f = append(*f, text)
		}
	}
	return nil
}

func (AgentsForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}}}}
}

// agents lets agents do the phases: their threads are parted over processes, one an agent unless the
// file says how many. It refuses what is of one machine alone.
func (r *resolver) agents() *Error {
	e := r.e
	if e.Agents = r.file.Agents; len(e.Agents) == 0 {
		return nil
	}
	at, agents := []string{"agents"}, e.AgentCount()
	if agents > trace.ProcessesMax {
		return r.fail(at, "at most %d agents, not %d", trace.ProcessesMax, agents)
	}
	for _, s := range e.Stores {
		kind := s.Description.Kind
		switch {
		case s.Missing != "" || kind == store.None:
		case kind != store.Server:
			return r.fail(at, "%s keeps its records in the process that opens it: agents load servers", s.Name).
				hint("leave agents out, or the stores without a server")
		case len(s.Worker) > 0:
			return r.fail(at, "%s has a worker of its own: agents run Assay's alone", s.Name).hint("leave agents out, or such stores")
		}
	}
	if e.CPUs != nil && len(e.CPUs.Client) > 0 {
		return r.fail([]string{"cpus", "client"}, "cpus.client are this machine's, and agents do the phases")
	}
	spread := func(parts []string, threads int, processes *int) *Error {
		asked := *processes
		if asked == 0 {
			*processes = agents
		}
		if *processes < agents || threads%*processes != 0 {
			return r.fail(parts, "%s can't be parted evenly over %d agents", TasksText(threads, asked), agents).
				hint("expected a multiple of %d threads, or {processes: N} with at least that many", agents)
		}
		return r.tasks(parts, threads, *processes)
	}
	for i := range e.Cells {
		c := &e.Cells[i]
		if c.MemoryLimit > 0 {
			return r.fail([]string{"memory_limit"}, "memory_limit is of this machine, and agents do the phases")
		}
		if err := spread([]string{"threads"}, c.Threads, &c.Processes); err != nil {
			return err
		}
	}
	for i := range e.Phases {
		if p := &e.Phases[i]; p.Threads > 0 && !p.Load && len(p.Groups) == 0 {
			if err := spread([]string{"phases", p.Name, "threads"}, p.Threads, &p.Processes); err != nil {
				return err
			}
		}
	}
	for i, s := range e.Stores {
		if s.Description.Kind == store.Server && !s.Description.Processes && s.Missing == "" {
			return r.fail(at, "%s can't be opened by several processes: its driver does not claim that", e.Stores[i].Name)
		}
	}
	e.Agents = slices.Clone(e.Agents)
	return nil
}
