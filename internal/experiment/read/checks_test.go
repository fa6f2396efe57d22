package read_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/experiment/trace"
)

// A mistake that only a trial meets costs a night: everything that a trace or a worker refuses must
// be refused with the file, or be out of any file's reach. These tests read the checks out of their
// source, so that a new one must be judged here, too.

// judged is what becomes of a check when a file is read.
type judged struct {
	// mistake is put in place of fields of a file; what it says holds a part of Load's answer.
	mistake, says string
	// why no file can get that far: the reader refuses it by its form, or the conductor alone
	// decides it.
	unreachable string
}

const (
	theConductor = "the order of requests, and what the conductor itself writes into them"
	theFile      = "the trace file, which trace.Generate alone writes"
	theRecording = "lengths of a recording's keys, which keyval.Lay lays out and Check holds"
	theMachine   = "this machine's, and no file's"
)

// checkFile makes a file of a mistake: lines beside a name, stores and phases unless it has its
// own.
func checkFile(mistake string) string {
	for _, piece := range []string{"name: x", "stores: [bbolt, pebble, sqlite]", "phases: [{name: load, load: true}, {name: read, mix: {read: 1}, for: 1s}]"} {
		field, _, _ := strings.Cut(piece, ":")
		if !regexp.MustCompile(`(?m)^` + field + `:`).MatchString(mistake) {
			mistake += "\n" + piece
		}
	}
	return mistake + "\n"
}

func phases(of ...string) string { return "phases: [" + strings.Join(of, ", ") + "]" }

const (
	loading = "{name: load, load: true}"
	columns = "values: {columns: [{name: a, value: \"x {i/2}\"}]}\n"
)

