// Package store is the contract between Assay and a key-value store that is driven from Go.
//
// A driver implements [Driver], [Store] and [Handle]: open, hand out handles, get, put, delete,
// close. What a store can do beyond that it says by implementing an ability ([Batcher], [Scanner],
// [CompareAndSwapper], [Syncer], [Inspector]): the worker probes each one once, at open. A driver
// never emulates an ability, never retries and never rounds a durability class up: it refuses, and
// the refusal is a result. The package storetest holds every driver to the rules that are written
// here.
//
// A driver needs this package and the library of its store, and nothing else of Assay; those that
// several of Assay's own share code with have it in drivers/internal.
package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Driver opens one kind of store. It is stateless: one process may open several stores with it at
// once.
type Driver interface {
	// Describe says what the driver can do and which options it takes, without opening anything.
	Describe() Description

	// Open opens or creates the store that c describes. It returns an error that wraps [ErrRefused]
	// where the store can't do what c asks (a durability class, an option's value, a way to share
	// handles), and any other error where it failed. The context bounds the opening only.
	Open(ctx context.Context, c Config) (Store, error)
}

// Store is an open store. Handle and Close are called from one goroutine.
type Store interface {
	// Handle returns one more handle: a connection, a session, a reader-writer; whatever the
	// store's clients hold.
	Handle() (Handle, error)

	// Settings returns the settings in force as the store itself reports them where it can, or else
	// as they were given to it. Keys are the library's own names.
	Settings() map[string]string

	// Close closes the store; every handle was closed before. What was acknowledged must then be as
	// durable as the class says.
	Close() error
}

// Handle does the operations. It is used by one goroutine at a time, unless
// [Description].HandlesShareable says that many may use it at once.
//
// A handle never keeps key, value or buf after the call, and never writes to key or value.
type Handle interface {
	// Get returns the value of key, or an error that wraps [ErrNotFound]. The value may stand in
	// buf (whose length is 0 and whose capacity the driver may use and outgrow) or in memory of the
	// store that stays unchanged until the handle's next call. The empty value is a value: it is
	// not ErrNotFound.
	Get(key, buf []byte) ([]byte, error)

	// Put stores value under key, whether key was there or not. A store that may refuse it because
	// others write beside it says so ([Description].WriteConflicts) and returns an error that wraps
	// [ErrConflict]: then nothing was done. This holds for all methods, here and in abilities.
	Put(key, value []byte) error

	// Delete removes key. It returns an error that wraps [ErrNotFound] only if the store reports so
	// by itself; removing a key that is not there is otherwise no error.
	Delete(key []byte) error

	// Close gives the handle back.
	Close() error
}

// Batcher is a [Handle] that can write several records as one operation.
type Batcher interface {
	// Apply writes all of writes, in order. [Description].BatchAtomic says if others see all or
	// nothing. It keeps nothing of writes after the call.
	Apply(writes []Write) error
}

// Write is one write of a batch.
type Write struct {
	Key, Value []byte
	Delete     bool // true: remove Key, and Value is nil
}

// Scanner is a [Handle] that can walk the keys in bytewise order.
type Scanner interface {
	// Scan calls visit for each record from the first key ≥ start, in ascending order, until visit
	// returns false or the keys end. Key and value are valid during visit only. limit is how many
	// records the caller will take: a hint for prefetching, not a bound.
	Scan(start []byte, limit int, visit func(key, value []byte) bool) error
}

// Adder is a [Handle] that can store a value only where none is, in one step of the store's own.
type Adder interface {
	// Add stores value if key is absent, and otherwise returns an error that wraps [ErrConflict].
	Add(key, value []byte) error
}

// CompareAndSwapper is a [Handle] that can replace a value only where it is still the old one, in
// one step of the store's own.
type CompareAndSwapper interface {
	// CompareAndSwap stores value if the value of key is old. It returns an error that wraps
	// [ErrConflict] if it is another, and [ErrNotFound] if there is none.
	CompareAndSwap(key, old, value []byte) error
}

// PrefixDeleter is a [Handle] that can delete records by the begin of their keys, many in one call.
// Assay takes away with it what a trial has made on a server that outlives it; no trial measures it. It is
// of stores that keep Assay's records apart from all others, in a schema or database of their own: beside
// records of strangers, a begin that is drawn at random may be one of theirs.
type PrefixDeleter interface {
	// DeletePrefix deletes records whose keys begin with prefix, which has at least a byte: about atMost
	// of them, so that one call ends soon. It returns how many it deleted; 0: there are none any more.
	DeletePrefix(prefix []byte, atMost int) (deleted int, err error)
}

