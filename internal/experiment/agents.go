package experiment

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/internal/experiment/trace"
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

// AgentsExpected says what ParseAgents reads.
const AgentsExpected = "local:N, ssh://HOST, docker:N, kube://[NAMESPACE/]NAME:N or join:N"

// kubeTarget is what stands behind kube:// where pods are agents.
var kubeTarget = regexp.MustCompile(`^//(?:([a-z0-9][-a-z0-9]{0,62})/)?([a-z0-9](?:[-a-z0-9]{0,43}[a-z0-9])?)(?::([0-9]{1,6}))?$`)

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
			return p, fmt.Errorf("%q: expected kube://[NAMESPACE/]NAME:N, the name in lower-case letters, digits and hyphens, at most 45", text)
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
	return p, fmt.Errorf("%q: expected %s", text, AgentsExpected)
}

// AgentRange is some of an experiment's agents, under a name that groups of clients use.
type AgentRange struct {
	Name  string `json:"name"`
	First int    `json:"first"` // from 0 on
	Count int    `json:"count"`
}

// AgentsIn is how many agents do the phases of a cell.
func (e *Experiment) AgentsIn(c Cell) int {
	if c.Agents > 0 {
		return c.Agents
	}
	return e.AgentCount()
}

// AgentCount is how many agents the experiment has.
func (e *Experiment) AgentCount() int { return CountAgents(e.Agents) }

// HereThreads is how many threads the worker has at most that loads and reads back on the conductor's
// machine while agents do the phases.
func (e *Experiment) HereThreads(c Cell) int {
	return max(e.LoadThreads(c), c.Threads/max(c.Processes, 1))
}

// CountAgents is how many agents some places have; those that are none have one.
func CountAgents(places []string) (count int) {
	for _, text := range places {
		p, _ := ParseAgents(text) // it was read with the file
		count += p.Count
	}
	return count
}
