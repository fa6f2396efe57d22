package drivers_test

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// pebbleDefaults are the lines of an options file that hold for all of the driver's options.
func pebbleDefaults(t *testing.T) map[string]string {
	var o pebble.Options
	o.EnsureDefaults()
	defaults := make(map[string]string)
	head, _, _ := strings.Cut(o.String(), "[Level")
	for line := range strings.Lines(head) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			defaults[key] = value
		}
	}
	for i := range o.Levels {
		prefix := "level" + strconv.Itoa(i) + "."
		defaults[prefix+"block_size"] = strconv.Itoa(o.Levels[i].BlockSize)
		defaults[prefix+"compression"] = o.Levels[i].Compression().Name
		defaults[prefix+"filter_policy"] = o.Levels[i].FilterPolicy.Name()
		defaults[prefix+"target_file_size"] = strconv.FormatInt(o.TargetFileSizes[i], 10)
	}
	return defaults
}

// sqliteDefaults leaves out busy_timeout, which is not the library's default, and says so, and the
// journal mode and synchronous, which the durability class sets.
func sqliteDefaults(t *testing.T) map[string]string {
	plain, err := sql.Open("sqlite", t.TempDir()+"/plain.sqlite")
	must(t, err)
	defer func() { must(t, plain.Close()) }()
	defaults := make(map[string]string)
	for _, pragma := range []string{"page_size", "cache_size", "mmap_size", "wal_autocheckpoint", "locking_mode", "auto_vacuum", "temp_store", "encoding"} {
		var value string
		must(t, plain.QueryRow("PRAGMA "+pragma).Scan(&value))
		defaults[pragma] = value
	}
	return defaults
}
