package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/server"
)

const startedCount = 3

const startedServer = `name: one
stores: [{driver: memcached, server: {start: true, count: 3}}]
durability: D0
records: 100
keys: {format: decimal, digits: 12}
blocks: 1
busy_machine: tell
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, rate: 100, for: 1200ms}
step_timeout: 20s
`

func needMemcached(t *testing.T) {
	t.Helper()
	p, _ := drivers.Program("memcached")
	if _, err := p.Find(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
}

// servers returns the processes of memcached below a process, and where they listen.
func (p *process) servers(t *testing.T) (pids []int, at []string) {
	t.Helper()
	for _, pid := range p.workers(t) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && strings.TrimSpace(string(name)) == "memcached" {
			pids = append(pids, pid)
		}
	}
	at, err := host.ListensAt(pids)
	if err != nil {
		t.Fatal(err)
	}
	return pids, at
}

// expectNoServer checks that neither processes nor sockets nor files of a run's servers are left.
func expectNoServer(t *testing.T, directory string, pids []int, at []string) {
	t.Helper()
	if len(pids) != startedCount || len(at) != startedCount {
		t.Fatalf("processes %v listened at %v: the test proves nothing", pids, at)
	}
	gone(t, pids)
	for _, listened := range at {
		_, endpoint, _ := strings.Cut(listened, " ")
		listener, err := net.Listen("tcp", endpoint)
		if err != nil {
			t.Errorf("a server's port is taken: %v", err)
		} else if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
	var left []string
	eventually(t, func() bool { // another test's run may be at removing what a killed one left
		var err error
		if left, err = filepath.Glob(filepath.Join(directory, "data", "*")); err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	}, func() string { return fmt.Sprintf("data is left: %v", left) })
}

// Fault (servers): Ctrl-C, SIGHUP, a lost terminal, with a started server
// Assay: it ends in order; no process, socket or file is left
// With: main.TestLostTerminalLeavesNoServer
func TestStoppedRunLeavesNoServer(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, directory := begun(t, startedServer, nil)
			pids, at := p.servers(t)
			p.send(t, signal)
			p.end(t).wants(t, exitTrials, "assay run --resume "+directory)
			expectNoServer(t, directory, pids, at)
			if signal == syscall.SIGINT {
				resumed(t, directory)
			}
		})
	}
}

// Fault (servers): kill −9 of Assay, with a server
// Assay: the kernel ends the server; the next run, or `assay doctor --clean`, ends what it had
// started and removes its directory. Not found: a process outside its group, without environment
// and descriptors
// With: server.TestServersOfAKilledOwnerAreEnded
func TestKilledRunLeavesNoServer(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	p, directory := begun(t, startedServer, nil)
	pids, at := p.servers(t)
	p.send(t, syscall.SIGKILL)
	p.end(t)
	gone(t, pids)
	if left, err := filepath.Glob(filepath.Join(directory, "data", "*")); err != nil || len(left) == 0 {
		t.Errorf("data: %v, %v: the test proves nothing", left, err)
	}
	assay(t, "doctor", "--clean").wants(t, 0)
	expectNoServer(t, directory, pids, at)
	resumed(t, directory)
}

// The password of a server that demands one is in no command line while the run goes on, and in no
// file and no output after it.
func TestRunPrintsNoPassword(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	for driver, servers := range map[string]int{"memcached": startedCount, "redis": 1} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			if p, _ := drivers.Program(driver); !installed(p) {
				t.Skipf("SKIPPED: %s is not installed", driver)
			}
			demanding := fmt.Sprintf("{driver: %s, server: {start: true, count: %d, options: {tls: true, login: true}}}", driver, servers)
			data, err := os.MkdirTemp("", "assay-data-") // a server's user can't enter t.TempDir
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(data) })
			if err := os.Chmod(data, 0o711); err != nil {
				t.Fatal(err)
			}
			directory := filepath.Join(t.TempDir(), "run")
			experiment := strings.Replace(startedServer, "{driver: memcached, server: {start: true, count: 3}}", demanding, 1)
			p := start(t, nil, "run", written(t, "one.yaml", experiment), "--out", directory, "--data", data)
			var password string
			eventually(t, func() bool {
				_ = filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
					if err == nil && entry.Name() == "credentials" {
						text, _ := os.ReadFile(path) // its trial may have ended
						_, password, _ = strings.Cut(strings.TrimSpace(string(text)), ":")
					}
					return nil
				})
				return len(password) > 20
			}, func() string { return "no credentials were made" })
			for running := true; running; {
				select {
				case <-p.exited:
					running = false
				case <-time.After(50 * time.Millisecond):
				}
				for _, pid := range append(p.workers(t), p.Process.Pid) {
					line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					if err == nil && strings.Contains(string(line), password) {
						t.Errorf("process %d shows it: %q", pid, line)
					}
				}
			}
			e := p.end(t)
			e.wants(t, 0)
			if strings.Contains(e.stdout+e.stderr, password) {
				t.Error("the run's output has it")
			}
			told := false
			err = filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() {
					return err
				}
				text, err := os.ReadFile(path)
				told = told || strings.Contains(string(text), `"driver.login": "yes"`)
				if strings.Contains(string(text), password) {
					t.Errorf("%s has it", path)
				}
				return err
			})
			if err != nil || !told {
				t.Errorf("no file tells of a login: %v", err)
			}
		})
	}
}

