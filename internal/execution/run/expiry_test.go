package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/drivers/memory"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/store"
)

// expirer is the map of driver memory, with another idea of when a value's time is over.
type expirer struct {
	memory.Driver
	name string
	life func(key []byte, ttl time.Duration) time.Duration // 0: for ever
}

// expirers lie of times, but for the first.
var expirers = []store.Driver{
	expirer{name: "expires-on-time", life: func(_ []byte, ttl time.Duration) time.Duration { return ttl }},
	expirer{name: "expires-early", life: func(_ []byte, ttl time.Duration) time.Duration { return ttl * 9 / 10 }},
	expirer{name: "expires-late", life: func(_ []byte, ttl time.Duration) time.Duration { return ttl + 2*time.Second }},
	expirer{name: "expires-never", life: func([]byte, time.Duration) time.Duration { return 0 }},
	expirer{name: "expires-hot", life: func(key []byte, ttl time.Duration) time.Duration {
		if key[len(key)-1]%10 != 0 {
			return 0
		}
		return ttl
	}},
}

func (d expirer) Describe() store.Description {
	description := d.Driver.Describe()
	description.Name, description.Summary, description.TokenIndexes = d.name, "a map whose values end at another time", false
	description.Abilities = store.Abilities{Expire: true}
	return description
}

func (d expirer) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return &expiring{s, d}, err
}

type expiring struct {
	store.Store
	of expirer
}

func (s *expiring) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return &expiringHandle{h, s.of}, err
}

type expiringHandle struct {
	store.Handle
	of expirer
}

func (h *expiringHandle) PutFor(key, value []byte, ttl time.Duration) error {
	if ttl = h.of.life(key, ttl); ttl == 0 {
		return h.Put(key, value)
	}
	return h.Handle.(store.Expirer).PutFor(key, value, ttl)
}

const expiryText = `name: expiry
stores: [{driver: DRIVER, worker: [WORKER, worker]}]
durability: D0
threads: 2
records: 300
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 80, upsert: 20}, ttl: [{after: 600ms, weight: 80}, {after: none, weight: 20}], rate: 1000, for: 3s}
  - {name: reads, mix: {read: 100}, rate: 1000, for: 1s}
`

// A store that removes values early has lost them, and one that keeps them is late, also of some keys
// alone. One that is on time is accused of nothing, and every miss is reported as what it is.
//
// Fault (physics): a store removes values before their TTL, after it, of some keys alone, or never
// Assay: early is `lost-values` (`operations`), late `late-expiry` (`operations`, `readback`)
// With: run.TestReplayedTTLsAreKept
func TestTTLsAreKept(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, want := range map[string]finding.Code{
		"expires-on-time": "",
		"expires-early":   finding.FaultLost,
		"expires-late":    finding.FaultLate,
		"expires-never":   finding.FaultLate,
		"expires-hot":     finding.FaultLate,
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("WORKER", fmt.Sprintf("%q", os.Args[0]), "DRIVER", driver).Replace(expiryText)
			trial, row, _ := runCounted(t, text, driver, "")
			var faults []finding.Code
			for _, m := range trial.Marks {
				if m.Fault() == finding.FaultLost || m.Fault() == finding.FaultLate || m.Fault() == finding.FaultStale {
					faults = append(faults, m.Fault())
				}
			}
			if want == "" && len(faults) > 0 || want != "" && !slices.Contains(faults, want) {
				t.Errorf("marked %v, want %q: %+v", faults, want, trial.Marks)
			}
			mixed := trial.Phases[1].Expiry
			if mixed == nil || mixed.Alive == 0 {
				t.Fatalf("no read was held against a TTL: %+v", mixed)
			}
			switch over := mixed.Over(); {
			case want == "" && (over == 0 || mixed.Early+mixed.Late > 0):
				t.Errorf("%+v", mixed)
			case want == finding.FaultLost && mixed.Early == 0, want == finding.FaultLate && mixed.Late == 0:
				t.Errorf("the lie is not counted: %+v", mixed)
			}
			if want == "" && (row.Expired == nil || *row.Expired != 1) {
				t.Errorf("on time: %v", row.Expired)
			}
			finalOf(t, trial, driver)
		})
	}
}

// finalOf holds the final check: all times are over by then, but of what has none.
func finalOf(t *testing.T, trial *record.Trial, driver string) {
	t.Helper()
	f := trial.Final
	if f == nil {
		t.Fatalf("%s: %s", trial.State, trial.Error)
	}
	switch driver {
	case "expires-on-time", "expires-early":
		if f.Expired == 0 || f.Late+f.Lost > 0 {
			t.Errorf("%+v", f)
		}
	case "expires-never", "expires-hot":
		if f.Late == 0 || f.Lost > 0 {
			t.Errorf("%+v", f)
		}
	}
}

// What a recording says of times to live is kept, and held against what was recorded.
func TestReplayedTTLsAreKept(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	var recorded strings.Builder
	recorded.WriteString("time_ms,op,key,size,ttl\n")
	for i := range 3000 {
		op, ttl := "get", 0
		if i%5 == 0 {
			op, ttl = "set", i%2
		}
		fmt.Fprintf(&recorded, "%d,%s,k%d,40,%d\n", i, op, i*i%1501, ttl)
	}
	file := filepath.Join(t.TempDir(), "ttl.csv")
	if err := os.WriteFile(file, []byte(recorded.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for driver, want := range map[string]finding.Code{"expires-on-time": "", "expires-early": finding.FaultLost, "expires-never": finding.FaultLate} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			before, _, _ := strings.Cut(expiryText, "  - {name: mixed")
			text := strings.NewReplacer("WORKER", fmt.Sprintf("%q", os.Args[0]), "DRIVER", driver, "records: 300\n", "").Replace(before) +
				"  - {name: replay, replay: " + file + "}\n"
			trial, _, _ := runCounted(t, text, driver, "")
			p := trial.Phases[len(trial.Phases)-1]
			if p.Fidelity == nil || p.Fidelity.TTLs > 1e-9 || p.Fidelity.Sent != 3000 {
				t.Errorf("%+v", p.Fidelity)
			}
			x := p.Expiry
			if x == nil || x.Over() == 0 || (x.Early > 0) != (want == finding.FaultLost) ||
				(x.Late > 0) != (want == finding.FaultLate) {
				t.Errorf("%+v", x)
			}
			if found := slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool { return m.Fault() == want }); found != (want != "") {
				t.Errorf("marks %+v, want %q", trial.Marks, want)
			}
		})
	}
}
