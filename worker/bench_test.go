package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

type nothing struct{}

func (nothing) Describe() store.Description {
	return store.Description{Name: "nothing", Kind: store.None, HandlesShareable: true, Durability: []store.DurabilityClaim{{Class: store.D0}}}
}
func (nothing) Open(context.Context, store.Config) (store.Store, error) { return nothing{}, nil }
func (nothing) Handle() (store.Handle, error)                           { return nothing{}, nil }
func (nothing) Settings() map[string]string                             { return nil }
func (nothing) Get(key, buf []byte) ([]byte, error)                     { return buf, nil }
func (nothing) Put(key, value []byte) error                             { return nil }
func (nothing) Delete(key []byte) error                                 { return nil }
func (nothing) Close() error                                            { return nil }

func BenchmarkLoop(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, o := range []trace.Operation{trace.Read, trace.Update} {
			for _, verify := range []bool{false, true} {
				if verify && o == trace.Update {
					continue
				}
				b.Run(fmt.Sprintf("%s/threads=%d/verify=%v", o, threads, verify), func(b *testing.B) {
					benchmarkLoop(b, o, threads, verify)
				})
			}
		}
	}
}

func benchmarkLoop(b *testing.B, o trace.Operation, threads int, verify bool) {
	directory, err := os.MkdirTemp("/dev/shm", "assay-bench-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(directory)
	f := &trace.File{Groups: 1, Operations: []trace.Operation{o}, Threads: make([]trace.Thread, threads)}
	f.Amounts[0] = 100
	for t := range f.Threads {
		entries := make([]trace.Entry, 1<<16)
		for i := range entries {
			entries[i] = trace.MakeEntry(o, keyval.Mix(uint64(i))%1_000_000, 0, false)
		}
		f.Threads[t] = trace.Thread{Entries: entries, Limit: uint64(b.N)/uint64(threads) + 1}
	}
	traceName, countersName := filepath.Join(directory, "trace"), filepath.Join(directory, "counters")
	if err := f.Write(traceName); err != nil {
		b.Fatal(err)
	}
	if _, err := counters.Create(countersName, f); err != nil {
		b.Fatal(err)
	}
	s := &session{drivers: described([]store.Driver{nothing{}})}
	if _, err := s.openStore(&control.Open{Driver: "nothing", Durability: store.D0, Handles: control.HandlesShared, Threads: threads}); err != nil {
		b.Fatal(err)
	}
	if err := s.prepare(&control.Prepare{Phase: "bench", Trace: traceName, Counters: countersName,
		Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16}, Values: keyval.ValueShape{PoolBytes: 1 << 18,
			LengthMax: 100, RepeatedPermille: 500, TrialTag: 7},
		Verify: verify, Clock: "auto", DeadlineNS: int64(time.Hour)}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if _, err := s.run(nil); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := s.close(); err != nil {
		b.Fatal(err)
	}
}
