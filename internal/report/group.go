package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/verdict"
)

// groupFindings puts findings of the same code and severity together, in the order of the first of each.
func groupFindings(findings []Finding, tables []Table) []Group {
	var groups []Group
	for i, f := range findings {
		at := slices.IndexFunc(groups, func(g Group) bool { return g.Key == f.Group })
		if at < 0 {
			at = len(groups)
			groups = append(groups, Group{Key: f.Group, Severity: f.Severity, Code: f.Code, Remedy: f.Remedy})
		}
		if groups[at].Remedy != f.Remedy {
			groups[at].Remedy = "" // each says its own
		}
		groups[at].Of = append(groups[at].Of, i)
	}
	for i := range groups {
		members := make([]Finding, 0, len(groups[i].Of))
		for _, j := range groups[i].Of {
			members = append(members, findings[j])
		}
		groups[i].Sentence = members[0].Sentence
		if len(members) > 1 {
			groups[i].Sentence = together(members, tables)
		}
	}
	return groups
}

// groupWords tell what several findings of a code say together; a code without words comes once in a run. %s is what there are several of ("3 stores"), a {many|one}
// is chosen by it, and the list of the places follows.
var groupWords = map[string]string{
	string(finding.FaultErrors):     "%s answered with errors or timeouts, and {have|has} no rank there",
	string(finding.FaultWrong):      "%s returned values that were never written under their key",
	string(finding.FaultLost):       "%s lost records",
	string(finding.FaultStale):      "%s returned older values than {they|it} had acknowledged",
	string(finding.FaultCounts):     "%s {have|has} counts that can't be: operations, or what they are said to have done, don't add up",
	string(finding.FaultUnfinished): "%s left operations that never ended",
	string(finding.FaultShort):      "%s did not get through all {their|its} operations",
	string(finding.FaultDiskFull):   "%s filled the disk",

	verdict.FindFailed:        "%s failed, and {have|has} no rank there",
	verdict.FindHarnessBound:  "%s {are|is} harness-bound: most of an operation is the harness, so that there is no rank",
	verdict.FindHarnessShare:  "of each operation of %s, the harness is a tenth or more",
	verdict.FindStall:         "%s stalled, below a tenth of the median rate for a while",
	verdict.FindDips:          "%s {dip|dips}: {their rates fall|its rate falls} far for a moment, and {come|comes} back",
	verdict.FindCliff:         "%s fell off a cliff, and it lasted",
	verdict.FindDecline:       "%s declined as data grew",
	verdict.FindTuning:        "%s {have|has} settings against a fall of the defaults",
	verdict.FindOscillation:   "%s went to and fro between two levels",
	verdict.FindSank:          "%s sank to less than half of {their first levels|its first level}, in a way that gives no place",
	verdict.FindConflicts:     "%s refused operations because of others: they were not done, and are in no rate",
	verdict.FindDispatchLate:  "%s began operations late by more than a tenth of a percentile, which is therefore refused, or of which not enough is known",
	verdict.FindPartWork:      "%s did a part of the work, for {their|its} time was over: rates and sizes are of that part",
	verdict.FindLessWork:      "%s did less work than {they were|it was} asked for, and {have|has} no rank there",
	verdict.FindUnweighed:     "in %s, arms found different shares of what they looked for, and whether one did less work can't be told",
	verdict.FindNotOnDisk:     "what %s acknowledged is not on the disk, though the class promises that it survives the process",
	verdict.FindNotReadBack:   "of what %s wrote, nothing was read back",
	verdict.FindBacklog:       "%s did not keep up with the experiment's rate: {their|its} percentiles are refused",
	verdict.FindSettings:      "%s {have|has} settings that are too small for this much data",
	verdict.FindShortRun:      "%s {are|is} too short for compaction, caches and checkpoints to show",
	verdict.FindQuotaEnded:    "%s reached {their disk quotas|its disk quota}, and ended",
	verdict.FindDurabilityPut: "in %s, a single column of stores at different classes would rank durability as well as speed",
	verdict.FindCostUntold:    "in %s, whether a single column of stores at different classes would rank durability can't be told",
	verdict.FindNotCold:       "%s did not begin cold: a part of {their|its} files stayed in the page cache",
	verdict.FindKept:          "in %s, some stores show no fall, as far as was run",
	verdict.FindLimitNotMet:   "in %s, some stores never came near their memory limit: it had no part in what they did",
	verdict.FindNotOutgrown:   "in %s, the files of stores without a fall did not outgrow the memory: what is beyond it is not known",
	verdict.FindInMemory:      "%s {have|has} data that fits in memory: reads are mostly reads of memory, and say nothing of the disk",
}

