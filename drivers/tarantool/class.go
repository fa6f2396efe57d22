package tarantool

import (
	"fmt"

	"assay/store"
)

// The classes follow src/box/wal.c of Tarantool 2.6. A thread of its own writes the log: all requests that
// came together with one write(2) (wal_write_to_disk), and only then are they answered.
//
//   - none: no log is written.
//   - write: write(2). The kernel syncs when it likes.
//   - fsync: the file is open with O_SYNC (wal_writer_create), so that the same write(2) syncs it.
//
// There is no mode that syncs at times: no D2.

// wanted are the settings that give a class.
var wanted = map[store.Durability]string{
	store.D0: "none",
	store.D1: "write",
	store.D3: "fsync",
}

// refuseClass says why a server with these settings can't give a class, and what would.
func refuseClass(endpoint string, told map[string]string, class store.Durability) error {
	mode := told["wal_mode"]
	if mode == wanted[class] {
		return nil
	}
	for other, gives := range wanted {
		if mode == gives {
			return fmt.Errorf("tarantool at %s can't reach %s: its wal_mode is %s, which gives %s; box.cfg{wal_mode = '%s'} would: %w",
				endpoint, class, mode, other, wanted[class], store.ErrRefused)
		}
	}
	return fmt.Errorf("tarantool at %s can't reach %s: its wal_mode is %q; box.cfg{wal_mode = '%s'} would: %w",
		endpoint, class, mode, wanted[class], store.ErrRefused)
}

// TellDurability holds the settings of now against the class. The server does not count its syncs.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	told, err := settingsOf(d.control)
	if err != nil {
		return store.DurabilityEvidence{}, err
	}
	return store.Evidence(refuseClass(d.endpoint, told, d.class))
}