// traceChecks are those of trace.Generate.
var traceChecks = map[string]judged{
	"a trace has 1 to %d threads, not %d":                                  {mistake: "threads: 65536", says: "threads must be 1 to 65535"},
	"records %d and first fresh index %d: expected records ≤ fresh ≤ 2^47": {mistake: "records: 140737488355329", says: "at most 140737488355328 records"},
	"batches of %d": {mistake: phases("{name: load, load: true, batch: 2147483648}", "{name: r, mix: {read: 1}, for: 1s}"), says: "a batch has 1 to"},
	"thread entries, entries and endpoints can't be negative":    {unreachable: "no field sets them"},
	"rate %v: expected 0 to 1e9 operations a second":             {mistake: phases(loading, "{name: r, mix: {read: 1}, rate: 1.1e9, for: 1s}"), says: "at most 1e9 operations a second"},
	"arrivals %q: expected poisson or constant":                  {unreachable: "no field sets them"},
	"%d spans of %d threads: each thread of closed load has one": {unreachable: "the resolver counts threads by their spans"},
	"segments of a rate without their mean":                      {unreachable: "the resolver sets both"},
	"the rate comes to more than the %d entries that a trace may have: take a lower rate or a shorter phase": {
		mistake: phases(loading, "{name: r, mix: {read: 1}, rate: [{at: 100000, for: 2h}]}"), says: "that fit a trace"},
	"an end without a rate: closed load ends at the deadline that the worker is given": {unreachable: "the conductor gives an end to open load alone"},
	"a load has no mix":    {mistake: phases("{name: load, load: true, mix: {read: 1}}"), says: "a load has no mix"},
	"a load of no records": {mistake: "records: 0", says: "no records"},
	"a load stores each record once: its order is sequential or shuffled, not %s": {mistake: phases("{name: load, load: true, order: uniform}"), says: "its order is sequential or shuffled"},
	"requests go beside no mix, no batches, multi-reads and fills":                {mistake: phases(loading, "{name: r, request: [read], mix: {read: 1}, for: 1s}"), says: "a mix and a request"},
	"requests have no order %s":                                                                                    {mistake: phases(loading, "{name: r, request: [read], order: latest, for: 1s}"), says: "requests have no order latest"},
	"%s is no step of a request":                                                                                   {mistake: phases(loading, "{name: r, request: [scan], for: 1s}"), says: "can't be a step of a request"},
	"%s makes the key of a request: it is the first step or none":                                                  {mistake: phases(loading, "{name: r, request: [read, insert], for: 1s}"), says: "the first step or none"},
	"a load stores all records as fast as it can: it has no limit and no rate":                                     {mistake: phases("{name: load, load: true, rate: 5}"), says: "it has no rate"},
	"%s is no operation of a mix (it comes from how many records go in one)":                                       {mistake: phases("{name: b, mix: {batch: 1}, for: 1s}"), says: "a batch is not an operation of a mix"},
	"%s is twice in the mix":                                                                                       {mistake: phases("{name: i, mix: {insert: 1, insert: 2}, for: 1s}"), says: "already defined"},
	"update says that the key exists, but keys are deleted here: say upsert instead":                               {mistake: phases(loading, "{name: d, mix: {delete: 1, update: 1}, for: 1s}"), says: "use upsert"},
	"order counting writes the same new keys from all threads: its mix is upsert alone":                            {mistake: phases("{name: c, mix: {upsert: 1, read: 1}, order: counting, for: 1s}"), says: "its mix is upsert alone"},
	"the mix works on records that exist, and there are none: load some first":                                     {mistake: "records: 0\n" + phases("{name: i, mix: {insert: 1}, for: 1s}", "{name: r, mix: {read: 1}, for: 1s}"), says: "no records"},
	"order %s parts %d records over %d threads: use fewer threads":                                                 {mistake: "records: 3\nthreads: 4\n" + phases(loading, "{name: r, mix: {read: 1}, order: shuffled, for: 1s}"), says: "too few for 4 threads"},
	"scans of %d to %d records: expected 1 ≤ min ≤ max":                                                            {mistake: phases(loading, "{name: s, mix: {scan: 1}, scan: {min: 5, max: 4}, for: 1s}"), says: "min is not above max"},
	"%s: weight %v: expected 0 to 1e12":                                                                            {mistake: phases("{name: i, mix: {insert: 1e13}, for: 1s}"), says: "a weight is 0 to 1e12"},
	"%s: nothing with a weight above 0":                                                                            {mistake: phases("{name: i, mix: {insert: 0}, for: 1s}"), says: "all weights of the mix are 0"},
	"order %s needs theta above 0 and at most 10, not %v":                                                          {mistake: phases(loading, "{name: r, mix: {read: 1}, order: {distribution: latest, theta: 11}, for: 1s}"), says: "theta is above 0"},
	"order scrambled_zipfian is YCSB's and has theta 0.99 only, not %v: take zipfian":                              {mistake: phases(loading, "{name: r, mix: {read: 1}, order: {distribution: scrambled_zipfian, theta: 0.5}, for: 1s}"), says: "theta 0.99 only"},
	"order hotspot needs hot records above 0 and at most 1, and hot operations from 0 to 1, not %v and %v":         {mistake: phases(loading, "{name: r, mix: {read: 1}, order: {distribution: hotspot, hot_records: 0}, for: 1s}"), says: "hot_records is a share"},
	"order exponential needs hot records above 0 and at most 1, and hot operations between 0 and 1, not %v and %v": {mistake: phases(loading, "{name: r, mix: {read: 1}, order: {distribution: exponential, hot_operations: 1}, for: 1s}"), says: "order exponential needs"},
	"unknown order %q": {mistake: phases(loading, "{name: r, mix: {read: 1}, order: oldest, for: 1s}"), says: "unknown distribution"},
	"threads that think before their operations have no rate, load nothing, and each operation is timed": {
		mistake: phases(loading, "{name: r, mix: {read: 1}, think: 1ms, rate: 10, for: 1s}"), says: "do not pause beside it"},
	"order popularity has no buckets of keys":                                                  {mistake: phases(loading, "{name: r, mix: {read: 1}, order: popularity, for: 1s}"), says: "is that of a file or of buckets"},
	"bucket %d has %d keys and weight %v: expected a key at least and a weight from 0 to 1e18": {unreachable: "the resolver checks a file by the same"},
	"values of %d bytes": {mistake: "values: {bytes: 2GiB}", says: "a value has at most 1 GiB"},
	"a shift of one record in %d every %s: expected 1 to %d":                    {mistake: phases(loading, "{name: r, mix: {read: 1}, rate: 10, order: {distribution: zipfian, shift: {every: 1s, by: 0.05%}}, for: 1s}"), says: "a whole number up to 1000"},
	"nothing is popular in order %s: it has no shift":                           {mistake: phases(loading, "{name: r, mix: {read: 1}, rate: 10, order: {distribution: uniform, shift: {every: 1s, by: 10%}}, for: 1s}"), says: "no popular records"},
	"a shift needs segments of a rate, which say when operations are due":       {mistake: phases(loading, "{name: r, mix: {read: 1}, order: {distribution: zipfian, shift: {every: 1s, by: 10%}}, for: 1s}"), says: "without a rate"},
	"a shift of one record in %d: there are %d":                                 {mistake: "records: 100\n" + phases(loading, "{name: r, mix: {read: 1}, rate: 10, order: {distribution: zipfian, shift: {every: 1s, by: 1%}}, for: 1s}"), says: "too few to change places"},
	"reads that fill are done one by one, and timed, and are not recorded ones": {mistake: phases(loading, "{name: r, mix: {read: 1}, multi_read: 5, on_miss: fill, for: 1s}"), says: "in one call fill nothing"},
	"touches give records a TTL, and there is none":                             {mistake: "stores: [memory]\n" + phases(loading, "{name: t, mix: {touch: 1}, for: 1s}"), says: "touch gives records a TTL"},
	"%d parts are appended to a value: expected 1 to %d":                        {mistake: "stores: [memory]\n" + phases(loading, "{name: a, mix: {append: 1}, append: {parts: 33}, for: 1s}"), says: "appends 1 to 32 parts"},
	"parts of %d bytes":                           {mistake: "stores: [memory]\n" + phases(loading, "{name: a, mix: {append: 1}, append: {bytes: 23}, for: 1s}"), says: "a part has 24 bytes"},
	"appends go beside no batches and requests":   {mistake: "stores: [memory]\n" + phases(loading, "{name: a, mix: {append: 1}, batch: 5, for: 1s}"), says: "a batch is made of writes"},
	"appends go beside no values with a TTL":      {mistake: "stores: [memory]\n" + phases(loading, "{name: a, mix: {append: 1, update: 1}, ttl: 1s, for: 1s}"), says: "append beside values with a TTL"},
	"appends have no order %s":                    {mistake: "stores: [memory]\n" + phases(loading, "{name: a, mix: {append: 1}, order: latest, for: 1s}"), says: "append has no order latest"},
	"multi-reads of %d keys: expected at most %d": {mistake: phases(loading, "{name: r, mix: {read: 1}, multi_read: 1001, for: 1s}"), says: "a call reads 1 to 1000 keys"},
	"more than %d different value lengths (each with each TTL), scan lengths, sizes of batches and multi-reads, and queries": {
		unreachable: "values have columns, or 120 pairs of a size and a TTL and as many sizes at most; 128 lengths of scans, 64 queries, a multi-read, a batch and two shorter ones at the ends of threads are below 256"},
	"the last batch of thread %d: %w": {unreachable: "wraps the one before"},
	"order %s over %d records needs a trace of at least %d entries of 8 bytes, and %d are allowed: %s": {
		mistake: "records: 1e9\n" + phases(loading, "{name: r, mix: {read: 1}, order: shuffled, for: 1s}"), says: "a trace has at most"},
	"trace: %w": {unreachable: "wraps the others"},
}

