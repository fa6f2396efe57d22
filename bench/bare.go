package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/dgraph-io/badger/v4"
	"go.etcd.io/bbolt"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

const bareRecords = 100_000

// bareEngine is the engine's own calls, with nothing around them.
type bareEngine struct {
	get   func(key, buf []byte) ([]byte, error)
	put   func(key, value []byte) error
	close func() error
}

// bareSubject is an engine that a bare loop is timed on.
type bareSubject struct {
	name  string
	class store.Durability
	open  func(directory string) (bareEngine, error)
}

// engines are what a bare loop is timed on, with the class that means "no sync" for each.
var engines = []bareSubject{
	{"bbolt", store.D1, openBbolt},
	{"pebble", store.D0, openPebble},
	{"badger", store.D1, openBadger},
}

// printBare prints, for each engine and operation, the harness's rate as a share of two bare
// loops': one on the driver's own handle, so on the same database and through the same code but
// without the harness; and one on the engine itself, on a database of its own with the same
// content. All three work in this process, in turn, in pieces of a few hundredths of a second, on
// the same keys in the same order: what the machine and its other users do meanwhile falls on all.
// Figures are medians over rounds, with 95 % intervals (order statistics).
func printBare(rounds int, only string) error {
	// The worker's run holds a trace on the heap, a bare loop does not: with less on the heap,
	// garbage is collected more often. Beside this it is equally often.
	ballast := make([]byte, ballastBytes)
	defer runtime.KeepAlive(ballast)
	for _, engine := range engines {
		if only != "" && only != engine.name {
			continue
		}
		for _, o := range []trace.Operation{trace.Read, trace.Update} {
			if err := printEngine(engine, o, rounds); err != nil {
				return fmt.Errorf("%s: %w", engine.name, err)
			}
		}
	}
	return nil
}

func printEngine(engine bareSubject, o trace.Operation, rounds int) (err error) {
	directory, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	bare, err := engine.open(directory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	harness, err := serveHere(work{driver: engine.name, durability: engine.class, operation: o, threads: 1, records: bareRecords})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, harness.close()) }()
	handle, err := harness.opened.Handle()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(handle.Close(), err) }()
	engineLoop := newBareLoop(bare, o)
	handleLoop := newBareLoop(bareEngine{get: handle.Get, put: handle.Put}, o)
	if err := engineLoop.load(); err != nil {
		return err
	}
	each, err := engineLoop.run(bareRecords) // also fills caches
	if err != nil {
		return err
	}
	piece := max(int(float64(pieceLength.Nanoseconds())/each), 100)
	// Making a phase's trace and files empties the caches, which costs the first milliseconds of a
	// piece: so it is done before all.
	afterPhase := func(run func(int) (float64, error)) func(int) (float64, error) {
		return func(operations int) (float64, error) {
			if _, err := harness.run(1); err != nil {
				return 0, err
			}
			return run(operations)
		}
	}
	loops := []func(int) (float64, error){harness.run, afterPhase(handleLoop.run), afterPhase(engineLoop.run)}
	times := make([][]float64, len(loops))
	for round := range rounds {
		for turn := range loops {
			which := (round + turn) % len(loops)
			runtime.GC() // the worker begins each phase so
			ns, err := loops[which](piece)
			if err != nil {
				return err
			}
			times[which] = append(times[which], ns)
		}
	}
	fmt.Printf("  %-8s %-8s %s   %s   (%.0f ns)\n", engine.name, o, share(times[1], times[0]), share(times[2], times[0]), median(times[1]))
	return nil
}

// share prints the median of the ratios of a bare loop's times to the harness's, in percent, with
// its interval.
func share(bare, harness []float64) string {
	ratios := make([]float64, len(bare))
	for i := range bare {
		ratios[i] = 100 * bare[i] / harness[i]
	}
	low, high := medianInterval(ratios)
	return fmt.Sprintf("%6.1f %% (%5.1f to %5.1f)", median(ratios), low, high)
}

const ballastBytes = 256 << 20

const pieceLength = 200 * time.Millisecond

