package drivers_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assay/drivers"
	"assay/internal/evidence/host"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// Each server that Assay starts admits this run alone, or states who else may connect, why, and what
// they can do. None runs as root where another user exists.
func TestEachProgramSaysWhomItAdmits(t *testing.T) {
	text, err := os.ReadFile("../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Who can connect\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, p := range drivers.Programs() {
		t.Run(p.Driver, func(t *testing.T) {
			switch {
			case p.DemandsLogin() && p.Open != "":
				t.Errorf("demands a login, but Open is set: %s", p.Open)
			case !p.DemandsLogin() && p.Open == "":
				t.Error("lets everybody on the machine in, and doesn't say why")
			}
			if len(p.NotAsRoot) == 0 {
				t.Error("runs as root, and names no other user")
			}
		})
		t.Run("documented/"+p.Driver, func(t *testing.T) {
			if !strings.Contains(section, p.Driver) {
				t.Error("docs/servers.md, Who can connect, doesn't name it")
			}
		})
	}
}

// A stranger is a driver that has none of the options with which this run's driver gets in.
//
// Fault (servers): another user connects to a started Redis, PostgreSQL, MariaDB, NATS or Tarantool
// Assay: it demands a login, whose password is in a file of the owner's. Who can connect to the
// others is [documented](servers.md#who-can-connect)
// With: drivers.TestEachProgramSaysWhomItAdmits, redis.TestStartedServerDemandsALogin
func TestStartedServerLetsNoStrangerIn(t *testing.T) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		p, startable := drivers.Program(d.Name)
		if !startable || !slices.ContainsFunc(p.Options,
			func(o store.Option) bool { return o.Name == server.OptionLogin }) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			class := d.Durability[len(d.Durability)-1].Class
			if class == store.D4 {
				class = store.D3
			}
			i := drivertest.StartServer(t, p, class, map[string]string{server.OptionLogin: "true"})
			open := func(options map[string]string) (store.Store, error) {
				c := drivertest.Config(t, d, class, options)
				c.Endpoints = []string{i.Endpoint()}
				ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
				defer cancel()
				return driver.Open(ctx, c)
			}
			wrong := maps.Clone(i.Guard.DriverOptions())
			for name := range wrong {
				file := t.TempDir() + "/wrong"
				text := strings.ReplaceAll(string(read(t, wrong[name])), i.Guard.Password, "swordfish")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				wrong[name] = file
			}
			for who, options := range map[string]map[string]string{"no password": nil, "a wrong one": wrong} {
				if s, err := open(options); err == nil {
					t.Errorf("it let in a driver with %s: %v", who, s.Close())
				} else if strings.Contains(err.Error(), i.Guard.Password) {
					t.Errorf("the password stands in %v", err)
				}
			}
			s, err := open(i.Guard.DriverOptions())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { must(t, s.Close()) })
			h, err := s.Handle()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { must(t, h.Close()) })
			must(t, h.Put([]byte("key"), []byte("value")))
			if value, err := h.Get([]byte("key"), nil); err != nil || string(value) != "value" {
				t.Errorf("this run's driver got %q, %v", value, err)
			}
			must(t, h.Delete([]byte("key")))
			shownToOthers(t, i)
		})
	}
}

// Fault (servers): … to one with `socket: true`
// Assay: it listens in a directory that only the owner enters, and at no port
//
// A server at a Unix socket is reached by this run's driver, and otherwise only by users who can enter its
// directory: it listens at no port. One that was killed comes back at the same place.
func TestStartedServerAtASocketLetsNoStrangerIn(t *testing.T) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		p, startable := drivers.Program(d.Name)
		if !startable || !slices.ContainsFunc(p.Options,
			func(o store.Option) bool { return o.Name == server.OptionSocket }) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			class := d.Durability[0].Class
			i := drivertest.StartServer(t, p, class, map[string]string{server.OptionSocket: "true"})
			if store.Network(i.Endpoint()) != "unix" || !strings.HasPrefix(i.Endpoint(), i.Directory+"/") {
				t.Fatalf("it is at %s, its directory is %s", i.Endpoint(), i.Directory)
			}
			if info, err := os.Stat(i.Directory); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v of its directory, %v: expected 0700", info.Mode(), err)
			}
			c := drivertest.Config(t, d, class, i.Guard.DriverOptions())
			c.Endpoints = []string{i.Endpoint()}
			reached := func(t *testing.T) {
				_, h := drivertest.Open(t, driver, c)
				must(t, h.Put([]byte("key"), []byte("value")))
				mustGet(t, h, []byte("key"), []byte("value"))
			}
			t.Run("reached", reached)
			if at, err := host.ListensAt(i.Processes()); err != nil || len(at) > 0 {
				t.Errorf("it listens at %v, %v", at, err)
			}
			if p.InMemory {
				return // a restart of it forgets all
			}
			must(t, i.Crash(nil))
			must(t, i.Restart(t.Context(), servertest.Patience))
			t.Run("again", reached)
		})
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// openToOthers reports whether another user can reach a file: one in a closed folder, as a fresh clone may be
// in, root alone can start.
func openToOthers(t *testing.T, file string) bool {
	t.Helper()
	for at := filepath.Dir(file); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// shownToOthers holds that neither the process list nor a file that others can read has the password,
// and that the server isn't root's where another user is to be had: the one that is linked in runs of this
// test's own binary, in a folder that is closed to others.
func shownToOthers(t *testing.T, i *server.Instance) {
	t.Helper()
	for _, pid := range i.Processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), i.Guard.Password) {
			t.Errorf("the password stands in the process list: %s", line)
		}
	}
	if info, err := os.Stat(fmt.Sprintf("/proc/%d", i.PID())); err != nil {
		t.Error(err)
	} else if os.Geteuid() == 0 && !i.Program.Linked && info.Sys().(*syscall.Stat_t).Uid == 0 &&
		openToOthers(t, i.Binary) {
		t.Error("it runs as root")
	}
	for _, closed := range []string{i.Directory, i.Guard.Credentials} {
		if info, err := os.Stat(closed); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others have access to %s: %v, %v", closed, info.Mode(), err)
		}
	}
}
