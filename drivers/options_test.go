package drivers_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/syndtr/goleveldb/leveldb/opt"
	bolt "go.etcd.io/bbolt"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// TestDefaultsAreTheLibrarysOwn opens each library without a word of ours, reads its settings, and
// compares them with those of a driver opened with all of its declared defaults.
func TestDefaultsAreTheLibrarysOwn(t *testing.T) {
	own := map[string]func(t *testing.T) map[string]string{
		"badger": func(t *testing.T) map[string]string {
			o := badger.DefaultOptions("")
			return map[string]string{
				"BlockCacheSize": long(o.BlockCacheSize), "IndexCacheSize": long(o.IndexCacheSize), "MemTableSize": long(o.MemTableSize),
				"NumMemtables": long(int64(o.NumMemtables)), "ValueThreshold": long(o.ValueThreshold), "ValueLogFileSize": long(o.ValueLogFileSize),
				"BaseTableSize": long(o.BaseTableSize), "BaseLevelSize": long(o.BaseLevelSize), "BlockSize": long(int64(o.BlockSize)),
				"Compression": "snappy", "NumLevelZeroTables": long(int64(o.NumLevelZeroTables)),
				"NumLevelZeroTablesStall": long(int64(o.NumLevelZeroTablesStall)), "NumCompactors": long(int64(o.NumCompactors)),
				"DetectConflicts": strconv.FormatBool(o.DetectConflicts), "MetricsEnabled": strconv.FormatBool(o.MetricsEnabled),
			}
		},
		"bbolt": func(t *testing.T) map[string]string {
			db, err := bolt.Open(t.TempDir()+"/file", 0o600, nil)
			must(t, err)
			defer func() { must(t, db.Close()) }()
			return map[string]string{
				"PageSize": long(int64(db.Info().PageSize)), "FreelistType": string(db.FreelistType), "AllocSize": long(int64(db.AllocSize)),
				"NoFreelistSync": strconv.FormatBool(db.NoFreelistSync), "NoGrowSync": strconv.FormatBool(db.NoGrowSync),
				"Mlock": strconv.FormatBool(db.Mlock), "FillPercent": strconv.FormatFloat(bolt.DefaultFillPercent, 'g', -1, 64),
			}
		},
		"goleveldb": func(t *testing.T) map[string]string {
			var o *opt.Options // the library reads its defaults of nil options
			return map[string]string{
				"BlockCacheCapacity": long(int64(o.GetBlockCacheCapacity())), "WriteBuffer": long(int64(o.GetWriteBuffer())),
				"BlockSize": long(int64(o.GetBlockSize())), "BlockRestartInterval": long(int64(o.GetBlockRestartInterval())),
				"Compression": o.GetCompression().String(), "Filter": "none", "CompactionTableSize": long(int64(o.GetCompactionTableSize(0))),
				"CompactionTotalSize": long(o.GetCompactionTotalSize(0)), "CompactionL0Trigger": long(int64(o.GetCompactionL0Trigger())),
				"WriteL0SlowdownTrigger": long(int64(o.GetWriteL0SlowdownTrigger())), "WriteL0PauseTrigger": long(int64(o.GetWriteL0PauseTrigger())),
				"OpenFilesCacheCapacity": long(int64(o.GetOpenFilesCacheCapacity())), "NoWriteMerge": strconv.FormatBool(o.GetNoWriteMerge()),
				"NoSync": strconv.FormatBool(o.GetNoSync()),
			}
		},
		"pebble": pebbleDefaults,
		"sqlite": sqliteDefaults,
	}
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		read, ok := own[driver.Describe().Name]
		if !ok {
			t.Skip("SKIPPED: the library has no way to tell its defaults")
		}
		s, _ := drivertest.Open(t, driver, c)
		got := s.Settings()
		for name, want := range read(t) {
			if got[name] != want {
				t.Errorf("%s is %q, and the library's own default %q", name, got[name], want)
			}
		}
	})
}

func long(n int64) string { return strconv.FormatInt(n, 10) }

