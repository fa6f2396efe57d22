package misbehave

import (
	"os"
	"path/filepath"

	"assay/store"
)

// telling is a store that tells about itself.
type telling struct{ *db }

func (s telling) Inspect() store.Inspection { return store.Inspection{Stats: s.stats(s.db)} }

// nameLate has a counter that is not there before the first records.
func nameLate(d *db) map[string]float64 {
	d.honest.lock.RLock()
	defer d.honest.lock.RUnlock()
	stats := map[string]float64{"syncs": 0}
	if records := len(d.honest.values); records > 0 {
		stats["records"] = float64(records)
	}
	return stats
}

// setAside lays out a log in advance.
func setAside(c store.Config) error {
	return os.WriteFile(filepath.Join(c.Directory, "reserved"), make([]byte, 4<<20), 0o600)
}
