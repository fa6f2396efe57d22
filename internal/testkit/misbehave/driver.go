// Package misbehave holds drivers and workers that break one promise each, on purpose, and honest
// ones beside them. They show that the conformance kit, the conductor and the checks of a run see
// what they are there to see.
package misbehave

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/experiment/keyval"
	"assay/store"
)

// behaviour is how a driver differs from the honest one. What is nil is honest.
type behaviour struct {
	name, summary string

	describe    func(*store.Description)
	open        func(store.Config) error
	closing     func()
	leaks       bool // keeps a file of each handle open until the store is closed
	drop        bool // forgets everything at close
	buffered    bool // acknowledges writes before they reach the file
	swapNothing bool
	settings    map[string]string
	stats       func(d *db) map[string]float64 // tells about itself

	expires func(key []byte, ttl time.Duration) time.Duration // has values with a TTL, and ends them then

	get   func(h *handle, key, buf []byte) ([]byte, error)
	put   func(h *handle, key, value []byte) error
	del   func(h *handle, key []byte) error
	apply func(h *handle, writes []store.Write) error
	scan  func(h *handle, start []byte, visit func(key, value []byte) bool) error
	many  func(keys, values [][]byte) (calls int) // what it does to a multi-read that found these
	add   func(h *handle, key, value []byte) error
	join  func(h *handle, old, part []byte) []byte // what it makes of a value and a part
	// what it stores and what it returns where value comes in place of old
	exchange  func(h *handle, key, old, value []byte) (stored, told []byte)
	untouched bool                       // acknowledges touches without doing them
	after     func(prefix []byte) []byte // the first key that it leaves of those from a prefix on
	key       func(key []byte) []byte    // what it takes for the key
	each      func(n uint64)             // before each operation, with its number in the store

	claimsConflicts bool // says that writes may conflict with others
	// in the place of a write, or a batch, that begins while another one is under way
	busy, busyBatch func(h *handle, writes []store.Write) error

	bare       bool                // has no ability at all
	silent     bool                // does not tell how it answers queries
	tell       func(told []answer) // has asynchronous handles, and changes their answers
	define     func(d *db, indexes []store.Index) error
	takesWords bool                                          // takes an index of words
	keep       func(columns []store.Column, record [][]byte) // changes a record before it is kept
	finds      func(h *handle, q *store.Query, values [][]byte) []record
	pastLimit  bool // goes on with a query after its visit returned false
	allColumns bool // gives columns in the order of define
	counted    func(n uint64) uint64

	modify    func(h *handle, key []byte, columns []int, values [][]byte) error
	increment func(h *handle, key []byte, column int, by int64) error
	deletes   func(h *handle, matching []record) (gone []record, told uint64)
	explained store.IndexUse // what it says of every query; "": what is so
}

// earlier is a value that is shown for a while after it was overwritten.
type earlier struct {
	value []byte
	until time.Time
}

// Names of drivers that break no promise.
const (
	Honest = "honest"
	Slow   = "slow"
	Prints = "prints"
	Bare   = "bare"

	SilentExplain = "silent-explain"
	SlowSorts     = "slow-sorts"

	Conflicts = "conflicts"
)

// HonestNames are the names of all drivers that break no promise.
var HonestNames = []string{Honest, Slow, Prints, Bare, SilentExplain, SlowSorts, Conflicts, Remote}

// crashAfter is the operation at which drivers hang or crash: in the middle of a phase.
const crashAfter = 30

// valueBytesMax is the limit that all drivers here claim, so that there is one to be broken.
const valueBytesMax = 1 << 20