func manyQueries() string {
	var all []string
	for i := range 65 {
		all = append(all, fmt.Sprintf("q%d: {column: a}", i))
	}
	return "stores: [sqlite]\nvalues: {columns: [{name: a, value: \"x {i}\"}], queries: {" + strings.Join(all, ", ") + "}}\n" + phases(loading, "{name: q, mix: {\"query:q1\": 1}, for: 1s}")
}

func queried(query string) string {
	return "stores: [sqlite]\nvalues: {columns: [{name: a, value: \"x {i}\"}, {name: p, proof: 24}]}\n" +
		phases(loading, "{name: q, mix: {query: 1}, query: "+query+", for: 1s}")
}

// workerChecks are those between open and run of Assay's own worker.
var workerChecks = map[string]judged{
	"index of %s: only an ordered index is descending":  {mistake: "stores: [memory]\nvalues: {columns: [{name: t, value: \"{i}\"}], indexes: [{column: t, kind: token, descending: true}]}", says: "only an ordered index is descending"},
	"open while %s is open":                             {unreachable: theConductor},
	"open for %d threads: expected 1 to %d":             {mistake: phases(loading, "{name: r, mix: {read: 1}, threads: 65536, for: 1s}"), says: "threads must be 1 to"},
	"this worker has no driver %q":                      {mistake: "stores: [bblot]", says: "unknown driver"},
	"%s can't reach durability class %s":                {mistake: "durability: D4", says: "can't reach D4"},
	"%s: %w":                                            {mistake: "stores: [{driver: pebble, options: {wal: perhaps}}]", says: "expected true or false"},
	"opening %s: %w":                                    {unreachable: "the store's own answer"},
	"opening a handle of %s: %w (closing it again: %v)": {unreachable: "the store's own answer"},
	"prepare while phase %s waits for run":              {unreachable: theConductor},
	"phase number %d: expected 0 to %d":                 {mistake: manyPhases(), says: "at most 200"},
	"phase number %d was used before":                   {unreachable: theConductor},
	"keys: %w":                                          {mistake: "keys: {bytes: 70000}", says: "binary keys have 1 to 65535 bytes"},
	"values: %w":                                        {mistake: "values: {pool_bytes: 5000}", says: "a power of two"},
	"%w":                                                {unreachable: theFile + ", the counters, and a clock that " + theMachine},
	"%d threads, but the store was opened for %d":       {unreachable: theConductor},
	"process %d: the counters file is for %d":           {unreachable: theConductor},
	"asynchronous handles fill nothing: a fill is a second operation, after a wait": {mistake: "stores: [{driver: memcached, endpoints: [a:1]}]\ndurability: D0\nkeys: {format: decimal}\nhandles: async(4)\n" + phases(loading, "{name: r, mix: {read: 1}, on_miss: fill, for: 1s}"), says: "asynchronous handles fill nothing"},
	"records with columns are read one by one":                                      {mistake: "stores: [memory]\nvalues: {columns: [{name: t, value: \"{i}\"}, {name: p, proof: 24}]}\n" + phases(loading, "{name: r, mix: {read: 1}, multi_read: 5, for: 1s}"), says: "read one by one"},
	"records with columns have no %s":                                               {mistake: "stores: [memory]\nvalues: {columns: [{name: t, value: \"{i}\"}, {name: p, proof: 24}]}\n" + phases(loading, "{name: g, mix: {get_and_set: 1}, for: 1s}"), says: "records with columns have no get_and_set"},
	"%s has no %s":                                                                  {mistake: "stores: [pogreb]\n" + phases(loading, "{name: s, mix: {scan: 1}, for: 1s}"), says: "can't scan"},
	"asynchronous handles do not pause: their operations overlap":                   {mistake: "stores: [{driver: memcached, endpoints: [a:1]}]\ndurability: D0\nkeys: {format: decimal}\nhandles: async(4)\n" + phases(loading, "{name: r, mix: {read: 1}, think: 1ms, for: 1s}"), says: "have no think time"},
	"%s can't store a value for a time":                                             {mistake: "stores: [pogreb]\n" + phases(loading, "{name: u, mix: {update: 1}, ttl: 1s, for: 1s}"), says: "can't remove values after a time"},
	"operations that are not timed have no begin that a TTL could count from":       {mistake: "stores: [memory]\nlatency: sampled(100)\n" + phases(loading, "{name: u, mix: {update: 1}, ttl: 1s, for: 1s}"), says: "most operations have no time"},
	"a proof column of %d bytes, but length_max is %d":                              {unreachable: theConductor},
	"a value of %d bytes in the trace, but length_max is %d":                        {unreachable: theConductor},
	"define twice: the columns hold until close":                                    {unreachable: theConductor},
	"define after the first prepare":                                                {unreachable: theConductor},
	"define: %w":                                                                    {mistake: "values: {columns: [{name: a, value: x}, {name: a, value: x}]}", says: "two columns have the name a"},
	"%s has no columns of its own, and so no indexes":                               {mistake: "stores: [bbolt]\nvalues: {columns: [{name: a, value: x}], indexes: [a]}", says: "no columns of its own"},
	"closing a handle before define: %w":                                            {unreachable: "the store's own answer"},
	"opening a handle after define: %w (closing the store: %v)":                     {unreachable: "the store's own answer"},
	"defining columns and indexes: %w":                                              {unreachable: "the store's own answer"},
	"an index of %q, which is no column":                                            {mistake: "values: {columns: [{name: a, value: x}], indexes: [b]}", says: "which is no column"},
	"index of %s: kind %q does not go with type %s":                                 {mistake: "values: {columns: [{name: a, value: \"{i}\", type: integer}], indexes: [{column: a, kind: token}]}", says: "has no token index"},
	"%d queries: expected at most %d":                                               {mistake: manyQueries(), says: "more than 64 queries"},
	"query %d %q: %w":                                                               {mistake: queried("{column: p}"), says: "changes with each write"},
	"a %s by query %d, but define named %d":                                         {unreachable: theConductor},
	"a query by query %d, which has no limit and can only be counted":               {mistake: "stores: [sqlite]\n" + columns + phases(loading, "{name: q, mix: {query: 1}, query: {column: a}, for: 1s}"), says: "no column identifies the record"},
	"a delete by query %d, which has several alternatives": {mistake: "stores: [sqlite]\nvalues: {columns: [{name: a, value: 'x {i}'}], queries: {q: {any: [{a: equal}, {a: has}]}}}\n" +
		phases(loading, "{name: d, mix: {'delete:q': 1}, for: 1s}"), says: "has alternatives"},
	"two indexes of one kind on column %s":                                            {mistake: "values: {columns: [{name: a, value: x}], indexes: [a, a]}", says: "a second ordered index"},
	"a pool needs pool_handles of at least 1, got %d":                                 {mistake: "handles: pool(0)", says: "expected the size of the pool"},
	"asynchronous handles need a pipeline of at least 1, got %d":                      {mistake: "handles: async(0)", says: "expected 1 to 1024 operations"},
	"%s has no asynchronous handles":                                                  {mistake: "stores: [bbolt]\nhandles: async", says: "has no asynchronous handles"},
	"modify writes the proof column, and define named none":                           {mistake: "stores: [sqlite]\nvalues: {columns: [{name: a, value: \"{i}\"}]}\n" + phases(loading, "{name: m, mix: {modify: 1}, for: 1s}"), says: "the records have none"},
	"increment adds to the counter column, and define named none":                     {mistake: "stores: [sqlite]\nvalues: {columns: [{name: a, value: \"{i}\"}]}\n" + phases(loading, "{name: m, mix: {increment: 1}, for: 1s}"), says: "the records have none"},
	"asynchronous handles do no requests: the steps of a request wait for each other": {mistake: "stores: [{driver: memcached, endpoints: [a:1]}]\ndurability: D0\nkeys: {format: decimal}\nhandles: async(4)\n" + phases(loading, "{name: r, request: [read], for: 1s}"), says: "do no requests"},
	"only threads that keep their handles may leave operations untimed":               {mistake: "handles: pool(4)\nlatency: sampled(100)\n" + phases(loading, "{name: r, mix: {read: 1}, for: 1s}"), says: "reads the clock for each operation"},
	"unknown way to share handles %q":                                                 {mistake: "handles: sharde", says: "unknown handles"},
	"a handle of %s can't be shared by %d threads":                                    {mistake: "stores: [{driver: memcached, endpoints: [a:1]}]\ndurability: D0\nkeys: {format: decimal}\nhandles: shared\nthreads: 2", says: "can't share one handle"},
	"%s has at most %d handles, this needs %d":                                        {mistake: "stores: [{driver: memcached, endpoints: [a:1]}]\ndurability: D0\nkeys: {format: decimal}\nthreads: 200", says: "can't open 200 handles"},
}

