package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/owned"
	"assay/internal/experiment"
)

// fakeRuntime is a runtime whose containers are processes of this machine: they outlive the command that
// made them, as those of a daemon do. It keeps what it is asked in asked, and a file for each container.
const fakeRuntime = `#!/bin/sh
echo "$*" >> "$STATE/asked"
case "$1" in
image)
	[ "$5" = fake:1 ] || { echo "Error: No such image: $5" >&2; exit 1; }
	echo sha256:0123456789abcdef ;;
run)
	shift
	name=version
	while :; do
		case "$1" in
		--rm) shift ;;
		--name) name=$2; shift 2 ;;
		--workdir) cd "$2"; shift 2 ;;
		--entrypoint) entry=$2; shift 2 ;;
		--*) shift 2 ;;
		*) shift; break ;;
		esac
	done
	[ -z "$BREAKS" ] || { echo "no room for $name" >&2; exit 125; }
	setsid env -u ASSAY_OWNER "$entry" "$@" 3<&- &
	echo $! > "$STATE/$name"
	wait $!
	ended=$?
	rm -f "$STATE/$name"
	exit $ended ;;
inspect) cat "$STATE/$4" 2>/dev/null || { echo "Error: No such object: $4" >&2; exit 1; } ;;
kill) kill -"$3" "$(cat "$STATE/$4")" ;;
rm)
	[ -e "$STATE/$3" ] || { echo "Error: No such container: $3" >&2; exit 1; }
	kill -9 "$(cat "$STATE/$3")"
	rm -f "$STATE/$3" ;;
esac
`

// withRuntime puts a fake runtime in the PATH, and returns what it keeps.
func withRuntime(t *testing.T) (state string) {
	t.Helper()
	state, place := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(place, "docker"), []byte(fakeRuntime), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", place+":/usr/bin:/bin")
	known := runtimes
	runtimes = []string{"no-podman", "docker"} // the machine may have a true podman
	t.Cleanup(func() { runtimes = known })
	t.Setenv("STATE", state)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return state
}