var behaviours = []behaviour{
	{name: Honest, summary: "keeps every promise"},
	{name: Slow, summary: "keeps every promise, a tenth of a millisecond later", each: func(uint64) { time.Sleep(100 * time.Microsecond) }},
	{name: Prints, summary: "keeps every promise, and prints to standard output", each: printing},
	{name: SilentExplain, summary: "keeps every promise, and its queries, but not how they are answered", silent: true},
	{name: Bare, summary: "keeps every promise, and can get, put and delete only", bare: true},
	{name: Conflicts, summary: "keeps every promise, and refuses every second write that begins while another one is under way", claimsConflicts: true, busy: refuse},

	{name: "lies-wrong-value", summary: "returns the value of another key", get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if other := h.swapLast(value); err == nil && other != nil {
			return other, nil
		}
		return value, err
	}},
	{name: "lies-empty-value", summary: "returns the empty value for each record", get: func(h *handle, key, buf []byte) ([]byte, error) {
		_, err := h.honest.get(key)
		return buf[:0], err
	}},
	{name: "lies-damaged-value", summary: "flips a bit at the end of each value", get: func(h *handle, key, buf []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if err != nil || len(value) == 0 {
			return value, err
		}
		buf = append(buf[:0], value...)
		buf[len(buf)-1] ^= 1
		return buf, nil
	}},
	{name: "lies-lost-writes", summary: "acknowledges every seventh write without doing it", put: func(h *handle, key, value []byte) error {
		if h.puts.Add(1)%7 == 0 {
			return nil
		}
		return h.write(store.Write{Key: key, Value: value})
	}},
	{name: "lies-all-lost", summary: "acknowledges every write without doing it",
		put: func(*handle, []byte, []byte) error { return nil }, apply: func(*handle, []store.Write) error {
			return nil
		}},
	{name: "lies-swallowed-errors", summary: "acknowledges values that are too long, and drops them", put: func(h *handle, key, value []byte) error {
		if len(value) > valueBytesMax {
			return nil
		}
		return h.write(store.Write{Key: key, Value: value})
	}},
	{name: "lies-stale-value", summary: "returns the value before the last", put: func(h *handle, key, value []byte) error {
		if old, err := h.honest.get(key); err == nil {
			h.previous.Store(string(key), old)
		}
		return h.write(store.Write{Key: key, Value: value})
	}, get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if old, ok := h.previous.Load(string(key)); ok && err == nil {
			return old.([]byte), nil
		}
		return value, err
	}},
	{name: "lies-late", summary: "shows what overwrites a value 100 ms later", put: func(h *handle, key, value []byte) error {
		if old, err := h.honest.get(key); err == nil {
			h.previous.Store(string(key), earlier{old, time.Now().Add(100 * time.Millisecond)})
		}
		return h.write(store.Write{Key: key, Value: value})
	}, get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if old, ok := h.previous.Load(string(key)); ok && err == nil && time.Now().Before(old.(earlier).until) {
			return old.(earlier).value, nil
		}
		return value, err
	}},
	{name: "lies-sometimes-old", summary: "answers every twentieth read with the value before the last", put: func(h *handle, key, value []byte) error {
		if old, err := h.honest.get(key); err == nil {
			h.previous.Store(string(key), old)
		}
		return h.write(store.Write{Key: key, Value: value})
	}, get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if old, ok := h.previous.Load(string(key)); ok && err == nil && h.puts.Add(1)%20 == 0 {
			return old.([]byte), nil
		}
		return value, err
	}},
	{name: "lies-shared-buffer", summary: "returns values of all handles in one buffer", get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if err != nil {
			return nil, err
		}
		shared := h.common[:len(value)]
		copy(shared, value)
		time.Sleep(20 * time.Microsecond) // time enough for another thread
		return shared, nil
	}},
	{name: "lies-kept-buffer", summary: "keeps the caller's slice instead of a copy", put: func(h *handle, key, value []byte) error {
		h.kept.Store(string(key), value)
		return h.write(store.Write{Key: key, Value: value})
	}, get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if kept, ok := h.kept.Load(string(key)); ok && err == nil {
			return kept.([]byte), nil
		}
		return value, err
	}},
	{name: "lies-empty-miss", summary: "takes the empty value for a miss", get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if err == nil && len(value) == 0 {
			return nil, store.ErrNotFound
		}
		return value, err
	}},
	{name: "lies-missing-empty", summary: "returns the empty value for what is not there", get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if errors.Is(err, store.ErrNotFound) {
			return []byte{}, nil
		}
		return value, err
	}},
	{name: "lies-delete", summary: "acknowledges deletes without doing them", del: func(*handle, []byte) error { return nil }},
	{name: "lies-expires-early", summary: "ends values after half of their time", expires: func(_ []byte, ttl time.Duration) time.Duration { return ttl / 2 }},
	{name: "lies-expires-late", summary: "ends values a second after their time", expires: func(_ []byte, ttl time.Duration) time.Duration { return ttl + time.Second }},
	{name: "lies-expires-never", summary: "keeps values whose time is over", expires: func([]byte, time.Duration) time.Duration { return time.Hour }},
	{name: "lies-expires-some", summary: "ends the values of some keys alone", expires: func(key []byte, ttl time.Duration) time.Duration {
		if key[len(key)-1]%2 == 0 {
			return time.Hour
		}
		return ttl
	}},
	{name: "lies-touch", summary: "acknowledges touches without doing them", untouched: true,
		expires: func(_ []byte, ttl time.Duration) time.Duration { return ttl }},
	{name: "lies-append-drops", summary: "acknowledges every fifth append without doing it", join: func(h *handle, old, part []byte) []byte {
		if h.puts.Add(1)%5 == 0 {
			return old
		}
		return slices.Concat(old, part)
	}},
	{name: "lies-append-last", summary: "acknowledges the third part of a thread without adding it", join: func(_ *handle, old, part []byte) []byte {
		if partsOf(old, part) == 2 {
			return old
		}
		return slices.Concat(old, part)
	}},
	{name: "lies-append-overwrites", summary: "stores what is to be appended in place of the value", join: func(_ *handle, _, part []byte) []byte {
		return bytes.Clone(part)
	}},
	{name: "lies-append-before", summary: "puts what is to be appended before the value", join: func(_ *handle, old, part []byte) []byte {
		return slices.Concat(part, old)
	}},
	{name: "lies-exchange-new", summary: "returns the new value of an exchange", exchange: func(_ *handle, _, _, value []byte) (stored, told []byte) {
		return value, value
	}},
	{name: "lies-exchange-stale", summary: "returns what an exchange replaced the time before", exchange: func(h *handle, key, old, value []byte) (stored, told []byte) {
		if before, known := h.previous.Swap(string(key), old); known {
			return value, before.([]byte)
		}
		return value, old
	}},
	{name: "lies-exchange-nothing", summary: "returns the old value of an exchange and keeps it", exchange: func(_ *handle, _, old, _ []byte) (stored, told []byte) {
		return old, old
	}},
	{name: "lies-fill", summary: "acknowledges a write of what its last read missed without doing it",
		get: func(h *handle, key, _ []byte) ([]byte, error) {
			value, err := h.honest.get(key)
			h.missed = errors.Is(err, store.ErrNotFound)
			h.own = append(h.own[:0], key...)
			return value, err
		}, put: func(h *handle, key, value []byte) error {
			if h.missed && string(h.own) == string(key) {
				return nil
			}
			return h.write(store.Write{Key: key, Value: value})
		}},
	{name: "lies-multi-read-less", summary: "leaves out the last key of a multi-read", many: func(_, values [][]byte) int {
		if len(values) > 1 {
			values[len(values)-1] = nil
		}
		return 1
	}},
	{name: "lies-multi-read-other", summary: "gives the first key of a multi-read the value of the next", many: func(_, values [][]byte) int {
		if len(values) > 1 && values[0] != nil && values[1] != nil {
			values[0] = values[1]
		}
		return 1
	}},
	{name: "lies-multi-read-empty", summary: "gives the empty value for keys of a multi-read that are not there", many: func(_, values [][]byte) int {
		for i := range values {
			if values[i] == nil {
				values[i] = []byte{}
			}
		}
		return 1
	}},
	{name: "lies-multi-read-calls", summary: "does not tell the calls of a multi-read", many: func(_, _ [][]byte) int { return 0 }},
	{name: "lies-scan-order", summary: "gives the first two records of a scan the wrong way round", scan: func(h *handle, start []byte, visit func(key, value []byte) bool) error {
		found := h.honest.from(start)
		if len(found) > 1 {
			found[0], found[1] = found[1], found[0]
		}
		return walk(found, visit)
	}},
	{name: "lies-scan-start", summary: "leaves out the first record where the start is not a key", scan: func(h *handle, start []byte, visit func(key, value []byte) bool) error {
		found := h.honest.from(start)
		if len(found) > 0 && found[0].key != string(start) {
			found = found[1:]
		}
		return walk(found, visit)
	}},
	{name: "lies-scan-limit", summary: "goes on scanning when it is told to stop", scan: func(h *handle, start []byte, visit func(key, value []byte) bool) error {
		for _, r := range h.honest.from(start) {
			visit([]byte(r.key), r.value)
		}
		return nil
	}},
	{name: "lies-scan-short", summary: "ends each scan after its first record", scan: func(h *handle, start []byte, visit func(key, value []byte) bool) error {
		found := h.honest.from(start)
		return walk(found[:min(1, len(found))], visit)
	}},
	{name: "lies-scan-place", summary: "goes on with a scan at a place, not behind a key", scan: func(h *handle, start []byte, visit func(key, value []byte) bool) error {
		for place := 0; ; place++ {
			found := h.honest.from(start)
			if place >= len(found) || !visit([]byte(found[place].key), found[place].value) {
				return nil
			}
		}
	}},
	{name: "lies-scan-skips", summary: "leaves out one record of each scan, and takes the next", scan: skipOne},
	{name: "lies-scan-late", summary: "shows inserts to scans a thousand operations later", put: rememberNew, scan: scanLate},
	{name: "lies-batch-last", summary: "drops the last write of each batch", apply: func(h *handle, writes []store.Write) error {
		return h.honest.apply(writes[:len(writes)-1], false)
	}},
	{name: "lies-batch-order", summary: "applies the puts of a batch before its deletes", apply: func(h *handle, writes []store.Write) error {
		var puts, deletes []store.Write
		for _, w := range writes {
			if w.Delete {
				deletes = append(deletes, w)
			} else {
				puts = append(puts, w)
			}
		}
		return h.honest.apply(append(puts, deletes...), false)
	}},
	{name: "lies-add", summary: "adds over what is there", add: addOver},
	{name: "lies-add-apart", summary: "looks whether a record is there, and writes some time later", add: addLater},
	{name: "lies-add-refuses", summary: "refuses the adds of every second key once there are several threads", add: refuseSecondAdd},
	{name: "lies-swap", summary: "acknowledges every compare-and-swap without doing it", swapNothing: true},
	{name: "lies-modify-nothing", summary: "acknowledges every modify without doing it", modify: modifyNothing},
	{name: "lies-modify-replaces", summary: "replaces the record by the columns that are modified", modify: modifyReplaces},
	{name: "lies-modify-creates", summary: "makes a record of what is modified where there is none", modify: modifyCreates},
	{name: "lies-modify-neighbour", summary: "changes a column beside those that are modified", modify: modifyNeighbour},
	{name: "lies-modify-half", summary: "modifies the first column alone", modify: modifyFirst},
	{name: "lies-modify-apart", summary: "modifies one column after the other", modify: modifyApart},
	{name: "lies-modify-rewrites", summary: "reads the record, and writes it whole some time later", modify: modifyRewrites},
	{name: "lies-increment-apart", summary: "reads the counter, and writes it some time later", increment: incrementApart},
	{name: "lies-increment-twice", summary: "adds 2", increment: incrementTwice},
	{name: "lies-increment-nothing", summary: "acknowledges every increment without doing it", increment: incrementNothing},
	{name: "lies-processes", summary: "says that several processes may have it open, but keeps its records in each", describe: func(d *store.Description) { d.Processes = true }},
	{name: "lies-shareable", summary: "says that its handles can be shared, but each has one buffer", get: func(h *handle, key, _ []byte) ([]byte, error) {
		value, err := h.honest.get(key)
		if err != nil {
			return nil, err
		}
		h.own = append(h.own[:0], value...)
		time.Sleep(20 * time.Microsecond) // time enough for another thread
		return h.own, nil
	}},
	{name: "lies-leaks-files", summary: "keeps a file of each handle open after it is closed", leaks: true},
	{name: "lies-lane-order", summary: "tells what was last begun on a connection first", tell: lastFirst},
	{name: "lies-conflict-done", summary: "says conflict, and does the write", claimsConflicts: true, busy: refuseAndDo},
	{name: "lies-conflict-unclaimed", summary: "says conflict, but not that it may", busy: refuse},
	{name: "lies-conflict-lost", summary: "says conflict of every second write that is in another's way, and nothing of the others", claimsConflicts: true, busy: refuseEverySecond},
	{name: "lies-conflict-part", summary: "says conflict of a batch of which it has done the first half", claimsConflicts: true, busy: refuse, busyBatch: doHalf},
	{name: "lies-conflict-all", summary: "says conflict of every write as soon as there are several threads", claimsConflicts: true, put: func(h *handle, key, value []byte) error {
		if h.threads > 1 {
			return store.ErrConflict
		}
		return h.write(store.Write{Key: key, Value: value})
	}},
	{name: "lies-conflict-missing", summary: "does not find what it wrote as soon as there are several threads", claimsConflicts: true, get: func(h *handle, key, _ []byte) ([]byte, error) {
		if h.threads > 1 && h.puts.Add(1)%10 == 0 {
			return nil, store.ErrNotFound
		}
		return h.honest.get(key)
	}},
	{name: "lies-conflict-alone", summary: "says conflict where no other write is in the way", claimsConflicts: true, put: func(h *handle, key, value []byte) error {
		if h.puts.Add(1)%7 == 0 {
			return store.ErrConflict
		}
		return h.write(store.Write{Key: key, Value: value})
	}},
	{name: "lies-key-zero", summary: "takes a key to end at its first zero byte, as C does", key: func(key []byte) []byte {
		if end := bytes.IndexByte(key, 0); end >= 0 {
			return key[:end]
		}
		return key
	}},
	{name: "lies-key-end", summary: "leaves out the last byte of keys that are longer than 8", key: func(key []byte) []byte {
		if len(key) > 8 {
			return key[:len(key)-1]
		}
		return key
	}},
	{name: "lies-key-cut", summary: "takes keys to have 40 bytes at most", key: func(key []byte) []byte { return key[:min(len(key), 40)] }},
	{name: "lies-key-length", summary: "claims longer keys than it takes", put: func(h *handle, key, value []byte) error {
		if len(key) > 500 {
			return errors.New("the key is too long")
		}
		return h.write(store.Write{Key: key, Value: value})
	}},
	{name: "lies-version", summary: "does not tell its library's version", describe: func(d *store.Description) { d.Library = "example.org/secret" }},
	{name: "lies-disk", summary: "sets 4 MiB aside on disk, and does not say so", open: setAside},
	{name: "lies-inspect", summary: "names a counter only after the first records", stats: nameLate},
	{name: "lies-forgets", summary: "forgets everything at close", drop: true},
	{name: "lies-buffered", summary: "acknowledges D1 and D3 from a buffer of its own", buffered: true},
	{name: "lies-class", summary: "claims a class that it then refuses", describe: func(d *store.Description) {
		d.Durability = append(d.Durability, store.DurabilityClaim{Class: store.D4, How: "wishful thinking"})
	}, open: func(c store.Config) error {
		if c.Durability == store.D4 {
			return fmt.Errorf("no D4 here: %w", store.ErrRefused)
		}
		return nil
	}},
	{name: "lies-class-default", summary: "opens in its strongest class with an option set alone", describe: func(d *store.Description) {
		d.Options = append(d.Options, store.Option{Name: "log", Type: store.Bool, Default: "false", Help: "keeps a log"})
	}, open: func(c store.Config) error {
		if c.Durability == store.D3 && !c.Options.Bool("log") {
			return fmt.Errorf("no D3 without a log: %w", store.ErrRefused)
		}
		return nil
	}},
	{name: "lies-one-class", summary: "says that a server's settings decide the class, and opens in two with the same settings", settings: map[string]string{"sync": "maybe"},
		describe: func(d *store.Description) { d.ServerSetsClass = true }},
	{name: "lies-no-class", summary: "says that a server's settings decide the class, and opens in none", describe: func(d *store.Description) { d.ServerSetsClass = true },
		open: func(store.Config) error { return fmt.Errorf("not in this class: %w", store.ErrRefused) }},
	{name: "lies-settings", summary: "has the same settings in force in each class", settings: map[string]string{"sync": "maybe"}},
	{name: "lies-abilities", summary: "does not say that it can scan", describe: func(d *store.Description) { d.Abilities.Scan = false }},
	{name: "lies-description", summary: "has classes out of order and an option whose default is not valid", describe: func(d *store.Description) {
		d.Durability[0], d.Durability[1] = d.Durability[1], d.Durability[0]
		d.Options = append(d.Options, store.Option{Name: "depth", Type: store.Int, Default: "deep", Help: "a number"})
	}},
	{name: "lies-column-lost", summary: "keeps nothing of each record's last column", keep: keepNothingOfTheLast},
	{name: "lies-column-double", summary: "keeps integers as doubles", keep: keepDoubles},
	{name: "lies-column-trimmed", summary: "keeps no spaces at the end of text", keep: keepTrimmed},
	{name: "lies-column-swapped", summary: "gives the first two columns the wrong way round", keep: keepSwapped},
	{name: "lies-define-failed", summary: "says that it failed where it refuses an index", define: refuseAsFailed},
	{name: "lies-define-words", summary: "says that it has indexes of words, and has none", describe: func(d *store.Description) { d.TokenIndexes = true }},
	{name: "lies-define-no-words", summary: "does not say that it has indexes of words", takesWords: true},
	{name: "lies-define-empties", summary: "begins with an empty store at each define", define: emptyAtDefine},
	{name: "lies-index-deleted", summary: "does not take deleted records out of its index", del: rememberDeleted, finds: findDeleted},
	{name: "lies-index-twice", summary: "puts overwritten records into its index again", put: rememberOverwritten, finds: findOverwrittenTwice},
	{name: "lies-query-limit", summary: "goes on with a query when it is told to stop", pastLimit: true},
	{name: "lies-query-alike", summary: "finds records whose column differs in the last byte", finds: findAlike},
	{name: "lies-query-short", summary: "does not find the last record of those that match", finds: findAllButOne},
	{name: "lies-query-most", summary: "drops every 1,000th record that its queries find", finds: findMost},
	{name: "lies-query-first", summary: "looks at the first condition only", finds: changed(firstConditions)},
	{name: "lies-query-any", summary: "looks at the first alternative only", finds: changed(firstAlternative)},
	{name: "lies-query-word", summary: "finds texts that are the word, not those that have it", finds: changed(noWords)},
	{name: "lies-query-range", summary: "finds the end of a range", finds: findPastRange},
	{name: "lies-query-order", summary: "knows no order", finds: changed(noOrder)},
	{name: SlowSorts, summary: "keeps every promise, and takes its time for queries in an order", finds: findSlowly},
	{name: "lies-query-sorted", summary: "sorts what it met first", finds: findThenSort},
	{name: "lies-query-columns", summary: "gives columns in the order of their definition", allColumns: true},
	{name: "lies-index-late", summary: "finds and counts inserts a thousand operations later", put: rememberNew, finds: findLate},
	{name: "lies-count-less", summary: "counts one record less where there are several", counted: countOneLess},
	{name: "lies-count", summary: "estimates how many records match", counted: estimate},
	{name: "lies-delete-query-more", summary: "deletes a record more than a query finds", deletes: deleteMore},
	{name: "lies-delete-query-less", summary: "leaves one of the records that a query finds, and counts it", deletes: deleteLess},
	{name: "lies-delete-query-count", summary: "estimates how many records it deleted", deletes: deleteEstimated},
	{name: "lies-remove-more", summary: "deletes the keys of a neighbour too", after: func(prefix []byte) []byte { return store.After(store.After(prefix)) }},
	{name: "lies-remove-less", summary: "leaves keys that it has counted", after: func(prefix []byte) []byte { return append(prefix, "00003"...) }},
	{name: "lies-explain-always", summary: "says that it uses an index for each query", explained: store.IndexFinds},
	{name: "lies-explain-never", summary: "says that it uses no index", explained: store.IndexNone},
	{name: "hangs-operation", summary: "hangs in an operation", each: func(n uint64) {
		if n == crashAfter {
			time.Sleep(time.Hour) // not select: Go would see the deadlock and end the process
		}
	}},
	{name: "hangs-open", summary: "hangs at open", open: func(store.Config) error { time.Sleep(time.Hour); return nil }},
	{name: "hangs-close", summary: "hangs at close", closing: func() { time.Sleep(time.Hour) }},
	{name: "crashes-exit", summary: "ends the process in the middle of a phase", each: func(n uint64) {
		if n == crashAfter {
			os.Exit(3)
		}
	}},
	{name: "crashes-panic", summary: "panics in the middle of a phase", each: func(n uint64) {
		if n == crashAfter {
			panic("misbehave: as was asked")
		}
	}},
}