func manyPhases() string {
	all := []string{loading}
	for i := range 200 {
		all = append(all, fmt.Sprintf("{name: r%d, mix: {read: 1}, for: 1s}", i))
	}
	return phases(all...)
}

// nativeChecks are those of prepare in the workers in C.
var nativeChecks = map[string]judged{
	"keys: prefix and suffix have at most 255 bytes each":                                           {mistake: "keys: {format: decimal, suffix: " + strings.Repeat("s", 256) + "}", says: "at most 255 bytes each"},
	"keys: binary keys have 1 to 65535 bytes":                                                       {mistake: "keys: {bytes: 0}", says: "binary keys have 1 to 65535 bytes"},
	"keys: scattered keys need at least 8 bytes after the prefix":                                   {mistake: "keys: {bytes: 7, scatter: true}", says: "scattered keys need at least 8 bytes"},
	"keys: binary keys have no suffix or digits":                                                    {mistake: "keys: {suffix: a}", says: "binary keys have no suffix"},
	"keys: the prefix leaves nothing of a binary key":                                               {mistake: "keys: {bytes: 2, prefix: ab}", says: "leaves nothing of binary keys"},
	"values: trial_tag must be 1 to 2^32-1":                                                         {unreachable: theConductor},
	"a trace with recorded entries and a history file belong together":                              {unreachable: theConductor},
	"keys: %s keys take no bytes":                                                                   {mistake: "keys: {format: ycsb, bytes: 8}", says: "they take no bytes"},
	"keys: decimal keys have 0 to 20 digits, ycsb keys take none":                                   {mistake: "keys: {format: decimal, digits: 21}", says: "decimal keys have 0 to 20 digits"},
	"keys: first is 0 to 2^48-1, and of decimal keys without scatter alone":                         {mistake: "keys: {first: 1}", says: "first is 0 to"},
	"keys: from and first of a length are at most 2^48-1":                                           {unreachable: theRecording},
	"keys: lengths are longer than the prefix, and at most 65535":                                   {unreachable: theRecording},
	"keys: scattered keys of several lengths are binary and have at least 8 bytes after the prefix": {unreachable: theRecording},
	"keys: the first length begins at index 0":                                                      {unreachable: theRecording},
	"keys: lengths ascend by their first index":                                                     {unreachable: theRecording},
	"keys: a length can't hold the numbers of its keys":                                             {unreachable: theRecording},
	"keys: at most %d lengths":                                                                      {unreachable: theRecording},
	"keys: binary and decimal keys alone have lengths":                                              {unreachable: theRecording},
	"keys: those of several lengths have no bytes, digits, first and suffix":                        {unreachable: theRecording},
	"keys: unknown format \\\"%s\\\"":                                                               {mistake: "keys: {format: text}", says: "unknown key format"},
	"values: pool_bytes must be a power of two from 4096 to 2^30":                                   {mistake: "values: {pool_bytes: 2GiB}", says: "a power of two"},
	"values: repeated_permille must be 0 to 1000":                                                   {mistake: "values: {repeated: 1.1}", says: "repeated is a share"},
	"values: length_max must be below 2^31":                                                         {mistake: "values: {sizes: [{bytes: 2GiB, weight: 1}]}", says: "a value has at most 1 GiB"},
	"values: short_lengths has bits of lengths below 24 alone":                                      {unreachable: theConductor},
	"%s has no %s": workerChecks["%s has no %s"],
	"the proof column is longer than length_max":                        {unreachable: theConductor},
	"a value in the trace is longer than length_max":                    {unreachable: theConductor},
	"a %s by query %u, but define named %zu":                            {unreachable: theConductor},
	"a query by query %u, which has no limit and can only be counted":   workerChecks["a query by query %d, which has no limit and can only be counted"],
	"only threads that keep their handles may leave operations untimed": workerChecks["only threads that keep their handles may leave operations untimed"],
	"a delete by query %u, which has several alternatives":              workerChecks["a delete by query %d, which has several alternatives"],
	"no memory for the phase's threads":                                 {unreachable: theMachine},
	"no memory for the value pool":                                      {unreachable: theMachine},
	"no memory for a phase":                                             {unreachable: theMachine},
	"%s":                                                                {unreachable: theFile + ", the counters, and a clock that " + theMachine},
	"trace of %u threads, but the store was opened for %d":              {unreachable: theConductor},
	"prepare while phase %s waits for run":                              {unreachable: theConductor},
	"phase number out of 0 to %d":                                       workerChecks["phase number %d: expected 0 to %d"],
	"phase number %d was used before":                                   {unreachable: theConductor},
	"modify writes the proof column, and define named none":             workerChecks["modify writes the proof column, and define named none"],
	"increment adds to the counter column, and define named none":       workerChecks["increment adds to the counter column, and define named none"],
}