// blockWords are of what spoils a block, and not the arm. What became of the blocks follows: leftWords or keptWords.
var blockWords = map[string]string{
	string(finding.FaultClock):     "%s {were|was} timed by a clock that can't be trusted",
	string(finding.FaultForeign):   "%s ran while something else used the machine",
	string(finding.FaultThrottled): "%s {were|was} held back by a CPU quota or heat",
}

const (
	leftWords = "; these blocks are left out"
	someWords = "; these blocks are left out where there are others"
	keptWords = "; {their figures are|its figures are} of these blocks, for {they have|it has} no others"
)

// telling are the codes whose sentences say when, at how many records and with what: a count alone would hide it.
var telling = map[string]bool{verdict.FindCliff: true, verdict.FindDecline: true, verdict.FindOscillation: true, verdict.FindSank: true, verdict.FindTuning: true}

// tellingMax is how many of these sentences are all said; of more, one is.
const tellingMax = 5

// counted resolves the {many|one} of words.
func counted(words, what string, one bool) string {
	for {
		before, rest, found := strings.Cut(words, "{")
		if !found {
			return fmt.Sprintf(words, what)
		}
		choice, after, _ := strings.Cut(rest, "}")
		many, single, _ := strings.Cut(choice, "|")
		if one {
			many = single
		}
		words = before + many + after
	}
}

// together writes the sentence of a group of several findings.
func together(members []Finding, tables []Table) string {
	severity, code := members[0].Severity, members[0].Code
	switch code {
	case verdict.FindUndecided:
		unknown, rows := undecidedRows(tables)
		return fmt.Sprintf("Whether a rate had settled can't be told in %d of %s.", unknown, plural(rows, "row"))
	case verdict.FindRefused:
		return refusedSentence(tables, len(members))
	case verdict.FindUnsteady:
		words := "%s found no steady state: look at the time series, not at one figure"
		if severity == Notice {
			words = "%s found no steady state in some blocks, or for a fixed amount of work"
		}
		return withPlaces(words, members)
	}
	if words, known := blockWords[code]; known {
		kept := 0
		for _, f := range members {
			if f.Faulty {
				kept++
			}
		}
		switch kept {
		case 0:
			words += leftWords
		case len(members):
			words += keptWords
		default:
			words += someWords
		}
		return withPlaces(words, members)
	}
	if words, known := groupWords[code]; known {
		sentence := withPlaces(words, members)
		switch {
		case telling[code] && len(members) <= tellingMax:
			for _, f := range members {
				sentence += " " + f.Sentence
			}
		case telling[code]:
			sentence += " For one: " + members[0].Sentence
		}
		return sentence
	}
	return firstOf(members)
}

// firstOf says the first of findings that nothing sums up, as those of whole runs.
func firstOf(members []Finding) string {
	return fmt.Sprintf("%s (And %d more of this kind.)", members[0].Sentence, len(members)-1)
}

// placesMax is how many arms or places a sentence lists.
const placesMax = 6

