package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// doubtsOf lists what is doubted, each doubt once with the arms that it is of.
func doubtsOf(t Table) []string {
	arms := map[string][]string{}
	var order []string
	for _, r := range t.Rows {
		for _, doubt := range r.Doubts {
			if arms[doubt] == nil {
				order = append(order, doubt)
			}
			arms[doubt] = append(arms[doubt], r.Arm)
		}
	}
	for i, doubt := range order {
		order[i] = strings.Join(arms[doubt], ", ") + ": " + doubt
	}
	return order
}

var figures = regexp.MustCompile(`[0-9][0-9.,]*`)

// doubtKinds lists what is doubted, as doubtsOf does, with doubts of single trials together that differ in trial and figures only: of
// these, the first one is written out.
func doubtKinds(t Table) []string {
	type kind struct {
		arms   []string
		first  string
		trials int // that it is of; 0: it is of whole rows
	}
	kinds := map[string]*kind{}
	var order []string
	for _, r := range t.Rows {
		for _, doubt := range r.Doubts {
			text, ofTrial := withoutTrial(doubt, r)
			key := text
			if ofTrial {
				key = figures.ReplaceAllString(text, "#")
			}
			k := kinds[key]
			if k == nil {
				k = &kind{first: text}
				kinds[key] = k
				order = append(order, key)
			}
			if !slices.Contains(k.arms, r.Arm) {
				k.arms = append(k.arms, r.Arm)
			}
			if ofTrial {
				k.trials++
			}
		}
	}
	lines := make([]string, len(order))
	for i, key := range order {
		k := kinds[key]
		lines[i] = strings.Join(k.arms, ", ") + ": " + k.first
		if k.trials > 1 {
			lines[i] += fmt.Sprintf(" – one of %d trials", k.trials)
		}
	}
	return lines
}

// withoutTrial takes the trial that a doubt is of from its beginning; false where it is of the whole row.
func withoutTrial(doubt string, r Row) (text string, ofTrial bool) {
	before, rest, found := strings.Cut(doubt, ": ")
	if found && slices.ContainsFunc(r.Trials, func(key string) bool { return key == before || strings.HasSuffix(key, "/"+before) }) {
		return rest, true
	}
	return doubt, false
}
