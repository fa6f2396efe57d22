package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/plan"
)

// headlinesOf answers for each durability class, of each run, in a sentence: who is ahead where. What each table says of
// itself is longer, and stands above it.
func headlinesOf(tables []Table) []Headline {
	type place struct{ run, class string }
	var order []place
	of := map[place][]Table{}
	for _, t := range tables {
		p := place{t.Run, t.Class}
		if of[p] == nil {
			order = append(order, p)
		}
		of[p] = append(of[p], t)
	}
	several := len(order) > 0 && slices.ContainsFunc(order, func(p place) bool { return p.run != order[0].run })
	var headlines []Headline
	for _, p := range order {
		label := p.class
		if several {
			label += " of " + p.run
		}
		headlines = append(headlines, Headline{Run: p.run, Class: p.class, Label: label, Table: of[p][0].ID, Sentence: headline(of[p])})
	}
	return headlines
}

// labelsMax is how many tables of a class are named one by one: more are counted.
const labelsMax = 6

func headline(tables []Table) string {
	var leaders []string
	wins := map[string][]string{}
	var ties, reasons []string
	undecided := map[string][]string{} // by the reason
	undecidedTables := 0
	for _, t := range tables {
		first := leading(t)
		switch {
		case len(first) == 0:
			why := whyUndecided(t)
			if undecided[why] == nil {
				reasons = append(reasons, why)
			}
			undecided[why] = append(undecided[why], t.Label)
			undecidedTables++
		case len(first) == 1:
			arm := first[0].Arm
			if wins[arm] == nil {
				leaders = append(leaders, arm)
			}
			wins[arm] = append(wins[arm], t.Label+margin(t))
		default:
			names := make([]string, len(first))
			for i, r := range first {
				names[i] = r.Arm
			}
			ties = append(ties, t.Label+" ("+several(names)+")")
		}
	}
	few := len(tables) <= labelsMax
	slices.SortStableFunc(leaders, func(a, b string) int { return len(wins[b]) - len(wins[a]) })
	var parts []string
	inTables := func(n int) string { // the first count says of what
		if len(parts) > 0 {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("%d of %s", n, plural(len(tables), "table"))
	}
	for _, arm := range leaders {
		if few {
			parts = append(parts, arm+" leads in "+listed(wins[arm]))
		} else {
			parts = append(parts, fmt.Sprintf("%s leads in %d of %d tables", arm, len(wins[arm]), len(tables)))
		}
	}
	if len(ties) > 0 {
		text := "no difference is shown among the first in "
		if few {
			parts = append(parts, text+listed(ties))
		} else {
			parts = append(parts, text+inTables(len(ties)))
		}
	}
	if undecidedTables > 0 {
		if few {
			places := make([]string, len(reasons))
			for i, why := range reasons {
				places[i] = listed(undecided[why]) + why
			}
			parts = append(parts, "nothing is compared in "+strings.Join(places, ", nor in "))
		} else {
			parts = append(parts, "nothing is compared in "+inTables(undecidedTables))
		}
	}
	text := strings.Join(parts, "; ") + "."
	if len(leaders) > 0 {
		return text // a store's name keeps its own letters
	}
	return capital(text)
}

// namesMax is how many of those who share a first rank are named.
const namesMax = 3

func several(names []string) string {
	if len(names) > namesMax {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesMax-1], ", "), len(names)-namesMax+1)
	}
	return listed(names)
}

// leading returns the rows that share the first rank; none where fewer than two rows are ranked: then nobody is ahead.
func leading(t Table) (first []Row) {
	ranked := 0
	for _, r := range t.Rows {
		if r.Rank > 0 {
			ranked++
		}
		if r.Rank == 1 {
			first = append(first, r)
		}
	}
	if ranked < 2 {
		return nil
	}
	return first
}

// whyUndecided says of a table without a leader how many of its arms have a rank: " (only bbolt has a rank)".
func whyUndecided(t Table) string {
	measured := 0
	for _, r := range t.Rows {
		if r.Rank > 0 {
			return " (only " + r.Arm + " has a rank)"
		}
		if r.Role == string(plan.Measured) {
			measured++
		}
	}
	if measured < 2 {
		return ""
	}
	return " (no arm has a rank)"
}

// margin says how much faster the first is than the next: " (17.9×)".
func margin(t Table) string {
	for _, r := range t.Rows {
		if r.Rank > 1 {
			if r.Ratio == nil || r.Ratio.Value <= 0 {
				return ""
			}
			return " (" + si(1/r.Ratio.Value, "") + "×)"
		}
	}
	return ""
}
