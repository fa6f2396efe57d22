package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/dgraph-io/badger/v4"
	"go.etcd.io/bbolt"

	"assay/internal/keyval"
	"assay/internal/trace"
	"assay/store"
)

const bareRecords = 100_000

// bareEngine is the engine's own calls, with nothing around them.
type bareEngine struct {
	get   func(key, buf []byte) ([]byte, error)
	put   func(key, value []byte) error
	close func() error
}

// engines are what a bare loop is timed on, with the class that means "no sync" for each.
var engines = []struct {
	name  string
	class store.Durability
	open  func(directory string) (bareEngine, error)
}{
	{"bbolt", store.D1, openBbolt},
	{"pebble", store.D0, openPebble},
	{"badger", store.D1, openBadger},
}

// printBare prints, for each engine and operation, the harness's rate as a share of the bare loop's: pairs in turn, median of ratios.
func printBare(rounds int, length time.Duration) error {
	for _, engine := range engines {
		for _, o := range []trace.Operation{trace.Read, trace.Update} {
			var ratios, bares []float64
			for round := range rounds {
				bare := func() (float64, error) { return startBare(engine.name, o, length) }
				full := func() (float64, error) {
					return work{driver: engine.name, durability: engine.class, operation: o, threads: 1, records: bareRecords, length: length}.nsEach()
				}
				first, second := bare, full
				if round%2 == 1 {
					first, second = full, bare
				}
				a, err := first()
				if err != nil {
					return err
				}
				b, err := second()
				if err != nil {
					return err
				}
				if round%2 == 1 {
					a, b = b, a
				}
				bares, ratios = append(bares, a), append(ratios, a/b)
			}
			fmt.Printf("  %-8s %-8s %6.1f %%   (bare %.0f ns)\n", engine.name, o, 100*median(ratios), median(bares))
		}
	}
	return nil
}

// startBare runs a bare loop in a process of its own and returns its ns an operation.
func startBare(engine string, o trace.Operation, length time.Duration) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.Command(self, "bare", engine, o.String(), length.String())
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("bare loop on %s: %w", engine, err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

func runBare(args []string) error {
	o, _ := trace.ParseOperation(args[1])
	length, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	directory, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	for _, engine := range engines {
		if engine.name == args[0] {
			e, err := engine.open(directory)
			if err != nil {
				return err
			}
			ns, err := bareLoop(e, o, length)
			if err != nil {
				return err
			}
			fmt.Println(ns)
			return e.close()
		}
	}
	return fmt.Errorf("no engine %q", args[0])
}

// bareLoop is what a careful person writes by hand: keys and values made in place, the clock looked at every thousand calls.
func bareLoop(e bareEngine, o trace.Operation, length time.Duration) (float64, error) {
	pool := keyval.NewPool(prepareDefault().Values)
	key, value, buf := make([]byte, 16), make([]byte, valueBytes), make([]byte, 0, valueBytes)
	setKey := func(index uint64) {
		binary.BigEndian.PutUint64(key, index)
		binary.LittleEndian.PutUint64(key[8:], keyval.Mix(index))
	}
	for index := range uint64(bareRecords) {
		setKey(index)
		pool.Put(value, index, 0)
		if err := e.put(key, value); err != nil {
			return 0, err
		}
	}
	order := make([]uint64, entriesBench)
	for i := range order {
		order[i] = keyval.Mix(uint64(i)) % bareRecords
	}
	const look = 1000
	done, start := 0, time.Now()
	for time.Since(start) < length {
		for range look {
			setKey(order[done%entriesBench])
			var err error
			if o == trace.Read {
				_, err = e.get(key, buf[:0])
			} else {
				binary.LittleEndian.PutUint64(value, uint64(done))
				err = e.put(key, value)
			}
			if err != nil {
				return 0, err
			}
			done++
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(done), nil
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
		put:   func(key, value []byte) error { return db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) }) },
		close: db.Close,
	}, nil
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
