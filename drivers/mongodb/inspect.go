package mongodb

import (
	"context"
	"maps"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/store"
)

// reported are the places in mongod's serverStatus of settings that decide what a figure means.
var reported = map[string][]string{
	"wiredTiger.cache.maximum_bytes": {"wiredTiger", "cache", "maximum bytes configured"},
}

// Settings are what the server reported when it was opened, and the driver's own.
func (d *db) Settings() map[string]string {
	settings := maps.Clone(d.settings)
	settings["driver.database"] = d.database.Name()
	settings["driver.operation_timeout"] = d.timeout.String()
	settings["driver.batch_order"] = map[bool]string{true: "ordered", false: "unordered"}[d.ordered]
	if concern := d.options.WriteConcern; concern.Journal != nil {
		settings["driver.j"] = strconv.FormatBool(*concern.Journal)
	}
	status, err := d.status()
	if err != nil {
		return settings // what the server does not report is left out
	}
	for name, path := range reported {
		if value, told := number(status, path); told {
			settings[name] = strconv.FormatFloat(value, 'f', -1, 64)
		}
	}
	return settings
}

func (d *db) status() (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(context.Background(), min(d.timeout, statusPatience))
	defer cancel()
	return d.command(ctx, "admin", bson.D{{Key: "serverStatus", Value: 1}})
}

// statusPatience is less than the second between two looks that nothing may hold up for long.
const statusPatience = 10 * time.Second

func number(answer bson.Raw, path []string) (float64, bool) {
	value, err := answer.LookupErr(path...)
	if err != nil {
		return 0, false
	}
	return value.AsFloat64OK()
}

// checkpointing is 0 or 1 in mongod's answer.
const checkpointing = "checkpoints_running"

func (mongod) counters() map[string][]string {
	cache := func(name string) []string { return []string{"wiredTiger", "cache", name} }
	log := func(name string) []string { return []string{"wiredTiger", "log", name} }
	return map[string][]string{
		"connections":               {"connections", "current"},
		"inserts":                   {"opcounters", "insert"},
		"updates":                   {"opcounters", "update"},
		"deletes":                   {"opcounters", "delete"},
		"queries":                   {"opcounters", "query"},
		"received_bytes":            {"network", "bytesIn"},
		"sent_bytes":                {"network", "bytesOut"},
		"block_cache_bytes":         cache("bytes currently in the cache"),
		"block_cache_dirty_bytes":   cache("tracked dirty bytes in the cache"),
		"block_cache_read_bytes":    cache("bytes read into cache"),
		"block_cache_written_bytes": cache("bytes written from cache"),
		"wal_written_bytes":         log("log bytes written"),
		"wal_syncs":                 log("log sync operations"),
		checkpointing:               {"wiredTiger", "transaction", "transaction checkpoint currently running"},
	}
}

// counters are how many commands came, of each kind that the drivers send. There are none of
// SQLite.
func (ferret) counters() map[string][]string {
	paths := map[string][]string{"collections": {"catalogStats", "collections"}}
	for name, command := range map[string]string{"inserts": "insert", "updates": "update", "deletes": "delete", "queries": "find"} {
		paths[name] = []string{"metrics", "commands", command, "total"}
	}
	return paths
}

// Inspect returns the server's own counts. Busy is a checkpoint.
func (d *db) Inspect() store.Inspection {
	status, err := d.status()
	if err != nil {
		return store.Inspection{}
	}
	stats := map[string]float64{}
	for name, path := range d.kind.counters() {
		value, told := number(status, path)
		if !told && path[0] == "metrics" {
			told = true // FerretDB names a command when the first one comes
		}
		if told {
			stats[name] = value
		}
	}
	return store.Inspection{Stats: stats, Busy: stats[checkpointing] > 0}
}
