package report

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

func textOf(t *testing.T, colour bool, width int) string {
	t.Helper()
	var text strings.Builder
	if err := Text(&text, exampleView(t), colour, width); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestTextFitsItsWidth(t *testing.T) {
	for _, width := range []int{60, 80, 100, 132, 220} {
		for _, colour := range []bool{false, true} {
			for _, line := range strings.Split(textOf(t, colour, width), "\n") {
				if lipgloss.Width(line) > width {
					t.Errorf("at a width of %d, a line has %d: %s", width, lipgloss.Width(line), line)
				}
			}
		}
	}
}

func TestTextWithoutColourHasNoEscapes(t *testing.T) {
	if strings.Contains(textOf(t, false, 100), "\x1b") {
		t.Error("there are escape sequences though colour was not asked for")
	}
	if !strings.Contains(textOf(t, true, 100), "\x1b[") {
		t.Error("there is no colour though it was asked for")
	}
}

func TestTextHidesNothing(t *testing.T) {
	v := exampleView(t)
	for _, width := range []int{80, 100, 200} {
		// Wrapped sentences are compared word by word.
		text := strings.Join(strings.Fields(textOf(t, false, width)), " ")
		has := func(what string) {
			t.Helper()
			if !strings.Contains(text, strings.Join(strings.Fields(what), " ")) {
				t.Errorf("at a width of %d, the text lacks %q", width, what)
			}
		}
		for _, g := range v.Groups {
			has(g.Sentence)
		}
		for _, table := range v.Tables {
			has(table.Sentence)
			for _, row := range table.Rows {
				has(row.Arm)
				if row.Standing == NotRanked && row.Rate != nil {
					has(row.Arm + " " + string(row.Standing) + ": " + reasonText(row))
				}
			}
			for _, n := range notesOf(table) {
				has(n.Lead() + n.Text())
			}
		}
		has("no diff. shown")
		has("the worker died in phase put after 21 s")
	}
}

// At 100 columns nothing that a rate must not stand without is given up.
func TestTextKeepsWhatARateNeeds(t *testing.T) {
	text := textOf(t, false, 100)
	head := ""
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "ops/s") && strings.Contains(line, "store") {
			head = line
			break
		}
	}
	for _, column := range []string{"p50", "p99", "p99.9", "max", "worst", "bad", "of the best"} {
		if !strings.Contains(head, column) {
			t.Errorf("at 100 columns there is no %s: %s", column, head)
		}
	}
	for _, column := range []string{"disk", "logical", "memory", "alloc/op", "allocs/op"} {
		if !strings.Contains(text, column) {
			t.Errorf("at 100 columns there is no %s", column)
		}
	}
}