func TestFileIsRefusedForWhatTrialsWouldRefuse(t *testing.T) {
	for _, c := range []struct {
		what  string
		found []string
		table map[string]judged
	}{
		{"trace", slices.Concat(
			messagesIn(t, "../trace/spec.go", "check", "checkLoad", "checkMix", "checkOperations", "checkRequest", "checkAppends", "checkWeights"),
			messagesIn(t, "../trace/distribution.go", "check"), messagesIn(t, "../trace/shift.go", "checkShift"),
			messagesIn(t, "../trace/generate.go", ""), messagesIn(t, "../trace/thread.go", "")), traceChecks},
		{"worker", slices.Concat(
			messagesIn(t, "../../../worker/session.go", "openStore", "prepare", "checkAbilities", "checkLengths"),
			messagesIn(t, "../../../worker/define.go", ""), messagesIn(t, "../../../worker/handles.go", "handleCount")), workerChecks},
		{"native worker", nativeMessages(t), nativeChecks},
	} {
		t.Run(c.what, func(t *testing.T) {
			if len(c.found) < 10 {
				t.Fatalf("only %d checks were found in the source", len(c.found))
			}
			for _, message := range c.found {
				if _, known := c.table[message]; !known {
					t.Errorf("a check that no one has judged: %q: is it caught when the file is read?", message)
				}
			}
			for message, j := range c.table {
				if !slices.Contains(c.found, message) {
					t.Errorf("the check %q is gone: take it from the table", message)
				}
				if j.unreachable == "" {
					checkRefused(t, message, j)
				}
			}
		})
	}
}

