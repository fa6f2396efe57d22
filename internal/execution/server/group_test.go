package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assay/internal/experiment"
	"assay/store"
)

func several(kind string, how Several) Program {
	p := fake(kind)
	p.Several, p.PeerPort = how, how == Cluster
	return p
}

func TestSeveralServersAreStartedAndStopped(t *testing.T) {
	for how, hosts := range map[Several][]string{
		Independent: {Host, Host, Host}, Cluster: {"127.0.0.1", "127.0.0.2", "127.0.0.3"},
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			var log bytes.Buffer
			r := request(t)
			r.Count, r.Log, r.Options = 3, &log, map[string]string{"memory_bytes": "2MiB"}
			peers, p := map[int]int{}, several(honest, how)
			p.Prepare = func(_ context.Context, i *Instance) error {
				peers[len(peers)] = len(i.Peers)
				return nil
			}
			g, err := StartGroup(context.Background(), p, r)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(peers) != "map[0:0 1:1 2:2]" {
				t.Errorf("each server saw so many before it: %v", peers)
			}
			ports, directories := map[int]bool{}, map[string]bool{}
			for n, i := range g.Members {
				ports[i.Port], directories[i.Directory] = true, true
				if i.Host != hosts[n] || g.Endpoints()[n] != i.Endpoint() || i.Settings["memory"] != "2097152" {
					t.Errorf("server %d is %s of %v, and tells %v", n, i.Endpoint(), g.Endpoints(), i.Settings)
				}
			}
			if len(directories) != 3 || len(ports) == 1 != (how == Cluster) {
				t.Errorf("they have the ports %v and the directories %v", ports, directories)
			}
			if pids := g.Processes(); len(slices.Compact(pids)) != 3 || !slices.Equal(pids, g.PIDs()) {
				t.Errorf("their processes are %v", pids)
			}
			if err := g.Stop(long); err != nil {
				t.Error(err)
			}
			for _, i := range g.Members {
				expectEnded(t, i)
			}
			if !strings.Contains(log.String(), "fake-3: fake server begins\n") {
				t.Errorf("the log has %q", log.String())
			}
		})
	}
}

func TestDeadServerOfAGroupIsNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := request(t)
	r.Count = 3
	g, err := StartGroup(context.Background(), several(honest, Independent), r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Stop(0) }()
	if err := g.Died(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(g.Members[1].PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-g.Members[1].Exited()
	if err := g.Died(); !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), "fake-2: signal: killed") {
		t.Errorf("they died of %v", err)
	}
}

// Replicas come behind the server that they follow, at its address and ports of their own.
func TestReplicasAreStarted(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for how, kept := range map[Several]bool{"": true, Cluster: true} {
		p, r := several(honest, how), request(t)
		p.Replicates, r.Replicas = kept, 2
		g, err := StartGroup(context.Background(), p, r)
		if err != nil {
			t.Fatal(err)
		}
		ports := map[int]bool{}
		for n, i := range g.Members {
			ports[i.Port] = true
			follows := i.Primary == g.Members[0]
			if n == 0 != (i.Primary == nil) || n > 0 && !follows || i.Replicas != 2 || i.Count != 1 || i.Host != Host {
				t.Errorf("%q: server %d at %s has the primary %v, %d replicas and %d beside it", how, n, i.Host, i.Primary, i.Replicas, i.Count)
			}
		}
		if len(g.Members) != 3 || len(ports) != 3 {
			t.Errorf("%q: they run at %v", how, g.Endpoints())
		}
		if err := g.Stop(long); err != nil {
			t.Error(err)
		}
		expectNothingLeft(t, r.Directory)
	}
}

// Whatever happens to one of them, the others are ended.
func TestGroupThatCantBeStartedLeavesNothing(t *testing.T) {
	ill := func(change func(*Program, *Instance)) func(*Program) {
		return func(p *Program) {
			p.Prepare = func(_ context.Context, i *Instance) error {
				if len(i.Peers) == 2 {
					change(i.Program, i)
				}
				return nil
			}
		}
	}
	for name, c := range map[string]struct {
		change   func(*Program)
		count    int
		expected string
	}{
		"the third ends at once": {ill(func(p *Program, _ *Instance) { p.Command = fake(broken).Command }), 3, "server 3 of 3: the server died"},
		"the third lies":         {ill(func(p *Program, _ *Instance) { p.Command = fake(liar).Command }), 3, "server 3 of 3: it was asked for"},
		"it can't be several":    {func(p *Program) { p.Several = "" }, 3, "several servers of fake can't be started"},
		"too many":               {func(*Program) {}, experiment.ServersMax + 1, "expected from 1 to 32 servers"},
		"replicas of several":    {func(p *Program) { p.Replicates = true }, -3, "replicas are of one server"},
		"it has no replicas":     {func(*Program) {}, -1, "replicas of fake are not started by Assay"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			p, r := several(honest, Independent), request(t)
			c.change(&p)
			if r.Count = c.count; c.count < 0 {
				r.Count, r.Replicas = -c.count, 1
			}
			g, err := StartGroup(context.Background(), p, r)
			if err == nil {
				_ = g.Stop(0)
				t.Fatal("they were started")
			}
			if !strings.Contains(err.Error(), c.expected) {
				t.Errorf("the error is %q, expected %q in it", err, c.expected)
			}
			if strings.Contains(err.Error(), "did not end") {
				t.Errorf("the others were killed, which counts as a fault: %v", err)
			}
			expectNothingLeft(t, r.Directory)
		})
	}
}

// The members of a cluster have one port: where somebody has taken that of the second, all move.
func TestClusterWhoseSecondPortIsTakenMoves(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var taken []net.Listener
	p := several(honest, Cluster)
	p.Prepare = func(_ context.Context, i *Instance) error {
		if len(i.Peers) != 1 || len(taken) > 0 {
			return nil
		}
		listener, err := net.Listen("tcp", i.Endpoint())
		taken = append(taken, listener)
		return err
	}
	r := request(t)
	r.Count = 2
	g, err := StartGroup(context.Background(), p, r)
	if err != nil {
		t.Fatal(err)
	}
	if g.Members[0].Port != g.Members[1].Port || taken[0].Addr().String() == g.Members[1].Endpoint() {
		t.Errorf("they run at %v, and %v is taken", g.Endpoints(), taken[0].Addr())
	}
	if err := errors.Join(g.Stop(long), taken[0].Close()); err != nil {
		t.Error(err)
	}
	expectNothingLeft(t, r.Directory)
}

func TestServersOfAStoreHaveOneGuard(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, r := several(honest, Cluster), request(t)
	p.Options = append(p.Options, GuardOptions(false)...)
	r.Count, r.Class, r.Options = 2, store.D1, map[string]string{"tls": "true", "login": "true"}
	g, err := StartGroup(context.Background(), p, r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Stop(0) }()
	if first := g.Members[0].Guard; first.Password == "" || g.Members[1].Guard != first || g.Guard() != first {
		t.Errorf("the guards are %+v and %+v", first, g.Members[1].Guard)
	}
}