// printing writes to standard output in both ways in which a library could.
func printing(n uint64) {
	if n%10 == 0 {
		fmt.Println("a line that no conductor must see")
		_, _ = unix.Write(1, []byte("nor this one\n")) // as C code would
	}
}

func walk(records []record, visit func(key, value []byte) bool) error {
	for _, r := range records {
		if !visit([]byte(r.key), r.value) {
			return nil
		}
	}
	return nil
}

// Drivers returns all drivers of this package: those with files, then those of a [Server].
func Drivers() []store.Driver {
	all := make([]store.Driver, 0, len(behaviours)+len(remotes))
	for i := range behaviours {
		all = append(all, driver{&behaviours[i]})
	}
	for _, r := range remotes {
		all = append(all, r)
	}
	return all
}

type driver struct{ *behaviour }

func (d driver) Describe() store.Description {
	description := store.Description{
		Name: d.name, Summary: d.summary, Licence: "NONE", Kind: store.Embedded,
		Durability: []store.DurabilityClaim{
			{Class: store.D1, How: "each write is appended to a file"}, {Class: store.D3, How: "and the file is synced"},
		},
		HandlesShareable: true, KeyBytesMax: 1000, ValueBytesMax: valueBytesMax, BatchAtomic: true,
		Abilities: store.Probe((*db)(nil), (*handle)(nil)),
	}
	if d.bare {
		description.Abilities, description.BatchAtomic = store.Probe(bareStore{}, bareHandle{}), false
	}
	if d.silent {
		description.Abilities.Explain = false
	}
	description.Abilities.Async, description.Abilities.Inspect = d.tell != nil, d.stats != nil
	if d.expires != nil {
		description.Abilities.Touch = true
		description.Abilities.Expire, description.Expiry = true, &store.Expiry{UnitNS: int64(time.Millisecond)}
	}
	description.WriteConflicts = d.claimsConflicts
	if d.describe != nil {
		d.describe(&description)
	}
	return description
}

