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
		"for": "phases.NAME.for",
		"ops": "phases.NAME.operations", "operations": "phases.NAME.operations",
		"operationcount": "phases.NAME.operations",
		"mix":            "phases.NAME.mix", "order": "phases.NAME.order", "distribution": "phases.NAME.order",
		"batch":  "phases.NAME.batch",
		"target": "phases.NAME.rate", "arrivals": "phases.NAME.arrivals",
		"warmup": "phases.NAME.unmeasured: true", "warm_up": "phases.NAME.unmeasured: true",
		"sync": "durability", "fsync": "durability",
	},
	reflect.TypeFor[PhaseFile](): {
		"duration": "for", "time": "for", "runtime": "for", "seconds": "for: 10s",
		"ops": "operations", "operationcount": "operations", "count": "operations", "requests": "operations",
		"tasks": "threads", "clients": "threads", "concurrency": "threads", "connections": "threads", "goroutines": "threads",
		"distribution": "order", "batch_size": "batch", "batchsize": "batch", "multi_write": "batch", "multi_set": "batch", "target": "rate", "qps": "rate",
		"rps": "rate", "ops_per_second": "rate", "arrival": "arrivals", "pacing": "arrivals", "proportions": "mix", "warmup": "unmeasured",
		"warm_up": "unmeasured",
		"size":    "values.bytes or records of the experiment", "records": "records of the experiment",
	},
	reflect.TypeFor[GroupFile](): {
		"duration": "for", "time": "for", "start": "from", "after": "from", "delay": "from",
		"until": "for, counted from the group's start", "to": "for, counted from the group's start",
		"ops": "operations", "operationcount": "operations", "count": "operations", "requests": "operations",
		"tasks": "threads", "clients": "threads", "concurrency": "threads", "connections": "threads", "goroutines": "threads",
		"distribution": "order", "batch_size": "batch", "batchsize": "batch", "multi_write": "batch", "multi_set": "batch", "target": "rate", "qps": "rate",
		"rps": "rate", "ops_per_second": "rate", "arrival": "arrivals", "pacing": "arrivals", "proportions": "mix",
		"load": "load of a phase", "unmeasured": "unmeasured of the phase", "optional": "optional of the phase",
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
	near := format.Nearest(key, slices.Concat(names, synonymsOf(of)))
	return e.near(canonical(of, near), names).oneOf(key, names, "assay schema, docs/experiment-file.md")
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
