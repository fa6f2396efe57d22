package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/testkit/recordtest"
)

// shownPages are the pages whose commands are executed, and what a reader has before the first of them:
// files and run directories of his own, which a page names and does not make.
var shownPages = map[string][]string{
	"README.md":                 {"before", "after", "DIR", "series.csv", "requests.csv", ".git"},
	"docs/tutorial.md":          nil,
	"docs/cookbook.md":          {"before", "after", "DIR", "requests.csv", "gate.yaml", ".git"},
	"docs/analyze.md":           {"rates.csv", "results/put-get"},
	"docs/history.md":           {"gate.yaml", ".git"},
	"docs/result.md":            {"assay-put-get"},
	"docs/servers.md":           nil,
	"docs/servers/cassandra.md": nil,
	"docs/agents.md":            nil,
}

// standIns are programs that a reader's machine has and that of a test need not have, or must not run, and
// what they do in their place.
var standIns = map[string]string{
	"make": "", "go": "", "kubectl": "", "git": `[ "$1" = clone ] || exec "$GIT" "$@"`, "nats-server": "", "openssl": "echo 0123456789abcdef", "benchstat": "cat >/dev/null", "sqlite3": "",
	// The head is printed anew every twenty lines, unless -n is given: procps does so.
	"vmstat": `i=0; while [ $i -lt 60 ]; do
  if [ $i = 0 ] || { [ "$1" != -n ] && [ $((i % 20)) = 0 ]; }; then
    echo "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"
    echo " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
  fi
  echo " 1  0      0 123456  12345 123456    0    0     5    10 $((1000 + i % 7)) 2000  5  2 93  0  0"
  i=$((i + 1)); done`,
}

// stand is assay as the pages' shell finds it: runs are planned, and a run directory of the same form stands
// in for what would be measured; what waits for somebody, or cuts stores off, is only read. Everything else
// is done.
const stand = `#!/bin/bash
verb=$1
case "$verb" in
run | capacity | choose)
  case " $* " in *" --dry-run "*) exec "$REAL" "$@";; esac
  rest=(); out=
  while [ $# -gt 0 ]; do
    case "$1" in
    --out) out=$2; shift;;
    *) rest+=("$1");;
    esac
    shift
  done
  plan=$("$REAL" "${rest[@]}" --dry-run --json 2>&1)
  status=$?
  case "$plan" in *"not on this machine:"*) exit 0;; esac # it says what installs the store
  [ $status = 0 ] || { printf '%s\n' "$plan" >&2; exit $status; }
  name=$(printf '%s\n' "$plan" | sed -n 's/^    "name": "\([^"]*\)",$/\1/p' | head -1)
  out=${out:-assay-$name-20261127-120000}
  mkdir -p "$(dirname "$out")" && { [ -e "$out" ] || cp -r "$MEASURED" "$out"; }
  ;;
tune) exec "$REAL" "$@" --dry-run;;
serve | crash | conformance) shift; exec "$REAL" "$verb" --help "$@";;
agent) case " $* " in *" --manifest "*) exec "$REAL" "$@";; esac; shift; exec "$REAL" agent --help "$@";;
history) if [ "$2" = bisect ]; then shift 2; exec "$REAL" history bisect --help "$@"; fi; exec "$REAL" "$@";;
*) exec "$REAL" "$@";;
esac
`

// answers are the statuses besides 0 with which a command does what it is asked for: differences, and
// doubts about the machine or the figures.
var answers = map[string][]int{"compare": {4, 5}, "doctor": {3}, "report": nil}

// Every command of the pages works as it is typed, in the page's order, in an empty folder.
func TestDocumentedCommandsWork(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("skipped: bash is not installed")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("skipped: git is not installed")
	}
	tools := t.TempDir()
	for name, does := range standIns {
		executable(t, filepath.Join(tools, name), "#!/bin/bash\n"+does+"\n")
	}
	executable(t, filepath.Join(tools, "assay"), stand)
	if _, err := exec.LookPath("jq"); err != nil {
		executable(t, filepath.Join(tools, "jq"), "#!/bin/bash\ncat >/dev/null\n")
	}
	measured := filepath.Join(tools, "measured")
	shape := quiet(100e3)
	shape.Seconds, shape.Arms = 5, nil
	for _, name := range []string{"bbolt", "pebble", "before", "after"} {
		shape.Arms = append(shape.Arms, recordtest.Arm{Name: name, PutRate: 100e3, GetRate: 200e3, Noise: 0.01,
			BlockNoise: 0.001, DiskFactor: 1})
	}
	makeRun(measured, shape)
	for page, has := range shownPages {
		t.Run(strings.ReplaceAll(page, "/", "-"), func(t *testing.T) {
			t.Parallel()
			typedInOrder(t, bash, git, tools, page, has)
		})
	}
}

