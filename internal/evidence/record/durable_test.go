package record

import (
	"testing"
	"time"

	"assay/internal/base/finding"
)

// Fault (physics): synced writes come faster than the disk syncs, beside programs that sync
// Assay: `durability-not-shown` (`syncs-too-fast`), by the fastest sync that was timed and the
// number of clients
func TestNotDurable(t *testing.T) {
	t.Parallel()
	count := func(n uint64) *uint64 { return &n }
	const second = int64(time.Second)
	for _, c := range []struct {
		name    string
		syncs   Syncs
		elapsed int64
		want    finding.Code
	}{
		{"a sync for each write of a client", Syncs{Acknowledged: 8000, Clients: 8, Done: count(1000)}, second, ""},
		{"one in ten at eight clients", Syncs{Acknowledged: 80000, Clients: 8, Done: count(8000)}, second, finding.MarkTooFewSyncs},
		{"none", Syncs{Acknowledged: 1000, Clients: 1, Done: count(0)}, second, finding.MarkTooFewSyncs},
		{"too few writes to tell", Syncs{Acknowledged: 128, Clients: 8, Done: count(0)}, second, ""},
		{"one more", Syncs{Acknowledged: 129, Clients: 8, Done: count(0)}, second, finding.MarkTooFewSyncs},
		{"nothing measured", Syncs{Acknowledged: 1e6, Clients: 1, Why: "unknown"}, second, ""},
		{"the server's counter stands still beside a busy disk",
			Syncs{Acknowledged: 1000, Clients: 1, Done: count(1000), Server: count(2), Counter: "c"}, second, finding.MarkServerSyncs},
		{"the server counts", Syncs{Acknowledged: 1000, Clients: 1, Done: count(1000), Server: count(1000)}, second, ""},
		{"a late counter, a short phase", Syncs{Acknowledged: 1000, Clients: 1, Server: count(0), LagNS: second}, second, ""},
		{"a late counter, a long phase", Syncs{Acknowledged: 1000, Clients: 1, Server: count(0), LagNS: second}, 10 * second, finding.MarkServerSyncs},
		{"faster than the disk", Syncs{Acknowledged: 11800, Clients: 1, Done: count(20000), SyncNS: 990_000}, second, finding.MarkSyncsTooFast},
		{"as fast as the disk", Syncs{Acknowledged: 1500, Clients: 1, Done: count(20000), SyncNS: 990_000}, second, ""},
		{"one in ten at eight clients, counted in its processes beside a disk whose flushes hide it",
			Syncs{Acknowledged: 80000, Clients: 8, Done: count(16000), Calls: count(8000)}, second,
			finding.MarkTooFewSyncs},
		{"group commit, counted in its processes", Syncs{Acknowledged: 8000, Clients: 8, Done: count(2000), Calls: count(1000)}, second, ""},
		{"another setting", Syncs{Broken: "appendfsync is no"}, second, finding.MarkClassChanged},
	} {
		marks := (&Phase{ElapsedNS: c.elapsed, Syncs: &c.syncs}).Marks()
		if c.want == "" && len(marks) > 0 || c.want != "" && (len(marks) != 1 || marks[0].Code != c.want) {
			t.Errorf("%s: %+v, want %q", c.name, marks, c.want)
		}
	}
}
