package run

import (
	"net"
	"slices"
	"testing"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/store"
)

func cutting() []experiment.Phase {
	return []experiment.Phase{{Name: "load", Load: true}, {Name: "cut", Faults: []experiment.Fault{{Does: experiment.FaultCut, Node: 1}}}}
}

// Clients connect to the servers, and to proxies where a phase cuts a server off; proxies end once,
// however often they are asked to.
func TestClientsConnectThroughProxiesWhereAServerIsCutOff(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	endpoint := listener.Addr().String()
	u := underTest{store: experiment.Store{Endpoints: []string{endpoint},
		Description: store.Description{Kind: store.Server}}}
	if err := u.startProxies(cutting()[:1]); err != nil || !slices.Equal(u.clientEndpoints(), []string{endpoint}) {
		t.Errorf("no phase cuts: %v, clients connect to %v", err, u.clientEndpoints())
	}
	if err := u.startProxies(cutting()); err != nil {
		t.Fatal(err)
	}
	if through := u.clientEndpoints(); len(through) != 1 || through[0] == endpoint || !slices.Equal(u.endpoints(),
		[]string{endpoint}) {
		t.Errorf("clients connect to %v, servers listen at %v", through, u.endpoints())
	}
	for range 2 {
		if err := u.stopProxies(); err != nil {
			t.Error(err)
		}
	}
	embedded := underTest{store: experiment.Store{Description: store.Description{Kind: store.Embedded}}}
	if err := embedded.startProxies(cutting()); err != nil || len(embedded.proxies) > 0 {
		t.Errorf("a store without a server: %v, %d proxies", err, len(embedded.proxies))
	}
}

func TestOnlyKillsInMemoryForget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class store.Durability
		does  string
		want  bool
	}{{store.D0, experiment.FaultKill, true}, {store.D0, experiment.FaultFreeze, false}, {store.D1,
		experiment.FaultKill, false}} {
		u := underTest{cell: experiment.Cell{Durability: c.class}}
		if got := u.forgets([]record.ServerFault{{Does: c.does}}); got != c.want {
			t.Errorf("%s in %s: %v", c.does, c.class, got)
		}
	}
}

// What a trial without a server has is nothing, and a sampler is not asked to look at it.
func TestNoServerUsesNothing(t *testing.T) {
	t.Parallel()
	u := underTest{store: experiment.Store{Description: store.Description{Kind: store.Embedded}}}
	u.watch(nil)
	u.follow()
	var p record.Process
	u.used(&p, host.Interval{}, 8, "")
	if p != (record.Process{}) || u.stop(0) != nil || u.own.died() != nil {
		t.Errorf("%+v", p)
	}
}
