package text

import (
	"os/exec"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

// What stands on the screen is pasted into a shell: it must get the same words as the command had.
func TestCommand_survives_a_paste(t *testing.T) {
	long := strings.Repeat("x", 90)
	for _, command := range []string{
		"assay doctor",
		`assay run put-get --set 'stores=[pebble, sqlite]' --set phases.read-shuffled.for=10s --set blocks=15`,
		`assay run 'my  file.yaml' --set 'note=it'\''s  quick, and has a \ in it' --out "a dir" --full --plain --set blocks=15`,
		"assay report /data/" + long + " --full",
		`assay run a\ b.yaml --set phases.read-shuffled.for=10s --set phases.read-zipfian.for=10s`,
	} {
		for _, width := range []int{40, 80, 100} {
			p := newPage(Options{Width: width})
			p.command(p.heading("Next"), command)
			p.lines[0] = strings.TrimPrefix(p.lines[0], "Next")
			if got, want := wordsOf(t, strings.Join(p.lines, "\n")), wordsOf(t, command); got != want {
				t.Errorf("width %d: pasted %q, the command is %q", width, got, want)
			}
			for _, line := range p.lines {
				if words := len(strings.Fields(line)); lipgloss.Width(line) > width && words > 3 && width >= 60 {
					t.Errorf("width %d: %q could be broken", width, line)
				}
			}
		}
	}
}

// wordsOf returns what a shell makes of a command, each word in brackets.
func wordsOf(t *testing.T, command string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '[%s]' `+strings.TrimLeft(command, " ")).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

func TestWrap_breaks_at_spaces_alone(t *testing.T) {
	text := "Nothing is ranked in read-shuffled (D3), overwrite-batch (D3) and 8 more: disturbed."
	for room := 20; room < 60; room++ {
		lines := wrap(text, room-7, room)
		if joined := strings.Join(lines, " "); strings.TrimSpace(joined) != text {
			t.Errorf("width %d: %q", room, lines)
		}
		for _, line := range lines {
			if lipgloss.Width(line) > room || strings.HasSuffix(line, "-") {
				t.Errorf("width %d: %q", room, line)
			}
		}
	}
	long := strings.Repeat("é", 50)
	if got := strings.Join(wrap(long, 8, 20), ""); got != long {
		t.Errorf("a long word became %q", got)
	}
}
