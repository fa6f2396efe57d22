package read

import (
	"reflect"
	"slices"
	"strings"

	"assay/internal/base/format"
)

// synonyms are names that other benchmarks give to fields, by the table in which they stand. A name
// for one field of the same table is taken for that field; one that may mean something in another
// place, or several things, is refused with what it may mean.
var synonyms = map[reflect.Type]map[string]string{
	reflect.TypeFor[File](): {
		"tasks": "threads", "clients": "threads", "concurrency": "threads", "connections": "threads or handles",
		"workers": "threads, or worker of a store", "goroutines": "threads",
		"rounds": "blocks", "repetitions": "blocks", "runs": "blocks",
		"iterations": "blocks, or phases.NAME.operations",
		"engines":    "stores", "databases": "stores", "drivers": "stores", "steps": "phases",
		"workloads":   "phases",
		"recordcount": "records", "record_count": "records", "description": "about",
		"memory": "memory_limit", "disk": "disk_quota",
		"timeout": "step_timeout, which is for opening, syncing and closing", "random_seed": "seed",
		"size": "values.bytes or records", "value_size": "values.bytes", "value_bytes": "values.bytes",
		"fieldlength": "values.bytes",
		"key_size":    "keys.bytes", "key_bytes": "keys.bytes", "compression_ratio": "values.repeated",
		"duration": "phases.NAME.for", "runtime": "phases.NAME.for",
		"ops":            "phases.NAME.operations",
		"operationcount": "phases.NAME.operations",
		"distribution":   "phases.NAME.order",
		"target":         "phases.NAME.rate",
		"warmup":         "phases.NAME.unmeasured: true", "warm_up": "phases.NAME.unmeasured: true",
		"sync": "durability", "fsync": "durability",
		"trials": "blocks", "cores": "cpus", "interval": "sample",
		"key_count": "records", "keycount": "records", "num_keys": "records", "items": "records",
		"dataset": "records, how many there are", "keyspace": "records, how many there are",
		"population": "records, how many there are", "preload": "phases: [{name: load, load: true}]",
		"ratio": "phases.NAME.mix", "skew": "phases.NAME.order", "zipf": "phases.NAME.order: zipfian",
		"hotset": "phases.NAME.order: hotspot", "sleep": "phases.NAME.think", "pause": "phases.NAME.think",
		"expiry": "phases.NAME.ttl", "expiration": "phases.NAME.ttl", "expire": "phases.NAME.ttl",
		"pipeline": "handles: async(16)", "pipelining": "handles: async(16)", "depth": "handles: async(16)",
		"slo": "phases.NAME.capacity: {objective: p99 < 5ms}", "p99": "phases.NAME.capacity: {objective: p99 < 5ms}",
		"nodes": "stores.NAME.server.count", "replication": "stores.NAME.server.replicas",
		"cache_size": "stores.NAME.options, which assay drivers STORE lists", "tls": "stores.NAME.options",
		"password": "stores.NAME.options", "auth": "stores.NAME.options", "user": "stores.NAME.options",
		"host": "stores.NAME.endpoints: [HOST:PORT]", "port": "stores.NAME.endpoints: [HOST:PORT]",
		"url": "stores.NAME.endpoints: [HOST:PORT]", "output": "-o DIRECTORY, on the command line",
		"aa": "baseline: the store that runs twice, as the A/A arm", "null": "no field for it: null drivers run by themselves",
	},
	reflect.TypeFor[PhaseFile](): {
		"duration": "for", "time": "for", "runtime": "for", "seconds": "for: 10s",
		"ops": "operations", "operationcount": "operations", "count": "operations", "requests": "operations",
		"tasks": "threads", "clients": "threads", "concurrency": "threads", "connections": "threads", "goroutines": "threads",
		"distribution": "order", "batch_size": "batch", "batchsize": "batch", "multi_write": "batch", "multi_set": "batch", "target": "rate", "qps": "rate",
		"rps": "rate", "ops_per_second": "rate", "arrival": "arrivals", "pacing": "arrivals", "proportions": "mix", "warmup": "unmeasured",
		"warm_up":    "unmeasured",
		"size":       "values.bytes or records of the experiment",
		"value_size": "values.bytes of the experiment", "fieldlength": "values.bytes of the experiment",
		"ratio": "mix: {read: 90, update: 10}", "read": "mix: {read: 1}", "reads": "mix: {read: 1}", "write": "mix: {update: 1}",
		"writes": "mix: {update: 1}", "update": "mix: {update: 1}", "insert": "mix: {insert: 1}", "delete": "mix: {delete: 1}",
		"zipf": "order: zipfian", "skew": "order", "hotset": "order: hotspot", "random": "order: uniform",
		"uniform": "order: uniform", "sequential": "order: sequential", "zipfian": "order: zipfian",
		"pipeline": "handles: async(16) of the experiment", "pipelining": "handles: async(16) of the experiment",
		"depth": "handles: async(16) of the experiment", "sleep": "think", "pause": "think", "think_time": "think",
		"expiry": "ttl", "expiration": "ttl", "expire": "ttl", "slo": "capacity: {objective: p99 < 5ms}",
		"p99": "capacity: {objective: p99 < 5ms}", "scan_length": "scan: {max: 100}", "maxscanlength": "scan: {max: 100}",
		"timeout": "for, or step_timeout of the experiment", "deadline": "for, or step_timeout of the experiment",
		"ramp": "rate: 1000..20000", "ramp_up": "rate: 1000..20000", "repeat": "blocks of the experiment",
		"nodes": "server.count of a store",
	},
	reflect.TypeFor[GroupFile](): {
		"duration": "for", "time": "for", "start": "from", "after": "from", "delay": "from",
		"until": "for, counted from the group's start", "to": "for, counted from the group's start",
		"ops": "operations", "operationcount": "operations", "count": "operations", "requests": "operations",
		"tasks": "threads", "clients": "threads", "concurrency": "threads", "connections": "threads", "goroutines": "threads",
		"distribution": "order", "batch_size": "batch", "batchsize": "batch", "multi_write": "batch", "multi_set": "batch", "target": "rate", "qps": "rate",
		"rps": "rate", "ops_per_second": "rate", "arrival": "arrivals", "pacing": "arrivals", "proportions": "mix",
	},
	reflect.TypeFor[SegmentFile](): {
		"start": "from", "begin": "from", "end": "to", "target": "to", "rate": "at", "duration": "over, or for of a step",
		"ramp": "from and to", "step": "at", "period": "every, or period of a sine", "base": "above", "csv": "file", "length": "for",
	},
	reflect.TypeFor[ValuesFile](): {"size": "bytes", "length": "bytes", "compressible": "repeated", "lengths": "sizes"},
	reflect.TypeFor[KeysFile]():   {"size": "bytes", "length": "bytes", "type": "format"},
	reflect.TypeFor[SizeFile]():   {"size": "bytes", "length": "bytes", "share": "weight"},
	reflect.TypeFor[StoreFile](): {
		"engine": "driver", "type": "driver", "db": "driver", "label": "name", "settings": "options",
		"config":   "options",
		"endpoint": "endpoints: [HOST:PORT]", "address": "endpoints: [HOST:PORT]",
		"host": "endpoints: [HOST:PORT]", "command": "worker", "start": "server: start",
	},
	reflect.TypeFor[OrderFile](): {"name": "distribution", "type": "distribution", "skew": "theta", "exponent": "theta"},
}

