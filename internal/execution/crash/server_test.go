package crash

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/drivers/etcd"
	"assay/drivers/redis"
	"assay/internal/execution/control"
	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/store"
)

var serverDrivers = []store.Driver{redis.Driver{}, etcd.Driver{}}

// serverTarget is a server that Assay starts, in a class, and the options of its cuts.
func serverTarget(t *testing.T, driver store.Driver, p server.Program, class store.Durability, kind Kind,
	cuts int) (*Target, Options) {
	t.Helper()
	if _, err := p.Find(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	if kind == Power {
		needsRig(t)
	}
	d := driver.Describe()
	o := optionsOf(t, kind, cuts)
	root, err := os.MkdirTemp("", "crash-server-") // the server may run as another user, who can't enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := filepath.Glob(filepath.Join(root, "*")); err != nil || len(left) > 0 {
			t.Errorf("%v are left: %v", left, err)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(root, directoryMode); err != nil {
		t.Fatal(err)
	}
	o.DataRoot, o.Log = root, t.Output()
	o.Program = func(string) (server.Program, bool) { return p, true }
	return &Target{
		Store: experiment.Store{Name: d.Name, Driver: d.Name, Description: d, Server: &experiment.Server{Count: 1}},
		Cell: experiment.Cell{Durability: class, LossWindow: 3 * time.Second, ValueBytes: 100, Threads: 4,
			Handles: control.HandlesPerThread},
		Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16, Prefix: experiment.KeyPlaceholder + ":"}, PoolBytes: 1 << 16, PoolSeed: 1,
		Records: 100, Operations: 300,
	}, o
}

// attacked is a server to which something is done while it works, the first time that it is started.
func attacked(t *testing.T, p server.Program, attack func(ctx context.Context,
	i *server.Instance) error) server.Program {
	honest, once := p.Settings, sync.Once{}
	p.Settings = func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		told, err := honest(ctx, i)
		once.Do(func() {
			go func() {
				if err := attack(t.Context(), i); err != nil {
					fmt.Fprintln(os.Stderr, "the attack:", err) // the test may have ended: it fails then
				}
			}()
		})
		return told, err
	}
	return p
}

