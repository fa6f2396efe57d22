package drivertest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/store"
)

// Process is a real server that a test started, in a directory of its own.
type Process struct {
	Endpoint  string
	Directory string

	program   string
	arguments []string
	credential
	command *exec.Cmd
	ready   string // what it writes once it answers
}

type credential struct{ attributes *syscall.SysProcAttr }

// as is how a program runs that refuses to be root: as its package's user.
func as(t testing.TB, name, directory string) credential {
	t.Helper()
	c := credential{&syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if os.Geteuid() != 0 {
		return c
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid) // they are numbers on Linux
	gid, _ := strconv.Atoi(u.Gid)
	c.attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(directory, uid, gid); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c credential) run(t testing.TB, directory, program string, arguments ...string) {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir, command.SysProcAttr = directory, c.attributes
	command.Env = append(os.Environ(), "HOME="+directory, "LC_ALL=C")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// Start runs the server, again after a Kill too, until it says that it answers.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	log := filepath.Join(p.Directory, "log")
	output, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }() // the server has it
	p.command = exec.Command(p.program, p.arguments...)
	p.command.Dir, p.command.SysProcAttr = p.Directory, p.attributes
	p.command.Env = append(os.Environ(), "HOME="+p.Directory, "LC_ALL=C")
	p.command.Stdout, p.command.Stderr = output, output
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(p.ready)) {
			return
		}
		if time.Now().After(deadline) {
			p.Kill(t)
			t.Fatalf("%s does not answer\n%s", p.program, text)
		}
	}
}

// Kill ends the server and its children with SIGKILL, all as at one moment: the server is stopped first,
// so that it does nothing about their end, and they have not time for much about its own.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	if err := p.kill(); err != nil {
		t.Errorf("kill %s: %v", p.program, err)
	}
}

func (p *Process) kill() error {
	pid := p.command.Process.Pid
	if err := p.command.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return err
	}
	for _, child := range strings.Fields(string(list)) {
		if n, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended by itself
		}
	}
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	_ = p.command.Wait() // "signal: killed" is what was asked for
	for _, child := range strings.Fields(string(list)) {
		for alive(child) {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// alive says if a process runs: one that nobody waits for stays as a zombie.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // it has served
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func serverDirectory(t testing.TB) string {
	t.Helper()
	// Not t.TempDir: its parent is closed to other users.
	directory, err := os.MkdirTemp("", "assay-server-")
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

// PostgresUser is the superuser of StartPostgres's servers.
const PostgresUser = "assay_test"

// StartPostgres runs a real PostgreSQL with these settings ("fsync=off") until [Process.End].
func StartPostgres(t testing.TB, settings ...string) *Process {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is right
	if len(found) == 0 {
		t.Skip("SKIPPED: PostgreSQL is not installed, so that the driver is not tested")
	}
	program := found[len(found)-1]
	p := &Process{program: program, Directory: serverDirectory(t), ready: "database system is ready to accept connections"}
	port := freePort(t)
	p.Endpoint = net.JoinHostPort("127.0.0.1", port)
	p.credential = as(t, "postgres", p.Directory)
	data := filepath.Join(p.Directory, "data")
	p.run(t, p.Directory, filepath.Join(filepath.Dir(program), "initdb"), "-D", data, "-U", PostgresUser, "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	p.arguments = []string{"-D", data, "-h", "127.0.0.1", "-p", port, "-k", "", "-c", "shared_buffers=16MB"}
	for _, s := range settings {
		p.arguments = append(p.arguments, "-c", s)
	}
	p.Start(t)
	return p
}

// MariaDBUser is the privileged user of StartMariaDB's servers.
const MariaDBUser = "assay_test"

// StartMariaDB runs a real MariaDB with these settings ("innodb_flush_log_at_trx_commit=0") until
// [Process.End].
func StartMariaDB(t testing.TB, settings ...string) *Process {
	t.Helper()
	program := "/usr/sbin/mariadbd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: MariaDB is not installed, so that the driver is not tested")
	}
	p := &Process{program: program, Directory: serverDirectory(t), ready: "ready for connections"}
	port := freePort(t)
	p.Endpoint = net.JoinHostPort("127.0.0.1", port)
	p.credential = as(t, "mysql", p.Directory)
	data, users := filepath.Join(p.Directory, "data"), filepath.Join(p.Directory, "users.sql")
	p.run(t, p.Directory, "mariadb-install-db", "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	script := fmt.Sprintf("CREATE USER IF NOT EXISTS %s@'127.0.0.1' IDENTIFIED BY ''; GRANT ALL ON *.* TO %[1]s@'127.0.0.1';\n", MariaDBUser)
	if err := os.WriteFile(users, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	p.arguments = []string{"--no-defaults", "--datadir=" + data, "--bind-address=127.0.0.1", "--port=" + port, "--socket=" + filepath.Join(p.Directory, "socket"),
		"--skip-name-resolve", "--init-file=" + users, "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=32M"}
	for _, s := range settings {
		p.arguments = append(p.arguments, "--"+s)
	}
	p.Start(t)
	return p
}

// End kills the server and removes its directory.
func (p *Process) End(t testing.TB) {
	t.Helper()
	p.Kill(t)
	if err := os.RemoveAll(p.Directory); err != nil {
		t.Error(err)
	}
}

// Servers are started once for a package's tests, by what they are started with, and ended by its
// TestMain.
type Servers struct {
	lock    sync.Mutex
	running map[string]*Process
}

// Get returns the server of a driver in a class, or skips.
func (s *Servers) Get(t testing.TB, driver string, class store.Durability) *Process {
	t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	start, settings := StartPostgres, []string{"fsync=on"}
	if driver == "mariadb" {
		start, settings = StartMariaDB, []string{"innodb-flush-log-at-trx-commit=" + map[store.Durability]string{store.D0: "0", store.D1: "2", store.D3: "1"}[class]}
	} else if class == store.D1 {
		settings = []string{"fsync=off"}
	}
	name := driver + settings[0]
	if p := s.running[name]; p != nil {
		return p
	}
	if s.running == nil {
		s.running = map[string]*Process{}
	}
	s.running[name] = start(t, settings...)
	return s.running[name]
}

// End ends all of them, when no test runs any more.
func (s *Servers) End() {
	for _, p := range s.running {
		_ = p.kill() // there is no test left to tell
		_ = os.RemoveAll(p.Directory)
	}
}
