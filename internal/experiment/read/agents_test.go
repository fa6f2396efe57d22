package read_test

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

func withAgents(t *testing.T, agents, phases string) (*experiment.Experiment, error) {
	t.Helper()
	text := "name: x\nstores: [{driver: remote, endpoints: [127.0.0.1:1]}]\nthreads: 8\ndurability: D0\nagents: " + agents + "\nphases:\n  - {name: load, load: true}\n" + phases
	return read.Load([]byte(text), "x.yaml", nil, read.Drivers{Names: []string{"remote"}, Describe: func(experiment.Store) (store.Description, error) {
		return store.Description{Name: "remote", Kind: store.Server, Processes: true, HandlesShareable: true, Durability: []store.DurabilityClaim{{Class: store.D0}}}, nil
	}})
}

const readAndUpdate = "  - {name: mixed, mix: {read: 1, update: 1}, for: 1s}\n"

func TestAgentsAreAnAxis(t *testing.T) {
	for text, want := range map[string]string{
		"local:4":   "4 processes of 2 threads at 4 of local:4",
		"4":         "4 processes of 2 threads at 4 of local:4",
		"[1, 2, 4]": "8 threads · 1 agent at 1 of local:4; 8 threads · 2 agents at 2 of local:4; 8 threads · 4 agents at 4 of local:4",
		"{places: [ssh://a, ssh://b], numbers: [1, 2]}": "8 threads · 1 agent at 1 of ssh://a ssh://b; 8 threads · 2 agents at 2 of ssh://a ssh://b",
	} {
		e, err := withAgents(t, text, readAndUpdate)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, c := range e.Cells {
			words := experiment.TasksText(c.Threads, c.Processes)
			if c.Agents > 0 {
				words = experiment.TasksText(c.Threads, 0) + " · " + strings.TrimPrefix(c.Label(e), c.ClassText()+" · ")
			}
			got = append(got, words+" at "+string(rune('0'+e.AgentsIn(c)))+" of "+strings.Join(e.Agents, " "))
			if len(e.ProcessThreads(c)) != e.AgentsIn(c) {
				t.Errorf("%s: processes of %v threads", text, e.ProcessThreads(c))
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %s", text, strings.Join(got, "; "))
		}
	}
	for text, why := range map[string]string{
		"[1, 3]": "can't be parted evenly over 3 agents", "[local:1, 2]": "both places and numbers", "{places: local:2, numbers: [3]}": "3 agents of 2",
		"{numbers: [1]}": "expected {places", "0": "expected 1 to", "{places: local:2, other: local:1}": "stands beside places or numbers",
	} {
		if _, err := withAgents(t, text, readAndUpdate); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestGroupsAreOnAgents(t *testing.T) {
	const two = "{readers: local:2, writers: [ssh://a, ssh://b, ssh://c, ssh://d]}"
	groups := func(reads, writes string) string {
		return "  - {name: mixed, for: 1s, groups: [{name: r, mix: {read: 1}, " + reads + "}, {name: w, mix: {update: 1}, " + writes + "}]}\n"
	}
	e, err := withAgents(t, strings.Replace(two, ", ssh://c, ssh://d", "", 1), groups("agents: writers, threads: 6", "agents: readers")+strings.Replace(readAndUpdate, "mixed", "after", 1))
	if err != nil {
		t.Fatal(err)
	}
	p := e.Phases[1]
	if layout, numbers := p.ProcessThreads(e.Cells[0]), p.ProcessNumbers(); !slices.Equal(layout, []int{3, 3, 4,
		4}) || !slices.Equal(numbers, []int{2, 3, 0, 1}) {
		t.Errorf("shares of %v threads by the processes %v", layout, numbers)
	}
	if most := e.ProcessThreads(e.Cells[0]); !slices.Equal(most, []int{4, 4, 3, 3}) {
		t.Errorf("processes have up to %v threads", most)
	}
	if numbers := e.Phases[2].ProcessNumbers(); numbers != nil || len(e.Phases[2].ProcessThreads(e.Cells[0])) != 4 {
		t.Errorf("a phase without groups: %v", numbers)
	}
	for _, c := range []struct{ agents, reads, writes, why string }{
		{"local:2", "agents: readers", "agents: writers", "no agents are named \"readers\""},
		{two, "agents: readers", "threads: 2", "the group w names no agents"},
		{two, "agents: readers", "agents: readers", "on the same agents"},
		{two, "agents: readers, threads: 3", "agents: writers, threads: 4", "can't be parted evenly"},
	} {
		text := strings.Replace(c.agents, ", ssh://c, ssh://d", "", 1)
		if _, err := withAgents(t, text, groups(c.reads, c.writes)); err == nil || !strings.Contains(err.Error(),
			c.why) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Where no threads are given, each agent has one, and in each number of agents as many.
func TestAgentsHaveAThreadEach(t *testing.T) {
	t.Parallel()
	for agents, want := range map[string]int{"local:1": 1, "local:2": 2, "[local:2, 'ssh://h']": 3, "[1, 2, 4]": 4, "[2, 3]": 6} {
		e, err := read.Load([]byte("name: x\nstores: [{driver: memcached, endpoints: ['127.0.0.1:1']}]\nkeys: {format: decimal}\nagents: "+agents+
			"\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n"), "x.yaml", nil, fakeDrivers())
		if err != nil || e.Cells[0].Threads != want {
			t.Errorf("%s: %v, want %d threads", agents, err, want)
		}
	}
}

// Agents that may be on other machines can't reach a Unix socket of this one.
func TestAgentsElsewhereReachNoUnixSocket(t *testing.T) {
	t.Parallel()
	for agents, want := range map[string]string{"local:2": "", "[local:1, 'ssh://h']": "can't reach /run/m.sock", "join:2": "can't reach /run/m.sock"} {
		_, err := read.Load([]byte("name: x\nstores: [{driver: memcached, endpoints: [/run/m.sock]}]\nkeys: {format: decimal}\nagents: "+agents+
			"\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n"), "x.yaml", nil, fakeDrivers())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", agents, err, want)
		}
	}
}