func (d driver) Open(_ context.Context, c store.Config) (store.Store, error) {
	if d.open != nil {
		if err := d.open(c); err != nil {
			return nil, err
		}
	}
	h, err := openHonest(c)
	if err != nil {
		return nil, err
	}
	opened := &db{behaviour: d.behaviour, honest: h, threads: c.Threads, common: make([]byte, valueBytesMax)}
	if d.bare {
		return bareStore{opened}, nil
	}
	if d.tell != nil {
		return lanes{opened}, nil
	}
	if d.stats != nil {
		return telling{opened}, nil
	}
	return opened, nil
}

// db is an open store, with what its lies need to remember.
type db struct {
	*behaviour
	honest     *honest
	threads    int
	columns    []store.Column // nil: none were defined
	indexes    []store.Index
	queries    []store.Query
	dropped    atomic.Uint64 // of what queries found, those that were looked at for dropping
	operations atomic.Uint64
	puts       atomic.Uint64
	waits      atomic.Uint64 // writes that began while another one was under way
	previous   sync.Map      // key → the value before the last
	kept       sync.Map      // key → the caller's slice
	common     []byte
	leakLock   sync.Mutex
	leaked     []*os.File
	lastLock   sync.Mutex
	last       []byte
	swap       sync.Mutex // one add or compare-and-swap at a time
	writing    sync.Mutex // held during a write by drivers in which writes conflict
}

