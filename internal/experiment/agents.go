package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"assay/internal/experiment/trace"
)

// AgentPlace is where agents are that do the measured phases.
type AgentPlace struct {
	Scheme string // one of AgentSchemes
	Target string // ssh: [USER@]HOST[:PORT]
	Count  int
}

// The ways to have agents.
const (
	AgentsLocal  = "local"  // so many processes of this machine
	AgentsDocker = "docker" // so many containers of this machine
	AgentsSSH    = "ssh"    // another machine
	AgentsJoin   = "join"   // so many that are started by somebody else
)

// AgentSchemes are the ways to have agents.
var AgentSchemes = []string{AgentsLocal, AgentsSSH, AgentsDocker, AgentsJoin}

// AgentsExpected says what ParseAgents reads.
const AgentsExpected = "local:N, ssh://HOST, docker:N or join:N"

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
	case "kube":
		return p, fmt.Errorf("%q: agents in pods join by themselves: apply the Job of docs/agents.md, and count on them with join:N", text)
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