// medianInterval returns a 95 % interval of the median: the order statistics n/2 ± 0.98·√n of the
// binomial.
func medianInterval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	half := 0.98 * math.Sqrt(n)
	return sorted[max(int(n/2-half), 0)], sorted[min(int(n/2+half), len(sorted)-1)]
}

// bareLoop is what a careful person writes by hand: keys and values made in place, no look at the
// clock between. Each run begins again at the first key, as the worker's phases do.
type bareLoop struct {
	engine          bareEngine
	operation       trace.Operation
	pool            *keyval.Pool
	key, value, buf []byte
	order           []uint64
}

func newBareLoop(e bareEngine, o trace.Operation) *bareLoop {
	file, err := trace.Generate(work{operation: o, threads: 1, records: bareRecords}.spec())
	if err != nil {
		panic(err) // the same spec as the worker's, which was made before
	}
	l := &bareLoop{engine: e, operation: o, pool: keyval.NewPool(prepareDefault().Values),
		key: make([]byte, 16), value: make([]byte, valueBytes), buf: make([]byte, 0, valueBytes)}
	for _, entry := range file.Threads[0].Entries {
		l.order = append(l.order, entry.Index())
	}
	return l
}

func (l *bareLoop) setKey(index uint64) {
	binary.BigEndian.PutUint64(l.key, index)
	binary.LittleEndian.PutUint64(l.key[8:], keyval.Mix(index))
}

func (l *bareLoop) load() error {
	for index := range uint64(bareRecords) {
		l.setKey(index)
		l.pool.Put(l.value, index, 0)
		if err := l.engine.put(l.key, l.value); err != nil {
			return err
		}
	}
	return nil
}

// run does so many operations and returns ns each.
func (l *bareLoop) run(operations int) (float64, error) {
	start := time.Now()
	for done := range operations {
		index := l.order[done%len(l.order)]
		l.setKey(index)
		var err error
		if l.operation == trace.Read {
			_, err = l.engine.get(l.key, l.buf[:0])
		} else {
			// The worker's bytes: with the same ones again and again, an engine that compresses has
			// less work.
			l.pool.Put(l.value, index, keyval.Version(1, 0, uint64(done)))
			err = l.engine.put(l.key, l.value)
		}
		if err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(operations), nil
}

func openBbolt(directory string) (bareEngine, error) {
	db, err := bbolt.Open(directory+"/db", 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		return bareEngine{}, err
	}
	name := []byte("kv")
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(name); return err })
	return bareEngine{
		get: func(key, buf []byte) (value []byte, err error) {
			err = db.View(func(tx *bbolt.Tx) error {
				value = append(buf, tx.Bucket(name).Get(key)...)
				return nil
			})
			return value, err
		},
		put: func(key, value []byte) error {
			return db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(name).Put(key, value) })
		},
		close: db.Close,
	}, err
}

func openPebble(directory string) (bareEngine, error) {
	db, err := pebble.Open(directory, &pebble.Options{Logger: quiet{}})
	if err != nil {
		return bareEngine{}, err
	}
	return bareEngine{
		get: func(key, buf []byte) ([]byte, error) {
			value, closer, err := db.Get(key)
			if err != nil {
				return nil, err
			}
			buf = append(buf, value...)
			return buf, closer.Close()
		},
		put:   func(key, value []byte) error { return db.Set(key, value, pebble.NoSync) },
		close: db.Close,
	}, nil
}

func openBadger(directory string) (bareEngine, error) {
	db, err := badger.Open(badger.DefaultOptions(directory).WithLogger(nil))
	if err != nil {
		return bareEngine{}, err
	}
	return bareEngine{
		get: func(key, buf []byte) (value []byte, err error) {
			err = db.View(func(tx *badger.Txn) error {
				item, err := tx.Get(key)
				if err == nil {
					value, err = item.ValueCopy(buf)
				}
				return err
			})
			return value, err
		},
		put: func(key, value []byte) error {
			return db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) })
		},
		close: db.Close,
	}, nil
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