func checkRefused(t *testing.T, message string, j judged) {
	text := checkFile(j.mistake)
	_, err := read.Load([]byte(text), "mistake.yaml", nil, fakeDrivers())
	if err == nil {
		t.Errorf("%q: the file is accepted, and its trials would fail:\n%s", message, text)
		return
	}
	checkPlaced(t, err)
	if !strings.Contains(err.Error(), j.says) {
		t.Errorf("%q: want %q in\n%v", message, j.says, err)
	}
}

// messagesIn returns the formats of errors that functions of a Go file make; "": of all its
// functions.
func messagesIn(t *testing.T, file string, functions ...string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var messages []string
	for _, declared := range parsed.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || functions[0] != "" && !slices.Contains(functions, function.Name.Name) {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || !slices.Contains([]string{"fmt.Errorf", "errors.New", "badRequest", "refused"}, nameOf(call.Fun)) {
				return true
			}
			if literal, ok := call.Args[0].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				messages = append(messages, text)
			}
			return true
		})
	}
	return messages
}

func nameOf(function ast.Expr) string {
	switch f := function.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return nameOf(f.X) + "." + f.Sel.Name
	}
	return ""
}

var nativeRefusal = regexp.MustCompile(`refuse\(refusal, CLASS_[A-Z_]+,\s*"((?:[^"\\]|\\.)*)"`)