func asked(t *testing.T, state string) string {
	t.Helper()
	text, err := bounded.ReadFile(filepath.Join(state, "asked"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// containersOf are those that run.
func containersOf(t *testing.T, state string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), containerPrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Whom a server runs as that may run as root does not hang on where its binary stands: an image has it.
func TestUserOfAServerInAnImage(t *testing.T) {
	p := fake(honest).By(experiment.ImageBinary("valkey/valkey:8", ""))
	p.NotAsRoot, p.MayBeRoot = []string{"nobody"}, true
	if _, err := p.userFor("image:valkey/valkey:8", []string{t.TempDir()}); err != nil {
		t.Error(err)
	}
	words := limits()
	if len(words) != 4 || !strings.HasPrefix(words[1], "nofile=") || !strings.HasPrefix(words[3], "nproc=") {
		t.Errorf("limits %q", words)
	}
}

func inImage(kind string) Program { return fake(kind).By(experiment.ImageBinary("fake:1", os.Args[0])) }

// The server's process, and not its runtime's, is what is watched, killed and stopped.
func TestServerInAContainer(t *testing.T) {
	state := withRuntime(t)
	r := request(t)
	r.CPUs = []int{0}
	i, err := Start(context.Background(), inImage(honest), r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Stop(0) }()
	if i.Version != "1.2.3-fake" || i.Binary != "image:fake:1!"+os.Args[0] {
		t.Errorf("it is %s of version %s", i.Binary, i.Version)
	}
	names := containersOf(t, state)
	if len(names) != 1 || !slices.Equal(i.Processes(), []int{i.PID()}) {
		t.Fatalf("containers %v, processes %v", names, i.Processes())
	}
	if told, err := os.Readlink("/proc/" + strconv.Itoa(i.PID()) + "/exe"); err != nil || strings.HasSuffix(told, "sh") {
		t.Errorf("the process that is watched is %s, %v", told, err)
	}
	for _, part := range []string{"--rm --name " + names[0], "--pull never", "--network host", "--cpuset-cpus 0", strings.Join(limits(), " "),
		"--volume " + i.Directory + ":" + i.Directory, "--env FAKE=1", "--entrypoint " + os.Args[0] + " fake:1 " + asServer + " honest"} {
		if !strings.Contains(asked(t, state), part) {
			t.Errorf("the runtime was not asked for %q:\n%s", part, asked(t, state))
		}
	}
	first := i.PID()
	if err := i.Crash(nil); err != nil {
		t.Fatal(err)
	}
	if left := containersOf(t, state); len(left) > 0 {
		t.Errorf("after a crash there is %v", left)
	}
	if err := i.Restart(context.Background(), long); err != nil {
		t.Fatal(err)
	}
	if again := containersOf(t, state); len(again) != 1 || again[0] == names[0] || i.PID() == first {
		t.Errorf("after a restart the containers are %v", again)
	}
	if err := i.Freeze(); err != nil {
		t.Error(err)
	}
	if err := i.Stop(long); err != nil { // which thaws it
		t.Error(err)
	}
	if !strings.Contains(asked(t, state), "kill --signal "+strconv.Itoa(int(syscall.SIGTERM))) || len(containersOf(t, state)) > 0 {
		t.Errorf("it was stopped by:\n%s", asked(t, state))
	}
	expectEnded(t, i)
}

// Fault (servers): a container's runtime or image is not there, its daemon does not answer, or the
// container or its server does not start
// Assay: the run ends before its first trial, with the runtime's words; no container is left, no
// image is pulled
// With: server.TestContainerThatAKilledRunLeft
func TestContainersThatCantStartEndTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		p        Program
		change   func(t *testing.T)
		is       error
		expected string
	}{
		"no runtime":        {inImage(honest), func(t *testing.T) { t.Setenv("PATH", "/nowhere") }, ErrNotInstalled, "neither no-podman nor docker is in PATH"},
		"no such image":     {fake(honest).By("image:fake:2!x"), func(*testing.T) {}, nil, "No such image: fake:2|docker pull fake:2"},
		"it does not start": {inImage(honest), func(t *testing.T) { t.Setenv("BREAKS", "1") }, nil, "no room for"},
		"it ends at once":   {inImage(broken), func(*testing.T) {}, ErrDied, "exit status 3|FATAL: no such luck"},
		"it never answers":  {inImage(deaf), func(*testing.T) {}, nil, "it did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			state := withRuntime(t)
			c.change(t)
			r := request(t)
			if name == "it never answers" {
				r.Patience = 200 * time.Millisecond
			}
			i, err := Start(context.Background(), c.p, r)
			if err == nil {
				_ = i.Stop(0)
				t.Fatal("it was started")
			}
			for _, part := range strings.Split(c.expected, "|") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %q, expected %q in it", err, part)
				}
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the error is %v, expected %v", err, c.is)
			}
			if left := containersOf(t, state); len(left) > 0 {
				t.Errorf("containers are left: %v", left)
			}
			expectNothingLeft(t, r.Directory)
		})
	}
	t.Run("it ignores its stop signal", func(t *testing.T) {
		state := withRuntime(t)
		r := request(t)
		i, err := Start(context.Background(), inImage(stubborn), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Stop(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not end within") {
			t.Errorf("stopped with %v", err)
		}
		if left := containersOf(t, state); len(left) > 0 {
			t.Errorf("containers are left: %v", left)
		}
		expectNothingLeft(t, r.Directory)
	})
}

// What a killed run left is ended by its note, and nothing that has another name.
func TestContainerThatAKilledRunLeft(t *testing.T) {
	state := withRuntime(t)
	i, err := Start(context.Background(), inImage(honest), request(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Stop(0) }()
	runtime, err := findRuntime()
	if err != nil {
		t.Fatal(err)
	}
	if err := RemoveContainer(owned.Thing{Path: runtime, By: "theirs"}); err == nil {
		t.Error("a container of others is removed")
	}
	left := owned.Thing{Path: runtime, By: containersOf(t, state)[0]}
	for range 2 { // it may be gone before it is looked for
		if err := RemoveContainer(left); err != nil {
			t.Error(err)
		}
	}
	<-i.Exited()
}

// The binary of an image that names none is the one whose product it is named after.
func TestProgramOfAnImage(t *testing.T) {
	p := Program{Driver: "redis", Binaries: []string{"redis-server", "valkey-server"}, Others: []string{"keydb-server"}}
	for reference, want := range map[string]string{
		"redis:8": "redis-server", "docker.io/valkey/valkey:8": "valkey-server", "eqalpha/keydb": "keydb-server", "mine": "redis-server",
		"valkey/valkey:8!/opt/server": "/opt/server",
	} {
		named := p.By(experiment.ImagePrefix + reference)
		if of, is := named.ofImage(); !is || of.program != want || strings.Contains(of.reference, "!") {
			t.Errorf("%s: %+v, %v, expected %s", reference, of, is, want)
		}
	}
	named := p.By("/usr/bin/redis-server")
	if _, is := named.ofImage(); is {
		t.Error("a binary is an image")
	}
}
