// Package bareloop is what a careful person writes by hand to time an engine: keys and values made
// in place, the engine's own calls, and no look at the clock between. Each engine's program is a
// folder of this one, which links nothing of Assay but what makes keys and values.
package bareloop

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"time"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// What both sides of a comparison do.
const (
	Records    = 100_000
	KeyBytes   = 16
	ValueBytes = 100
	PoolBytes  = 1 << 18
	Entries    = 1 << 16
)

// Values is the shape of all values.
func Values() keyval.ValueShape {
	return keyval.ValueShape{PoolBytes: PoolBytes, PoolSeed: 1, RepeatedPermille: 500, LengthMax: ValueBytes,
		TrialTag: 1}
}

// Spec is the trace of so many threads, of which operations and keys are taken.
func Spec(o trace.Operation, threads int, records uint64) trace.Spec {
	return trace.Spec{Mix: []trace.Share{{Operation: o, Weight: 1}}, Records: records, Fresh: records,
		Order: trace.Order{Distribution: "uniform"}, Sizes: []trace.Size{{Bytes: ValueBytes, Weight: 1}}, Threads: threads,
		ThreadEntries: Entries, Seed: 1}
}

// Engine is an engine's own calls, with nothing around them.
type Engine struct {
	Get   func(key, buf []byte) ([]byte, error)
	Put   func(key, value []byte) error
	Close func() error
}

// Main loads an engine in the directory that is the program's first argument. For each number that
// it then reads it does so many operations of the kind that is its second argument, read or update,
// and prints how long one took, in ns, and how often garbage was collected.
func Main(open func(directory string) (Engine, error)) {
	if err := run(open); err != nil {
		fmt.Fprintln(os.Stderr, "bare loop:", err)
		os.Exit(1)
	}
}

func run(open func(directory string) (Engine, error)) error {
	operation, known := map[string]trace.Operation{"read": trace.Read, "update": trace.Update}[os.Args[2]]
	if !known {
		return fmt.Errorf("operation %q: expected read or update", os.Args[2])
	}
	engine, err := open(os.Args[1])
	if err != nil {
		return err
	}
	l, err := newLoop(engine, operation)
	if err != nil {
		return err
	}
	if err := l.load(); err != nil {
		return err
	}
	fmt.Println("loaded")
	asked := bufio.NewScanner(os.Stdin)
	for asked.Scan() {
		var operations int
		if _, err := fmt.Sscan(asked.Text(), &operations); err != nil {
			return err
		}
		runtime.GC() // the worker begins each phase so
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ns, err := l.run(operations)
		if err != nil {
			return err
		}
		runtime.ReadMemStats(&after)
		fmt.Println(ns, after.NumGC-before.NumGC)
	}
	return engine.Close()
}

// loop begins again at the first key each time that it runs, as the worker's phases do.
type loop struct {
	engine          Engine
	operation       trace.Operation
	pool            *keyval.Pool
	key, value, buf []byte
	order           []uint64
	runs            int
}

func newLoop(e Engine, o trace.Operation) (*loop, error) {
	file, err := trace.Generate(Spec(o, 1, Records))
	if err != nil {
		return nil, err
	}
	l := &loop{engine: e, operation: o, pool: keyval.NewPool(Values()),
		key: make([]byte, KeyBytes), value: make([]byte, ValueBytes), buf: make([]byte, 0, ValueBytes)}
	for _, entry := range file.Threads[0].Entries {
		l.order = append(l.order, entry.Index())
	}
	return l, nil
}

func (l *loop) setKey(index uint64) {
	binary.BigEndian.PutUint64(l.key, index)
	binary.LittleEndian.PutUint64(l.key[8:], keyval.Mix(index))
}

func (l *loop) load() error {
	for index := range uint64(Records) {
		l.setKey(index)
		l.pool.Put(l.value, index, 0)
		if err := l.engine.Put(l.key, l.value); err != nil {
			return err
		}
	}
	return nil
}

// run does so many operations and returns ns each.
func (l *loop) run(operations int) (float64, error) {
	l.runs++
	start := time.Now()
	for done, position := 0, 0; done < operations; done++ {
		index := l.order[position]
		if position++; position == len(l.order) {
			position = 0
		}
		l.setKey(index)
		var err error
		if l.operation == trace.Read {
			_, err = l.engine.Get(l.key, l.buf[:0])
		} else {
			// The worker's bytes: with the same ones again and again, an engine that compresses has
			// less work.
			l.pool.Put(l.value, index, keyval.Version(l.runs, 0, uint64(done)))
			err = l.engine.Put(l.key, l.value)
		}
		if err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(operations), nil
}