func nativeMessages(t *testing.T) (messages []string) {
	t.Helper()
	text, err := os.ReadFile("../../../workers/c/host/prepare.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range nativeRefusal.FindAllStringSubmatch(string(text), -1) {
		messages = append(messages, found[1])
	}
	return messages
}

// Whatever loads has a trace, in every cell, phase by phase, as the run makes it.
func TestLoadsHaveATrace(t *testing.T) {
	operations := []string{"read", "insert", "update", "upsert", "delete", "scan", "add", "read_modify_write"}
	loads := 0
	rapid.Check(t, func(rt *rapid.T) {
		var all []string
		if rapid.Bool().Draw(rt, "load") {
			all = append(all, fmt.Sprintf("{name: load, load: true, order: %s, batch: %d}",
				rapid.SampledFrom([]string{"sequential", "shuffled"}).Draw(rt, "load order"), rapid.IntRange(1, 30).Draw(rt, "load batch")))
		}
		for i := range rapid.IntRange(1, 3).Draw(rt, "phases") {
			phase := fmt.Sprintf("{name: p%d, mix: {", i)
			for _, o := range rapid.SliceOfNDistinct(rapid.SampledFrom(operations), 1, 3, rapid.ID).Draw(rt, "mix") {
				phase += fmt.Sprintf("%s: %d, ", o, rapid.IntRange(0, 2).Draw(rt, "weight"))
			}
			phase += "}, order: " + rapid.SampledFrom(experiment.Distributions).Draw(rt, "order")
			if rapid.Bool().Draw(rt, "batched") {
				phase += fmt.Sprintf(", batch: %d", rapid.IntRange(1, 20).Draw(rt, "batch"))
			}
			if rapid.Bool().Draw(rt, "counted") {
				phase += fmt.Sprintf(", operations: %d", rapid.IntRange(1, 50).Draw(rt, "operations"))
			}
			all = append(all, phase+", for: 1s}")
		}
		text := checkFile(fmt.Sprintf("stores: [memory]\ndurability: D0\nrecords: %d\nthreads: %d\n%s",
			rapid.SampledFrom([]int{0, 1, 5, 300}).Draw(rt, "records"), rapid.SampledFrom([]int{1, 2, 7}).Draw(rt, "threads"), phases(all...)))
		e, err := read.Load([]byte(text), "any.yaml", nil, fakeDrivers())
		if err != nil {
			checkPlaced(rt, err)
			return
		}
		loads++
		for i, cell := range e.Cells {
			for position := range e.Phases {
				if _, err := trace.Generate(traceOf(e, cell, position)); err != nil {
					rt.Fatalf("cell %d, phase %s: %v\n%s", i, e.Phases[position].Name, err, text)
				}
			}
		}
	})
	t.Log(loads, "loaded")
	if loads == 0 {
		t.Error("nothing loaded: nothing was tried")
	}
}

