package c_test

import (
	"os"
	"testing"

	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/store"
)

// Every store with files says what it sets aside on disk, and it reaches the conductor: an estimate
// that leaves out a log of hundreds of megabytes is none.
func TestFixedDiskBytesAreDescribed(t *testing.T) {
	for program, most := range map[string]int64{"wiredtiger": 400e6, "rocksdb": 100e6, "berkeleydb": 20e6, "tokyocabinet": 1e6, "kyotocabinet": 1e6,
		"lmdb": 1e6, "leveldb": 1e6, "sqlite": 1e6, "redb": 1e6, "null": 0} {
		t.Run(program, func(t *testing.T) {
			worker, err := conductor.Start([]string{plain.worker(t, program)}, os.Stderr)
			if err != nil {
				t.Fatal(err)
			}
			defer worker.Kill()
			var described control.Described
			if err := worker.Call(control.Request{Command: control.CommandDescribe}, costTimeout, &described); err != nil || len(described.Drivers) == 0 {
				t.Fatalf("%d drivers: %v", len(described.Drivers), err)
			}
			for _, d := range described.Drivers {
				if says := d.FixedDiskBytes > 0; says != (d.Kind == store.Embedded) || d.FixedDiskBytes > most {
					t.Errorf("%s, a store of kind %s, says %d bytes", d.Name, d.Kind, d.FixedDiskBytes)
				}
			}
		})
	}
}