// canonical returns the field of a table that a name stands for: the name itself if it is no
// synonym.
func canonical(t reflect.Type, name string) string {
	if _, known := fieldOf(t, name); known {
		return name
	}
	if _, known := fieldOf(t, synonyms[t][name]); known {
		return synonyms[t][name]
	}
	return name
}

// rename gives the fields below a node, which holds a value of type t, the names that they have in
// File.
func rename(n *node, t reflect.Type, path string) *Error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		for _, item := range n.items {
			if err := rename(item, t.Elem(), path); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range n.entries {
			e := &n.entries[i]
			name := canonical(t, e.key)
			if name != e.key && n.field(name) != nil {
				return e.at.fail(join(path, e.key), "%q is another name of %q, which stands here too", e.key, name)
			}
			e.key = name
			if field, ok := fieldOf(t, name); ok {
				if err := rename(e.value, field.Type, join(path, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func unknownField(key string, at place, of reflect.Type, path string) *Error {
	names := fieldNames(of)
	e := at.fail(join(path, key), "unknown field %q%s", key, inside(path))
	if meant := synonyms[of][strings.ToLower(key)]; meant != "" {
		return e.hint("expected %s", meant)
	}
	if where := placesOf(key); len(where) > 0 && len(where) <= placesMost {
		return e.hint("expected %s", strings.Join(where, " or "))
	}
	near := format.Nearest(key, slices.Concat(names, synonymsOf(of)))
	return e.near(canonical(of, near), names).oneOf(key, names, "assay schema, docs/experiment-file.md")
}

// placesMost is how many places of a field are listed after a mistake: of more, none is likely.
const placesMost = 3

// placesOf returns where in a file the field stands, as paths in which NAME is a name of the reader's.
// What groups take, phases take too: theirs are left out.
func placesOf(field string) (paths []string) {
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		switch t.Kind() {
		case reflect.Pointer:
			walk(t.Elem(), path)
		case reflect.Map:
			walk(t.Elem(), path+".NAME")
		case reflect.Slice:
			if t.Elem() == reflect.TypeFor[GroupFile]() {
				return
			}
			if t.Elem().Implements(reflect.TypeFor[namedMember]()) {
				path += ".NAME"
			}
			walk(t.Elem(), path)
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(t) {
				name := f.Tag.Get("yaml")
				switch {
				case name == "":
				case name == field && path == "":
					paths = append(paths, name+" of the experiment")
				case name == field:
					paths = append(paths, join(path, name))
				default:
					walk(f.Type, join(path, name))
				}
			}
		}
	}
	walk(reflect.TypeFor[File](), "")
	return paths
}

func synonymsOf(t reflect.Type) (names []string) {
	for name := range synonyms[t] {
		if canonical(t, name) != name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
