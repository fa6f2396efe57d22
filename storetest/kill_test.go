package storetest

import (
	"io"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// A server that loses what its class keeps is found by killing it; one that loses no more is not.
//
// Fault (physics): a server loses acknowledged writes when its process is killed, more than its
// class allows
// Assay: the conformance kit kills it and looks: rule `survives-kill`
// With: storetest.TestDrivers
func TestServerThatForgetsIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		class  store.Durability
		forget func(cut, written time.Time) bool
		says   string
	}{
		{name: "D3 keeps all", class: store.D3},
		{name: "D1 forgets its last ten seconds", class: store.D1, says: "class D1, after a kill",
			forget: func(cut, written time.Time) bool { return cut.Sub(written) < 10*time.Second }},
		{name: "D3 forgets all", class: store.D3, says: "class D3, after a kill", forget: func(_, _ time.Time) bool { return true }},
		{name: "D2 forgets its last two seconds", class: store.D2,
			forget: func(cut, written time.Time) bool { return cut.Sub(written) < 2*time.Second }},
		{name: "D2 forgets what is older than T", class: store.D2, says: "acknowledged more than 3s before a kill",
			forget: func(cut, written time.Time) bool { return cut.Sub(written) > 3*time.Second }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := drivertest.StartRedisStandIn(t, c.class)
			s.SetLie(func(request []string, _ io.Writer) bool {
				if strings.EqualFold(request[0], "SET") {
					time.Sleep(time.Millisecond) // a few thousand records are enough
				}
				return false
			})
			target := target(t, "drivers", "redis")
			target.Endpoints, target.Durability, target.Rules = []string{s.Endpoint}, []store.Durability{c.class}, []string{"survives-kill"}
			target.Cut = func(halted func()) error {
				halted()
				cut := time.Now()
				if c.forget != nil {
					s.Forget(func(written time.Time) bool { return c.forget(cut, written) })
				}
				return nil
			}
			result := report(t, target).Results[0]
			if c.says == "" && result.State != OK || c.says != "" && (result.State != Failed || !strings.Contains(result.Detail, c.says)) {
				t.Errorf("%s: %s, expected %q", result.State, result.Detail, c.says)
			}
		})
	}
}