// withPlaces counts the arms of findings, or where they are of no arm their places, and lists them.
func withPlaces(words string, members []Finding) string {
	var names []string
	places := map[string][]string{}
	arms := true
	for _, f := range members {
		arms = arms && f.Arm != ""
	}
	for _, f := range members {
		name, place := f.Arm, f.Place
		if !arms {
			name, place = f.Place, ""
		}
		if name == "" {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if place != "" && !slices.Contains(places[name], place) {
			places[name] = append(places[name], place)
		}
	}
	switch {
	case len(names) == 0:
		return firstOf(members)
	case arms && len(names) == 1 && len(places[names[0]]) > 0:
		return upper(counted(words, names[0], true), names[0]) + ": " + listed(sharing(places[names[0]])) + "."
	}
	noun := "phase"
	if arms && slices.ContainsFunc(names, isReference) {
		noun = "arm"
	} else if arms {
		noun = "store"
	} else if slices.ContainsFunc(members, func(f Finding) bool { return strings.Contains(f.Place, " at ") }) {
		noun = "place"
	}
	sentence := capital(counted(words, plural(len(names), noun), len(names) == 1))
	for i, name := range names {
		if at := sharing(places[name]); len(at) == 1 {
			names[i] += " (" + at[0] + ")"
		} else if len(at) > 1 {
			names[i] += fmt.Sprintf(" (%d places)", len(places[name]))
		}
	}
	return sentence + ": " + listed(names) + "."
}

// isReference says if an arm is the A/A arm or the null driver, which are no stores.
func isReference(arm string) bool { return arm == "null" || strings.HasSuffix(arm, " (A/A)") }

// upper begins a sentence with a capital, unless it begins with a store's name.
func upper(sentence, arm string) string {
	if strings.HasPrefix(sentence, arm) {
		return sentence
	}
	return capital(sentence)
}

// sharing puts the places of one phase together: "put at D0" and "put at D1" are "put at D0 and D1".
func sharing(places []string) []string {
	var phases []string
	classes := map[string][]string{}
	for _, place := range places {
		at := strings.LastIndex(place, " at ")
		if at < 0 {
			phases = append(phases, place)
			continue
		}
		phase := place[:at]
		if classes[phase] == nil {
			phases = append(phases, phase)
		}
		classes[phase] = append(classes[phase], place[at+len(" at "):])
	}
	for i, phase := range phases {
		if of := classes[phase]; len(of) > 0 {
			slices.Sort(of)
			phases[i] = phase + " at " + listed(of)
		}
	}
	return phases
}

// listed joins words with commas and an "and"; a long list is cut, and says so.
func listed(words []string) string {
	if len(words) > placesMax+1 {
		return strings.Join(words[:placesMax], ", ") + fmt.Sprintf(" and %d more", len(words)-placesMax)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func undecidedRows(tables []Table) (unknown, rows int) {
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role != string(plan.Measured) || r.Rate == nil || t.WholePhase {
				continue
			}
			rows++
			if r.Undecided {
				unknown++
			}
		}
	}
	return unknown, rows
}

// refusedSentence lists the refused arms by class: arms that are refused in the same classes share a part.
func refusedSentence(tables []Table, stores int) string {
	var arms []string
	classes := map[string][]string{}
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Standing != Refused {
				continue
			}
			if !slices.Contains(arms, r.Arm) {
				arms = append(arms, r.Arm)
			}
			if !slices.Contains(classes[r.Arm], t.Class) {
				classes[r.Arm] = append(classes[r.Arm], t.Class)
			}
		}
	}
	var where []string
	together := map[string][]string{}
	for _, arm := range arms {
		at := listed(classes[arm])
		if together[at] == nil {
			where = append(where, at)
		}
		together[at] = append(together[at], arm)
	}
	parts := make([]string, len(where))
	for i, at := range where {
		parts[i] = listed(together[at]) + " at " + at
	}
	return fmt.Sprintf("%s can't do what is asked in a class, and are shown there without figures: %s.", plural(stores, "store"), strings.Join(parts, "; "))
}
