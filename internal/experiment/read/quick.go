package read

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/experiment"
)

// The experiment of stores that are named on the command line, where no flag says otherwise.
const (
	quickMix     = "read=50,update=50"
	quickRecords = "100000"
	quickBatch   = "1000" // of the load
	quickFor     = "10s"
	quickWarmUp  = "warm-up" // its phase
)

// Quick returns the experiment that compares drivers, each as armArgument has it, with
// a phase for each mix such as "read=95,update=5". warmUp is for how long the first of them is done before
// anything is measured; "": it is not. The changes are those of flags and come on top.
func Quick(drivers, mixes []string, warmUp string, changes []Change,
	programOf func(driver string) (experiment.Program, bool)) (Source, error) {
	if _, is := parseDuration(warmUp); !is && warmUp != "" {
		at := place{in: newSource("--warm-up "+quoteForShell(warmUp), warmUp, true), line: 1, column: 1, width: len(warmUp)}
		return Source{}, at.fail("", "expected a duration such as 5s, got %q", warmUp)
	}
	return quick(drivers, mixes, "for: "+quickFor, warmUp, "", changes, programOf)
}

// QuickReplay does so with a phase that replays a recording, after those of the mixes.
func QuickReplay(drivers, mixes []string, replay string, changes []Change,
	programOf func(driver string) (experiment.Program, bool)) (Source, error) {
	return quick(drivers, mixes, "for: "+quickFor, "", replay, changes, programOf)
}

// QuickCapacity returns the experiment that searches for the capacities of drivers, likewise.
func QuickCapacity(drivers, mixes, objectives []string, changes []Change,
	programOf func(driver string) (experiment.Program, bool)) (Source, error) {
	var quoted []string
	for _, o := range objectives {
		quoted = append(quoted, yamlText(o, true))
	}
	return quick(drivers, mixes, fmt.Sprintf("capacity: {objective: [%s]}", strings.Join(quoted, ", ")), "", "", changes, programOf)
}

// quick returns an experiment whose phases end, or search, as a field says. replay is a recording that is
// played after them; "": none is.
func quick(drivers, mixes []string, ends, warmUp, replay string, changes []Change,
	programOf func(driver string) (experiment.Program, bool)) (Source, error) {
	if len(mixes) == 0 && replay == "" {
		mixes = []string{quickMix}
	}
	var names, stores []string
	var arms []armArgument
	for _, argument := range drivers {
		arm, err := parseArm(argument)
		if err != nil {
			return Source{}, err
		}
		arms = append(arms, arm.each()...)
	}
	nameByPrograms(started(arms), programOf)
	distinguish(arms)
	for _, arm := range arms {
		names, stores = append(names, arm.name), append(stores, arm.yaml())
	}
	var phases, questions, phaseNames []string
	for _, mix := range mixes {
		weights, err := parseMix(mix)
		if err != nil {
			return Source{}, err
		}
		var fields, words []string
		parsed := experiment.Phase{Mix: map[string]float64{}}
		for _, w := range weights {
			fields = append(fields, w.operation+": "+w.text)
			words = append(words, w.operation)
			parsed.Mix[w.operation] = w.number
		}
		name := strings.Join(words, "-")
		if len(name) > nameBytesMax || slices.Contains(phaseNames, name) {
			name = fmt.Sprintf("mix-%d", len(phases)+1)
		}
		phaseNames = append(phaseNames, name)
		if warmUp != "" && len(phases) == 0 {
			phases = append(phases, fmt.Sprintf("  - {name: %s, mix: {%s}, for: %s, unmeasured: true}\n",
				quickWarmUp, strings.Join(fields, ", "), yamlText(warmUp, true)))
		}
		phases = append(phases, fmt.Sprintf("  - {name: %s, mix: {%s}, %s}\n", name, strings.Join(fields, ", "), ends))
		questions = append(questions, parsed.MixText())
	}
	records := "records: " + quickRecords + "\n"
	if replay != "" {
		records = "" // the recording's keys
		phases = append(phases, fmt.Sprintf("  - {name: replay, replay: {file: %s}}\n", yamlText(replay, true)))
		questions = append(questions, "replay of "+filepath.Base(replay))
	}
	name := strings.Join(names, "-")
	if len(name) > nameBytesMax || !plainName(name) {
		name = "comparison"
	}
	question := "How fast is " + names[0]
	switch last := len(names) - 1; {
	case strings.HasPrefix(ends, "capacity"):
		question = "How much does each take: " + strings.Join(names, ", ")
	case last == 1:
		question = "Which is faster, " + names[0] + " or " + names[1]
	case last > 1:
		question = "Which is fastest: " + strings.Join(names[:last], ", ") + " or " + names[last]
	}
	question += " (" + strings.Join(questions, "; ") + ")?"
	text := fmt.Sprintf("name: %s\nabout: %s\nstores: [%s]\n%sphases:\n"+
		"  - {name: load, load: true, batch: %s}\n%s",
		yamlText(name, false), yamlText(question, true), strings.Join(stores, ", "), records, quickBatch, strings.Join(phases, ""))
	return Source{Text: []byte(text), Changes: changes, FromStores: true}, nil
}