// swapLast keeps a value and returns the one that was kept before.
func (d *db) swapLast(value []byte) []byte {
	d.lastLock.Lock()
	defer d.lastLock.Unlock()
	before := d.last
	d.last = value
	return before
}

func (d *db) Handle() (store.Handle, error) {
	if d.leaks {
		if err := d.leak(); err != nil {
			return nil, err
		}
	}
	if d.silent {
		return silentHandle{&handle{db: d}}, nil
	}
	if d.expires != nil {
		return expiringHandle{&handle{db: d}}, nil
	}
	return &handle{db: d}, nil
}

func (d *db) Settings() map[string]string {
	if d.settings != nil {
		return d.settings
	}
	return map[string]string{"sync": fmt.Sprint(d.honest.sync)}
}

func (d *db) leak() error {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	d.leakLock.Lock()
	defer d.leakLock.Unlock()
	d.leaked = append(d.leaked, f)
	return nil
}

func (d *db) Close() error {
	if d.closing != nil {
		d.closing()
	}
	for _, f := range d.leaked {
		if err := f.Close(); err != nil {
			return err
		}
	}
	return d.honest.close(d.drop)
}

func (d *db) Sync() error {
	d.honest.lock.Lock()
	defer d.honest.lock.Unlock()
	return d.honest.flush()
}