// traceOf is what the run asks for, with laps that are as short as can be.
func traceOf(e *experiment.Experiment, cell experiment.Cell, position int) trace.Spec {
	p := e.Phases[position]
	s := trace.Spec{
		Load: p.Load, Records: cell.Records, Fresh: cell.Records, Batch: p.Batch, Limit: p.Operations,
		Threads: cell.Threads, Seed: 1,
		Deleted: slices.ContainsFunc(e.Phases[:position], func(p experiment.Phase) bool { return p.Mix["delete"] > 0 }),
		Order: trace.Order{Distribution: p.Order.Distribution, Theta: p.Order.Theta,
			HotRecords: p.Order.HotRecords, HotOperations: p.Order.HotOps},
		Sizes: []trace.Size{{Bytes: cell.ValueBytes, Weight: 1}}, Scan: trace.ScanLengths{Min: p.Scan.Min,
			Max: p.Scan.Max},
		ThreadEntries: 100, Entries: 1000,
	}
	if p.Load {
		s.Limit, s.Threads = 0, int(min(uint64(s.Threads), cell.Records))
	}
	for name, weight := range p.Mix {
		if o, known := trace.ParseOperation(name); known {
			s.Mix = append(s.Mix, trace.Share{Operation: o, Weight: weight})
		}
	}
	return s
}

// Widths that repeat, and what is added before the remainder is taken.
func TestColumnValues(t *testing.T) {
	for _, c := range []struct {
		value string
		of    map[uint64]string // by index
		says  string
	}{
		{"n {i/20,30,10} .", map[uint64]string{0: "n 0 .", 19: "n 0 .", 20: "n 1 .", 49: "n 1 .", 50: "n 2 .", 59: "n 2 .", 60: "n 3 ."}, ""},
		{"{(i/20,30+1)%3*2+5}", map[uint64]string{0: "7", 20: "9", 50: "5", 70: "7"}, ""},
		{"{(i+1)%5}", map[uint64]string{3: "4", 4: "0"}, ""},
		{"{i/55%100*2+1}", map[uint64]string{110: "5", 5500: "1"}, ""},
		{"t_{i%3}_{i+1} x", map[uint64]string{0: "t_0_1 x", 5: "t_2_6 x"}, ""},
		{"{2,1 words aaa..zzz}", map[uint64]string{0: "aaa aab", 1: "aac", 2: "aad aae", 3: "aaf"}, ""},
		{"t {1 words a..z}, {i}", map[uint64]string{25: "t z, 25", 26: "t a, 26"}, ""},
		{"{2,1 words aaa..zz}", nil, "the first and the last"},
		{"{words aaa..zzz}", nil, "how many"},
		{"{i}{", nil, "does not close"},
		{"{i{i}}", nil, "does not close"},
		{"{(i/20,30%3)}", nil, "not understood"},
		{"{i/20,}", nil, "a whole number above 0"},
		{"{(i+1}", nil, "begin with i"},
	} {
		e, err := read.Load([]byte(fmt.Sprintf("name: x\nstores: [bbolt]\nvalues: {columns: [{name: a, value: %q}, {name: p, proof: 24}]}\n", c.value)+
			phases(loading, "{name: r, mix: {read: 1}, for: 1s}")), "x.yaml", nil, fakeDrivers())
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, expected %q", c.value, err, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		for index, want := range c.of {
			if got := e.Values.Record().AppendColumn(nil, 0, index); string(got) != want {
				t.Errorf("%s of %d: %q, expected %q", c.value, index, got, want)
			}
		}
	}
}
