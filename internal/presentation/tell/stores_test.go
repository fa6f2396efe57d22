package tell

import (
	"testing"

	"assay/internal/evidence/record"
	"assay/store"
)

// "All defaults" of a server without fsync would read as if it synced.
func TestSettingsThatDecideAClassAreReported(t *testing.T) {
	d := store.Description{Durability: []store.DurabilityClaim{
		{Class: store.D1, How: "synchronous_commit=on, and the server runs with fsync=off: nothing is ever synced by fsync."},
		{Class: store.D3, How: "every commit waits"},
	}}
	trial := &record.Trial{Settings: map[string]string{"fsync": "off", "synchronous_commit": "on", "shared_buffers": "128MB", "server": "x"}}
	for class, want := range map[store.Durability]string{store.D1: "D1: fsync=off, synchronous_commit=on", store.D3: "", store.D0: ""} {
		if told := decidingOf(d, class, trial); told != want {
			t.Errorf("%s: %q, expected %q", class, told, want)
		}
	}
}