type handle struct {
	*db
	own    []byte // a buffer, or a key, of the lie's own
	missed bool   // by the last read
}

func (h *handle) Close() error { return nil }

// expiringHandle ends values, when their driver sees fit.
type expiringHandle struct{ *handle }

func (h expiringHandle) PutFor(key, value []byte, ttl time.Duration) error {
	err := h.Put(key, value)
	h.previous.Store(string(key), time.Now().Add(h.expires(key, ttl)))
	return err
}

func (h expiringHandle) Put(key, value []byte) error {
	h.previous.Delete(string(key))
	return h.handle.Put(key, value)
}

func (h expiringHandle) Get(key, buf []byte) ([]byte, error) {
	if end, ends := h.previous.Load(string(key)); ends && time.Now().After(end.(time.Time)) {
		return nil, store.ErrNotFound
	}
	return h.handle.Get(key, buf)
}

func (h expiringHandle) Touch(key []byte, ttl time.Duration) error {
	if _, err := h.Get(key, nil); err != nil || h.untouched {
		return err
	}
	h.previous.Store(string(key), time.Now().Add(h.expires(key, ttl)))
	return nil
}

// begin is called before each operation and returns the key that it is done to.
func (h *handle) begin(key []byte) []byte {
	number := h.operations.Add(1)
	if h.each != nil {
		h.each(number)
	}
	if h.key != nil {
		return h.key(key)
	}
	return key
}