func typedInOrder(t *testing.T, bash, git, tools, page string, has []string) {
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	here, measured := t.TempDir(), filepath.Join(tools, "measured")
	if err := os.MkdirAll(filepath.Join(here, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(tools, "assay"), filepath.Join(here, "bin", "assay")); err != nil {
		t.Fatal(err)
	}
	trials, err := os.ReadDir(filepath.Join(measured, "trials"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range has {
		place := filepath.Join(here, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(name) {
		case ".git":
			for _, arguments := range []string{"init -q", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m one"} {
				if said, err := exec.Command(git, append([]string{"-C", here}, strings.Fields(arguments)...)...).CombinedOutput(); err != nil {
					t.Fatalf("git %s: %v\n%s", arguments, err, said)
				}
			}
		case ".csv":
			lines := "time_s,rate\n1,100\n2,101\n3,99\n"
			if strings.HasPrefix(filepath.Base(place), "requests") {
				lines = "time,op,key,size\n0,get,a,100\n1,set,b,50\n2,get,b,50\n"
			}
			executable(t, place, lines)
		case ".yaml":
			executable(t, place, "name: gate\nstores: [pebble]\ndurability: D3\nphases: [{name: load, load: true}, {name: put, mix: {update: 1}, for: 1s}]\n")
		default:
			if err := os.CopyFS(place, os.DirFS(measured)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, experiment := range wholeExperiments(string(text)) {
		name := regexp.MustCompile(`(?m)^name: (\S+)`).FindStringSubmatch(experiment)[1]
		executable(t, filepath.Join(here, name+".yaml"), strings.ReplaceAll(experiment, "driver: mystore", "driver: pebble"))
	}
	script, lines := "shopt -s nullglob\n", 0
	for _, block := range blocks(string(text), "sh") {
		for _, line := range strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			line = strings.ReplaceAll(line, "b1-001-bbolt-D1", trials[0].Name())
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") || isToInstall(line) {
				continue
			}
			lines++
			script += fmt.Sprintf("%s\nstatus=$?; [ $status = 0 ] || printf 'status %%s of: %%s\\n' $status %s >&3\n", line, quotedForBash(line))
		}
	}
	if lines == 0 {
		t.Fatal("the page shows no command")
	}
	said := filepath.Join(here, "said")
	c := exec.Command(bash, "-o", "pipefail", "-c", "exec 3>"+said+"\n"+script)
	c.Dir = here
	c.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "REAL="+program, "GIT="+git, "MEASURED="+measured, "XDG_DATA_HOME="+here)
	output, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	failed, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(failed)) {
		var status int
		if _, err := fmt.Sscanf(line, "status %d of: ", &status); err != nil {
			t.Fatalf("%q", line)
		}
		parts := strings.Fields(line[strings.Index(line, ": ")+2:])
		if len(parts) > 1 && slices.Contains(answers[parts[1]], status) {
			continue
		}
		t.Errorf("%s: %s\n%s", page, line, output)
	}
}

// promised are words that a page says the reader will see, by a part of the command that shows them.
var promised = []struct{ command, words string }{
	{"doctor", "CPU"}, {"--dry-run", "phase|trials|D3"}, {"--time 5m", "bbolt|pebble|Survives a power cut (D3)|Checked|Next"},
	{"--full", "bbolt|pebble"}, {"compare --run", "bbolt|pebble"}, {"--out results/after", "Checked"}, {"compare results/before", "read"},
}

// The tutorial, each command really done: ten minutes and more. What the machine disturbs may have no rank (3),
// and a comparison may find a difference or none.
func TestTutorialCommandsRun(t *testing.T) {
	if os.Getenv("ASSAY_LONG") == "" {
		t.Skip("SKIPPED: it measures for a quarter of an hour; ASSAY_LONG=1 has it")
	}
	t.Parallel()
	text, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	here, seen := t.TempDir(), map[string]bool{}
	if err := os.MkdirAll(filepath.Join(here, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(here, "bin", "assay")); err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(string(text), "sh") {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "bin/assay ") {
				continue // make, which has made the program
			}
			c := exec.Command("bash", "-c", line)
			c.Dir, c.Env = here, append(os.Environ(), "XDG_DATA_HOME="+here)
			output, err := c.CombinedOutput()
			if status := c.ProcessState.ExitCode(); err != nil && !slices.Contains([]int{exitTrials, 4, 5}, status) {
				t.Fatalf("%s: %v\n%s", line, err, output)
			}
			for _, p := range promised {
				if !strings.Contains(line, p.command) || p.command == "--time 5m" && strings.Contains(line, "--dry-run") {
					continue
				}
				seen[p.command] = true
				for word := range strings.SplitSeq(p.words, "|") {
					if !strings.Contains(string(output), word) {
						t.Errorf("%s: no %q in\n%s", line, word, output)
					}
				}
			}
		}
	}
	for _, p := range promised {
		if !seen[p.command] {
			t.Errorf("the page has no command with %s", p.command)
		}
	}
}

func quotedForBash(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func executable(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
