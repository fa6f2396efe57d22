package main

import (
	"io"
	"strings"
	"testing"
)

// Every command says in its help what it is for, shows an example, and keeps within 100 columns.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	for _, c := range command(io.Discard).Commands() {
		if c.Hidden || isTopic(c) || c.Name() == "completion" || c.Name() == "help" {
			continue // for Assay itself, cobra's own, or words alone
		}
		shown := assay(t, c.Name(), "--help")
		shown.wants(t, 0)
		wantParts(t, c.Name()+" --help", shown.stdout, "Usage:", "Examples:", "\n  ", "assay "+c.Name())
		if c.Long == "" {
			t.Errorf("%s has no long text", c.Name())
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len([]rune(line)) > 100 {
				t.Errorf("%s --help has a line of %d columns: %s", c.Name(), len([]rune(line)), line)
			}
		}
	}
	top := assay(t)
	top.wants(t, 0)
	wantParts(t, "assay", top.stdout, "Begin with:", "assay run put-get", "Exit status:")
	for _, c := range command(io.Discard).Commands() {
		if !c.Hidden && !strings.Contains(top.stdout, c.Name()) {
			t.Errorf("assay does not list %s", c.Name())
		}
	}
}

// Mistakes end with status 2 and words that say what would be right.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments string
		says      []string
	}{
		{"report", []string{"run directory"}},
		{"report /", []string{"/ is not a run directory", "run.json"}},
		{"report /nonexistent", []string{"/nonexistent", "no such file"}},
		{"compare one", []string{"two or more run directories", "got 1", "--help"}},
		{"compare / /", []string{"not a run directory", "assay compare --run DIR ARM ARM"}},
	} {
		t.Run(c.arguments, func(t *testing.T) {
			t.Parallel()
			e := assayIn(t, t.TempDir(), "", strings.Fields(c.arguments)...)
			e.wants(t, exitUsage, append(c.says, "assay: ")...)
			if e.stdout != "" {
				t.Errorf("a mistake wrote to standard output: %q", e.stdout)
			}
			if strings.Count(e.stderr, "\n") > 12 {
				t.Errorf("the answer to a mistake is too long to be read:\n%s", e.stderr)
			}
		})
	}
}

// A mistake in a file is shown with its place in the file, and a caret under it.
func TestMistakeInAFile(t *testing.T) {
	t.Parallel()
	path := written(t, "typo.yaml", strings.Replace(oneStore, "mix:", "mxi:", 1))
	assay(t, "run", path).wants(t, exitUsage, path+`:8:20: unknown field "mxi"`, "\n    |                    ^^^", `did you mean "mix"?`)
	path = written(t, "driver.yaml", strings.Replace(oneStore, "[memory]", "[memroy]", 1))
	assay(t, "run", path).wants(t, exitUsage, path+":2:10:", "^", "memory")
	path = written(t, "broken.yaml", "name: [")
	assay(t, "run", path).wants(t, exitUsage, path+":1:")
	assayIn(t, "", strings.Replace(oneStore, "mix:", "mxi:", 1), "run", "-").wants(t, exitUsage, `standard input:8:20: unknown field "mxi"`)
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, part := range map[string]string{"bash": "__start_assay", "zsh": "#compdef assay", "fish": "complete -c assay"} {
		e := assay(t, "completion", shell)
		e.wants(t, 0)
		wantParts(t, shell, e.stdout, part)
	}
	for arguments, want := range map[string]string{
		"run pu": "put-get", "drivers peb": "pebble", "presets ycsb-": "ycsb-a", "report x --format c": "csv", "init --preset sm": "smoke",
	} {
		e := assay(t, append([]string{"__complete"}, strings.Fields(arguments)...)...)
		e.wants(t, 0)
		wantParts(t, arguments, e.stdout, want)
	}
}