func (h *handle) write(writes ...store.Write) error {
	kept := slices.Clone(writes)
	for i, w := range writes {
		if len(w.Key) > 1000 {
			return fmt.Errorf("a key of %d bytes is too long", len(w.Key))
		}
		if len(w.Value) > valueBytesMax {
			return fmt.Errorf("a value of %d bytes is too long", len(w.Value))
		}
		if w.Delete {
			continue
		}
		var err error
		if kept[i].Value, err = h.keeps(w.Value); err != nil {
			return err
		}
	}
	return h.honest.apply(kept, h.buffered)
}

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	key = h.begin(key)
	if h.get != nil {
		return h.get(h, key, buf)
	}
	return h.honest.get(key)
}

func (h *handle) Put(key, value []byte) error {
	key = h.begin(key)
	if h.put != nil {
		return h.put(h, key, value)
	}
	return h.writeAlone(store.Write{Key: key, Value: value})
}

func (h *handle) Delete(key []byte) error {
	key = h.begin(key)
	if h.del != nil {
		return h.del(h, key)
	}
	return h.writeAlone(store.Write{Key: key, Delete: true})
}

// DeletePrefix deletes what a scan gives.
func (h *handle) DeletePrefix(prefix []byte, atMost int) (deleted int, err error) {
	h.begin(nil)
	below, told := store.After(prefix), 0
	if h.after != nil {
		below = h.after(bytes.Clone(prefix))
	}
	for _, r := range h.honest.from(prefix) {
		if told < atMost && bytes.HasPrefix([]byte(r.key), prefix) {
			told++
		}
		if deleted == atMost || r.key >= string(below) {
			continue
		}
		if err := h.write(store.Write{Key: []byte(r.key), Delete: true}); err != nil {
			return deleted, err
		}
		deleted++
	}
	if h.after != nil {
		return min(told, deleted), nil
	}
	return deleted, nil
}

