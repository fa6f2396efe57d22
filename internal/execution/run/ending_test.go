package run

import (
	"errors"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/store"
)

// A trial without a limit, a server or a promise of syncs has none of them to ask.
func TestTrialWithoutLimitServerOrSyncs(t *testing.T) {
	var limit *memoryLimit
	if limit.killed() || limit.end(nil, func() { t.Error("a trial without a limit was emptied") }) != nil {
		t.Error("no limit killed or failed")
	}
	var own *ownServer
	cause := errors.New("the store's own")
	if own.died() != nil || blame(own.died(), cause) != cause || blame(own.died(), nil) != nil ||
		own.processes() != nil {
		t.Error("a server that was not started is blamed")
	}
	var syncs *syncCheck
	if syncs.now() != (syncsDone{}) || syncs.of(&record.Phase{Threads: 1}, syncsDone{}) != nil {
		t.Error("writes are held against syncs that the class does not promise")
	}
}

func TestNewSyncCheck(t *testing.T) {
	of := func(kind store.Kind) experiment.Store {
		return experiment.Store{Description: store.Description{Kind: kind}}
	}
	for _, c := range []struct {
		name  string
		store experiment.Store
		class store.Durability
		data  string
		holds bool
		why   string
	}{
		{"another class", of(store.Embedded), store.D1, "x", true, ""},
		{"null driver", of(store.None), store.D3, "x", false, ""},
		{"named server", of(store.Server), store.D3, "", true, "the server's processes are not known"},
		{"without files", of(store.Memory), store.D3, "", true, "the store has no files"},
	} {
		got := newSyncCheck(c.store, c.class, &disk{data: c.data}, nil, func() []int { return nil },
			func() host.Servers { return host.Servers{} }, nil)
		if (got != nil) != c.holds || got != nil && got.why != c.why {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestMarkFull(t *testing.T) {
	r := &outcome{record.Trial{Phases: []record.Phase{{Name: "load"}, {Name: "put"}}}}
	r.mark("load", finding.MarkOutcomesParams{})
	r.mark("put", finding.MarkOutcomesParams{})
	r.markFull(finding.FullDiskParams{Code: finding.MarkDiskFull})
	if len(r.Marks) != 3 || r.Marks[1].Code != finding.MarkDiskFull || r.Marks[1].Phase != "put" {
		t.Errorf("the mark must stand before those of the phase whose cause it is: %v", r.Marks)
	}
	r.markFull(finding.FullDiskParams{Code: finding.MarkMountFull})
	if len(r.Marks) != 3 {
		t.Errorf("a full disk is reported twice: %v", r.Marks)
	}
}

func TestDisk_othersTook(t *testing.T) {
	d := &disk{directory: t.TempDir()}
	if took := d.othersTook(); took != 0 {
		t.Errorf("%d bytes of a disk of which nothing was known", took)
	}
	free, err := host.FreeBytes(d.directory)
	if err != nil || free == 0 {
		t.Skip("the file system does not tell what is free")
	}
	if d.freeBefore = 2 * free; d.othersTook() == 0 {
		t.Error("half of what was free is gone, but no other process took it")
	}
}