// After returns the first key, in the order of bytes, after all that begin with a prefix; nil: none is.
func After(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < math.MaxUint8 {
			after := slices.Clone(prefix[:i+1])
			after[i]++
			return after
		}
	}
	return nil
}

// Expirer is a [Handle] whose store removes a value by itself when a time is over.
type Expirer interface {
	// PutFor stores value under key for a time, whether key was there or not, in one step: others see
	// neither the value without its end nor the end without the value. ttl is a multiple of
	// [Expiry].UnitNS and at least [Expiry].LeastNS. A later Put takes the end away again.
	PutFor(key, value []byte, ttl time.Duration) error
}

// Toucher is a [Handle] whose store can give a value another end without writing it again.
type Toucher interface {
	// Touch lets the value of key live for a time from now on, in one step, whatever its end was before. It
	// returns an error that wraps [ErrNotFound] where there is no value, and makes none. ttl is that of
	// [Expirer].
	Touch(key []byte, ttl time.Duration) error
}

// Appender is a [Handle] whose store can make a value longer in one step.
type Appender interface {
	// Append adds part to the end of key's value. Where there is none it returns an error that wraps
	// [ErrNotFound], or part becomes the value if [Description].AppendMakes says so.
	Append(key, part []byte) error
}

// GetSetter is a [Handle] whose store can replace a value and return the one that was there, in one step.
type GetSetter interface {
	// GetAndSet stores value under key, whether key was there or not. It returns the value that it replaced,
	// as Get does, or an error that wraps [ErrNotFound] where there was none: value is stored in either case.
	GetAndSet(key, value, buf []byte) ([]byte, error)
}

// MultiGetter is a [Handle] that can read several records in one call of the store's own.
type MultiGetter interface {
	// MultiGet sets values[i] to the value of keys[i], and to nil where that key is not there. Both lists
	// have the same length, no key stands in keys twice, and values holds nil alone before. A value may stand
	// in buf (not nil, whose length is 0 and whose capacity the driver may use and outgrow) or in memory of the store
	// that stays unchanged until the handle's next call; the empty value is not nil. calls is how many
	// requests it took: one, or one for each server or slot that has some of the keys. Where some can't be
	// read it returns an error, and values mean nothing.
	MultiGet(keys, values [][]byte, buf []byte) (calls int, err error)
}

// Syncer is a [Store] that can be told to make everything acknowledged durable.
type Syncer interface {
	// Sync returns once every acknowledged write survives a power cut.
	Sync() error
}

// Holder is a [Store] that others may have filled before: a server.
type Holder interface {
	// Held returns how many records the store said that it held when it was opened, before anything
	// was emptied; known is false where it did not say.
	Held() (records uint64, known bool)
}

// Expecter is a [Store] that can be told how long the values are that it is to hold, so that an
// answer with a much longer one is an error and takes no memory. It is called while no operation
// runs, and may be called again with a greater length.
type Expecter interface {
	Expect(valueBytesMax int)
}

// EventualTeller is a [Store] whose options decide if it is as [Description].Eventual says: how many
// replicas a read asks, for example.
type EventualTeller interface {
	// Eventual reports if a read may return an older value than the newest acknowledged one.
	Eventual() bool
}

// Inspector is a [Store] that can tell about itself. It may be called while operations run.
type Inspector interface {
	Inspect() Inspection
}

// Inspection is what a store reports about itself at one moment.
type Inspection struct {
	// Stats are the store's own counters and gauges. A name ends in its unit where it has one
	// ("cache_bytes", "stall_ns"). What can't be had is left out, never zero.
	Stats map[string]float64
	// Busy is true while background work (compaction, flush) goes on that the store knows of. A
	// drain waits for it.
	Busy bool
	// Left is what stays as it is on the server when the work is over, and keeps it from serving
	// others as before. Nil: nothing is known to.
	Left []Left
}

// RoomStat is the name in [Inspection].Stats of the bytes that a server still takes before it refuses
// writes.
const RoomStat = "room_bytes"

// Left is a state of a server that outlasts the work which led to it.
type Left struct {
	// What it is, with what it means for others: "alarm NOSPACE is raised: all writes are refused".
	State string `json:"state"`
	// The commands that undo it, in order.
	Undo []string `json:"undo,omitempty"`
}