// TestOptionsReachTheLibrary changes one option of each driver and looks for it in the settings
// that are read back.
func TestOptionsReachTheLibrary(t *testing.T) {
	for driverName, options := range map[string][][3]string{ // option, value, setting=value
		"badger":    {{"memtable_bytes", "16MiB", "MemTableSize=16777216"}, {"compression", "zstd", "Compression=zstd"}, {"detect_conflicts", "false", "DetectConflicts=false"}},
		"bbolt":     {{"page_bytes", "16KiB", "PageSize=16384"}, {"freelist_type", "hashmap", "FreelistType=hashmap"}, {"fill_percent", "90", "FillPercent=0.9"}},
		"goleveldb": {{"block_cache_bytes", "0", "BlockCacheCapacity=0"}, {"bloom_bits_per_key", "10", "Filter=leveldb.BuiltinBloomFilter"}, {"compression", "none", "Compression=none"}},
		"pebble": {
			{"cache_bytes", "32MiB", "cache_size=33554432"}, {"compression", "ZSTD", "level6.compression=ZSTD"}, {"compactions_max", "3", "max_concurrent_compactions=3"},
			{"bloom_bits_per_key", "10", "level6.filter_policy=rocksdb.BuiltinBloomFilter"}, {"block_bytes", "8KiB", "level6.block_size=8192"}, {"format", "newest", "enable_columnar_blocks=true"},
		},
		"pogreb": {{"background_compaction_interval", "5s", "BackgroundCompactionInterval=5s"}},
		"sqlite": {{"page_bytes", "8192", "page_size=8192"}, {"cache_bytes", "8MiB", "cache_size=-8192"}, {"synchronous_off", "true", "synchronous=0"}, {"busy_timeout", "250ms", "busy_timeout=250"}, {"mmap_bytes", "1MiB", "mmap_size=1048576"}},
	} {
		driver, err := driverNamed(driverName)
		must(t, err)
		d := driver.Describe()
		for _, o := range options {
			t.Run(driverName+"/"+o[0], func(t *testing.T) {
				class := store.D1
				if _, ok := d.Claim(class); !ok {
					class = store.D0
				}
				s, h := drivertest.Open(t, driver, drivertest.Config(t, d, class, map[string]string{o[0]: o[1]}))
				name, want, _ := strings.Cut(o[2], "=")
				if got := s.Settings()[name]; got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
				must(t, h.Put([]byte("key"), []byte("value")))
				mustGet(t, h, []byte("key"), []byte("value"))
				if syncer, ok := s.(store.Syncer); ok {
					must(t, syncer.Sync())
				}
			})
		}
	}
}

// TestRefusesOptionsThatDoNotGoTogether are refusals, and neither failures nor panics of the
// library.
func TestRefusesOptionsThatDoNotGoTogether(t *testing.T) {
	for _, refused := range []struct {
		driver string
		class  store.Durability
		given  map[string]string
	}{
		{"badger", store.D1, map[string]string{"block_cache_bytes": "0"}},
		{"badger", store.D1, map[string]string{"memtable_bytes": "1MiB"}}, // the value threshold is 1 MiB
		{"badger", store.D1, map[string]string{"compactors_count": "1"}},
		{"badger", store.D1, map[string]string{"value_log_file_bytes": "3GiB"}},
		{"badger", store.D1, map[string]string{"value_threshold_bytes": "2MiB"}},
		{"bbolt", store.D1, map[string]string{"page_bytes": "5000"}},
		{"bbolt", store.D1, map[string]string{"fill_percent": "0"}},
		{"goleveldb", store.D1, map[string]string{"write_buffer_bytes": "0"}},
		{"pebble", store.D3, map[string]string{"disable_wal": "true"}},
		{"pebble", store.D0, map[string]string{"compactions_max": "0"}},
		{"pogreb", store.D3, map[string]string{"background_compaction_interval": "1s"}},
		{"sqlite", store.D3, map[string]string{"synchronous_off": "true"}},
		{"sqlite", store.D1, map[string]string{"page_bytes": "1000"}},
	} {
		driver, err := driverNamed(refused.driver)
		must(t, err)
		c := drivertest.Config(t, driver.Describe(), refused.class, refused.given)
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s with %v: expected a refusal, got %v", refused.driver, refused.given, err)
		}
		if entries, err := os.ReadDir(c.Directory); err != nil || len(entries) > 0 {
			t.Errorf("%s with %v: refused, but left files: %v, %v", refused.driver, refused.given, entries, err)
		}
	}
}