func installed(p server.Program) bool {
	_, err := p.Find()
	return err == nil
}

// A directory of root's that a server's user can't enter is refused before anything is made.
func TestServerThatCantReachItsDirectoryIsRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	if p, _ := drivers.Program("postgres"); os.Geteuid() != 0 || !installed(p) {
		t.Skip("SKIPPED: it takes root, and PostgreSQL")
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	e := assayIn(t, closed, "", "run", "postgres@start", "--records", "10")
	e.wants(t, exitUsage, "the server of postgres: user ", "has no access to "+closed, "--data DIR")
	if made, err := os.ReadDir(closed); err != nil || len(made) > 0 {
		t.Errorf("it made %v (%v)", made, err)
	}
}

func TestLostTerminalLeavesNoServer(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	x := newTerminal(t)
	directory := filepath.Join(t.TempDir(), "run")
	p := start(t, x.on, "run", written(t, "one.yaml", startedServer), "--out", directory)
	eventually(t, func() bool { return underWay(directory) }, func() string { return "no phase got under way:\n" + x.text() })
	pids, at := p.servers(t)
	if err := x.program.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.user.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	expectNoServer(t, directory, pids, at)
}

func TestServerIsStartedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	place := t.TempDir()
	e := assayIn(t, place, "", "run", "memcached@start", "--records", "200", "--for", "300ms", "--blocks", "1", "--out", "run", "--set", "busy_machine=tell")
	e.wants(t, 0)
	run := readable(t, filepath.Join(place, "run"))
	var servers []string
	for _, trial := range run.Trials {
		if trial.Server != nil && trial.State == record.OK {
			servers = append(servers, trial.Server.Members[0].Endpoint)
		}
	}
	if slices.Sort(servers); len(slices.Compact(servers)) != 2 {
		t.Errorf("servers ran at %v, expected one for the store and one for its A/A arm", servers)
	}
	shown := assayIn(t, place, "", "report", "run", "--format", "json")
	if !strings.Contains(shown.stdout, "started by Assay") {
		t.Error("the result does not say that Assay has started the server")
	}
}

func TestDryRunStartsNoServer(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	e := assay(t, "run", "memcached@start", "--dry-run")
	e.wants(t, 0)
	wantParts(t, "standard output", e.stdout, "this dry run started none")
	alone := assay(t, "run", "memcached", "--dry-run")
	alone.wants(t, 0, "read as: assay run memcached@start --dry-run")
	if trialLines(alone.stdout) != trialLines(e.stdout) {
		t.Errorf("memcached alone plans\n%s\nmemcached@start\n%s", alone.stdout, e.stdout)
	}
}

// Fault (servers): a mistyped endpoint leads to another machine
// Assay: refused without `--allow-remote`
func TestRemoteServerNeedsAFlag(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	arguments := []string{"run", "memcached@192.0.2.1:11211", "--records", "10", "--for", "1s", "--blocks", "1", "--out", directory}
	assay(t, arguments...).wants(t, exitUsage, "192.0.2.1:11211: not on this machine's loopback", "--allow-remote confirms")
	if _, err := os.Stat(directory); err == nil {
		t.Error("the refused run has made its directory")
	}
	assay(t, append(arguments, "--dry-run")...).wants(t, 0) // nothing is loaded
	assay(t, "conformance", "--driver", "memcached", "--endpoint", "192.0.2.1:11211").wants(t, exitUsage, "--allow-remote confirms")
}

func TestDriversAndDoctorListServers(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"drivers", "doctor"} {
		e := assay(t, command)
		e.wants(t, 0)
		wantParts(t, command, e.stdout, "Servers that Assay can start", "\nmemcached ")
	}
	e := assay(t, "drivers", "memcached")
	wantParts(t, "drivers memcached", e.stdout, "Server (memcached@start", "server.count starts several", "server.options", "connections_max", "1024")
}