// String has the commands as well.
func (l Left) String() string {
	if len(l.Undo) == 0 {
		return l.State
	}
	return l.State + ", until you run: " + strings.Join(l.Undo, "; ")
}

// DurabilityTeller is a [Store] whose server can be asked again, between phases, for what its class
// rests on.
type DurabilityTeller interface {
	// TellDurability asks the server, never a copy of what it said before.
	TellDurability() (DurabilityEvidence, error)
}

// DurabilityEvidence is what a server says of its durability at one moment.
type DurabilityEvidence struct {
	// Which of the server's settings does not give the class any more; "": all do.
	Broken string `json:"broken,omitempty"`
	// How often the server synced what acknowledged writes wait for, since its start. Nil: it does not count
	// them.
	Syncs   *uint64 `json:"syncs,omitempty"`
	Counter string  `json:"counter,omitempty"` // the server's name for that count
	// Why the server could not be asked; "": it was.
	Unknown string `json:"unknown,omitempty"`
	// How old the count may be: some servers add up what their sessions did now and then.
	Lag time.Duration `json:"lag_ns,omitempty"`
}

// Evidence makes a [DurabilityEvidence] of what holding the settings against the class gave: an
// error that wraps [ErrRefused] where they do not give it any more.
func Evidence(refused error) (DurabilityEvidence, error) {
	if errors.Is(refused, ErrRefused) {
		return DurabilityEvidence{Broken: refused.Error()}, nil
	}
	return DurabilityEvidence{}, refused
}

// Counted returns e with a counter of syncs.
func (e DurabilityEvidence) Counted(syncs float64, counter string, lag time.Duration) DurabilityEvidence {
	n := uint64(max(0, syncs))
	e.Syncs, e.Counter, e.Lag = &n, counter, lag
	return e
}

// RecordsEvicted is the name under which a cache tells how many records it has removed by itself since
// its start, to stay within its limits or because they expired. What is missing is then an eviction,
// up to that number; in a store that does not report it, and beyond it, what is missing is lost.
const RecordsEvicted = "records_evicted"

// RecordsExpired is the name under which a store reports how many of these it removed because their time
// was over, of those that it counts apart.
const RecordsExpired = "records_expired"

// What a store of several servers tells of each of them, under the name that [ServerStat] gives: so
// that a server which got more or less than its weight is found.
const (
	ServerOperations = "operations" // that it has got, by its own count: a total
	ServerWeight     = "weight"     // its part of the keys, in proportion to the others'
)

// ServerStat returns the name of what one of several servers tells, by its position in
// [Config].Endpoints: "server1_operations" at position 0.
func ServerStat(position int, name string) string {
	return "server" + strconv.Itoa(position+1) + "_" + name
}

// Config is what a store is opened with.
type Config struct {
	// First is true at the trial's first opening: only then may a driver empty a store that earlier
	// trials used. It never does so unless an option asks for it.
	First bool
	// Directory is an existing directory for the store's files, empty at the first open; unset for
	// servers.
	Directory string
	// Endpoints are where servers are reached: host:port, or the absolute path of a Unix socket where
	// [Description].UnixSockets is set; nil for embedded engines. [Network] tells them apart.
	Endpoints []string
	// Durability is the class that acknowledged writes must reach.
	Durability Durability
	// LossWindow is T of the class D2(T).
	LossWindow time.Duration
	// Options holds a value for each of the driver's options, defaults filled in and types checked
	// by the worker.
	Options Options
	// Threads is how many threads will call, and Handles how many handles will be open at once:
	// hints for pools.
	Threads, Handles int
}

// Durability is a class of what an acknowledged write survives.
type Durability string

// The durability classes: docs/durability.md defines them.
const (
	D0 Durability = "D0" // lost when the process dies
	D1 Durability = "D1" // survives the process, not the power
	D2 Durability = "D2" // a crash, of the process or of power, loses at most the writes of the last T
	D3 Durability = "D3" // every acknowledged write survives a power cut
	D4 Durability = "D4" // survives the loss of k−1 nodes with memory and disk, not a power cut of all
)

// Errors that a driver wraps, so that the worker counts the outcome right. Any other error counts
// as "error".
var (
	ErrNotFound = errors.New("not found")     // outcome miss
	ErrConflict = errors.New("conflict")      // outcome conflict
	ErrTimeout  = errors.New("timed out")     // outcome timeout: whether the operation took effect is unknown
	ErrRefused  = errors.New("can't be done") // Open: the store can't do what is asked
)