// switchRedis turns syncs off, as soon as records are there.
func switchRedis(_ context.Context, i *server.Instance) error {
	c, err := net.Dial("tcp", i.Endpoint())
	if err != nil {
		return err
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	ask := func(words ...string) (string, error) {
		if _, err := fmt.Fprintf(c, "%s\r\n", strings.Join(words, " ")); err != nil {
			return "", err
		}
		return answers.ReadString('\n')
	}
	if _, err := ask("AUTH", i.Guard.Password); err != nil {
		return err
	}
	for {
		size, err := ask("DBSIZE")
		if err != nil {
			return err
		}
		if len(strings.TrimSpace(size)) > len(":9") { // ten or more: the worker has opened the store
			break
		}
	}
	_, err = ask("CONFIG", "SET", "appendfsync", "no")
	return err
}

func TestServers(t *testing.T) {
	long := os.Getenv("ASSAY_LONG") == "1"
	cuts := 3
	if long {
		cuts = 30
	}
	t.Run("redis/D3 survives power cuts", func(t *testing.T) {
		target, o := serverTarget(t, redis.Driver{}, redis.Program, store.D3, Power, cuts)
		if r := tested(t, target, o); r.State != Kept || r.Control == nil || r.Control.Right == 0 {
			t.Errorf("it is %s: %s", r.State, r.Why)
		}
	})
	t.Run("redis/strictly by POSIX", func(t *testing.T) {
		target, o := serverTarget(t, redis.Driver{}, redis.Program, store.D3, Power, cuts)
		o.FileSystem = powercut.Strict
		r := tested(t, target, o)
		if r.State != Kept || r.Control == nil || r.Control.Right == 0 {
			t.Errorf("it is %s: %s", r.State, r.Why)
		}
		// What is read back is what a cut left, and not what the recording ended with.
		if !slices.ContainsFunc(r.Cuts, func(cut Cut) bool { return cut.Records < r.Control.Records }) {
			t.Errorf("each of %d cuts left all %d records", len(r.Cuts), r.Control.Records)
		}
	})
	t.Run("redis/everysec loses, and at most 3 s", func(t *testing.T) {
		target, o := serverTarget(t, redis.Driver{}, redis.Program, store.D2, Power, cuts)
		r := tested(t, target, o)
		if w := r.Window(); r.State != Kept || w == nil || w.RecordsMax == 0 {
			t.Errorf("it is %s (%s), and lost %+v", r.State, r.Why, w)
		}
	})
	t.Run("redis/D1 survives kills", func(t *testing.T) {
		target, o := serverTarget(t, redis.Driver{}, redis.Program, store.D1, Kill, cuts)
		if r := tested(t, target, o); r.State != Kept || len(r.Cuts) != cuts {
			t.Errorf("it is %s: %s", r.State, r.Why)
		}
	})
	t.Run("redis/a setting that is changed while it runs refutes it", func(t *testing.T) {
		target, o := serverTarget(t, redis.Driver{}, attacked(t, redis.Program, switchRedis), store.D3, Power, 50)
		directory := filepath.Join(t.TempDir(), "case")
		o.FirstOnly, o.CaseOf = true, func(*Result) (string, error) { return directory, nil }
		r := tested(t, target, o)
		if r.State != Refuted {
			t.Fatalf("it is %s after %d cuts", r.State, len(r.Cuts))
		}
		kept, err := ReadCase(r.Case)
		if err != nil {
			t.Fatal(err)
		}
		o.Program = func(string) (server.Program, bool) { return redis.Program, true }
		again, same, err := Replay(t.Context(), &kept, r.Case, o)
		if err != nil || !same || again.Missing() != kept.Cut.Missing() || again.Right != kept.Cut.Right {
			t.Errorf("the case is not the same again (%v, %v): %+v, was %+v", same, err, again, kept.Cut)
		}
	})
	t.Run("redis/no server is left where the control fails", func(t *testing.T) {
		p := redis.Program
		p.Class = func(store.Durability) (map[string]string, bool) {
			return map[string]string{"appendonly": "false"}, true
		}
		target, o := serverTarget(t, redis.Driver{}, p, store.D3, Power, 1)
		if r := tested(t, target, o); r.State != NotTested || !strings.Contains(r.Why, "does not open") {
			t.Errorf("a server that the driver refuses is %s: %s", r.State, r.Why)
		}
	})
	t.Run("etcd/one of three members is cut", func(t *testing.T) {
		cuts := cuts - 2 // each is a life of its own
		target, o := serverTarget(t, etcd.Driver{}, etcd.Program, store.D3, Power, cuts)
		target.Store.Server.Count, o.OneNode = 3, true
		r := tested(t, target, o)
		if r.State != Kept || len(r.Cuts) != cuts || r.Servers != 3 {
			t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
		}
		if !long {
			return
		}
		o.IgnoresFlushes, o.FirstOnly, o.Cuts = true, true, 50
		if r := tested(t, target, o); r.State != Refuted {
			t.Errorf("on a disk that ignores flushes it is %s: %s", r.State, r.Why)
		}
	})
	if !long {
		return
	}
	t.Run("etcd/--unsafe-no-fsync loses", func(t *testing.T) {
		p := etcd.Program
		honest := p.Command
		starts := 0
		p.Command = func(i *server.Instance) (arguments, environment []string) {
			arguments, environment = honest(i)
			if starts++; starts == 1 { // the driver refuses one that is started so on a log that is there
				arguments = append(arguments, "--unsafe-no-fsync")
			}
			return arguments, environment
		}
		target, o := serverTarget(t, etcd.Driver{}, p, store.D3, Power, 50)
		o.FirstOnly = true
		if r := tested(t, target, o); r.State != Refuted {
			t.Errorf("it is %s: %s", r.State, r.Why)
		}
	})
}