func (h *handle) Apply(writes []store.Write) error {
	h.begin(nil)
	if h.apply != nil {
		return h.apply(h, writes)
	}
	return h.writeAlone(writes...)
}

// MultiGet copies: the file's values may be written over.
func (h *handle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	for i, key := range keys {
		value, err := h.honest.get(h.begin(key))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		from := len(buf)
		buf = append(buf, value...)
		values[i] = buf[from:len(buf):len(buf)]
	}
	if h.many != nil {
		return h.many(keys, values), nil
	}
	return 1, nil
}

// Append makes a value longer, as the driver sees fit.
func (h *handle) Append(key, part []byte) error {
	key = h.begin(key)
	return h.honest.change(key, h.buffered, func(old []byte) ([]byte, error) {
		if h.join == nil {
			return slices.Concat(old, part), nil
		}
		return h.join(h, old, part), nil
	})
}

// GetAndSet replaces what is there, or puts where nothing is.
func (h *handle) GetAndSet(key, value, _ []byte) (told []byte, err error) {
	key = h.begin(key)
	err = h.honest.change(key, h.buffered, func(old []byte) ([]byte, error) {
		stored := value
		if told = old; h.exchange != nil {
			stored, told = h.exchange(h, key, old, value)
		}
		return stored, nil
	})
	if !errors.Is(err, store.ErrNotFound) {
		return told, err
	}
	if err := h.write(store.Write{Key: key, Value: value}); err != nil {
		return nil, err
	}
	return nil, store.ErrNotFound
}

func (h *handle) Scan(start []byte, _ int, visit func(key, value []byte) bool) error {
	start = h.begin(start)
	if h.scan != nil {
		return h.scan(h, start, visit)
	}
	return walk(h.honest.from(start), visit)
}

func (h *handle) Add(key, value []byte) error {
	key = h.begin(key)
	h.swap.Lock()
	defer h.swap.Unlock()
	if h.add != nil {
		return h.add(h, key, value)
	}
	if _, err := h.honest.get(key); err == nil {
		return store.ErrConflict
	}
	return h.write(store.Write{Key: key, Value: value})
}

// CompareAndSwap holds the old value against the one that is there, unless it lies.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	key = h.begin(key)
	h.swap.Lock()
	defer h.swap.Unlock()
	now, err := h.honest.get(key)
	if err != nil {
		return err
	}
	if h.swapNothing {
		return nil
	}
	if !bytes.Equal(now, old) {
		return store.ErrConflict
	}
	return h.write(store.Write{Key: key, Value: value})
}

// partsOf returns how many parts of a value, behind its first, are of the thread that another part is of.
func partsOf(value, part []byte) (parts int) {
	version, _ := keyval.VersionOf(part)
	for first := true; len(value) > 0; first = false {
		length := keyval.FirstBytes(value)
		if length == 0 {
			break
		}
		of, _ := keyval.VersionOf(value[:length])
		if !first && of&^keyval.SequenceMax == version&^keyval.SequenceMax {
			parts++
		}
		value = value[length:]
	}
	return parts
}
