package drivers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/experiment"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// each runs a test for every driver that stores something, in each class that it claims. A server
// that takes long to start is started once, in the weakest, as for the tests that look at one class;
// the kit has it in the strongest, and the driver's own tests in both.
func each(t *testing.T, test func(t *testing.T, driver store.Driver, c store.Config)) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		program, _ := drivers.Program(d.Name)
		for i, claim := range d.Durability {
			t.Run(d.Name+"/"+string(claim.Class), func(t *testing.T) {
				if i > 0 {
					servertest.SkipSlow(t, program)
				}
				if d.Kind == store.None {
					t.Skip("SKIPPED: the null driver stores nothing")
				}
				if strings.Contains(d.Note, "race detector") && d.Abilities == (store.Abilities{}) {
					t.Skip("SKIPPED: " + d.Note)
				}
				c := drivertest.Config(t, d, claim.Class, nil)
				if d.Kind == store.Server {
					serve(t, d, &c)
				}
				test(t, driver, c)
			})
		}
	}
}

func TestDescriptionsAreCompleteAndSorted(t *testing.T) {
	var names []string
	for _, driver := range drivers.All() {
		d := driver.Describe()
		names = append(names, d.Name)
		if d.Summary == "" || d.Licence == "" || d.Kind == "" || len(d.Durability) == 0 {
			t.Errorf("%s: a field is empty: %+v", d.Name, d)
		}
		if d.Library == "" && (d.Kind == store.Embedded || d.Kind == store.Server) {
			t.Errorf("%s names no library", d.Name)
		}
		if !slices.IsSortedFunc(d.Durability, func(a, b store.DurabilityClaim) int { return strings.Compare(string(a.Class), string(b.Class)) }) {
			t.Errorf("%s: classes are not sorted, the weakest first", d.Name)
		}
		for _, o := range d.Options {
			if err := o.Check(o.Default); err != nil {
				t.Errorf("%s: default of %s: %v", d.Name, o.Name, err)
			}
			if o.Help == "" || o.Name != strings.ToLower(o.Name) {
				t.Errorf("%s: option %q has no help, or capitals in its name", d.Name, o.Name)
			}
			if o.Type == store.Bytes && !strings.Contains(o.Name, "bytes") {
				t.Errorf("%s: option %q is of bytes, which its name does not say", d.Name, o.Name)
			}
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names are not sorted or not unique: %v", names)
	}
}

func TestRefusesClassesThatItDoesNotClaim(t *testing.T) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		for _, class := range []store.Durability{store.D0, store.D1, store.D2, store.D3, store.D4, "D9"} {
			if _, ok := d.Claim(class); ok || d.Kind == store.None {
				continue
			}
			s, err := driver.Open(context.Background(), drivertest.Config(t, d, class, nil))
			if !errors.Is(err, store.ErrRefused) {
				t.Errorf("%s at %s: expected a refusal, got %v and %v", d.Name, class, s, err)
			}
		}
	}
}

func TestAbilitiesOfTypesAreThoseOfAnOpenStore(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		s, h := drivertest.Open(t, driver, c)
		if said, is := driver.Describe().Abilities, store.Probe(s, h); said != is {
			t.Errorf("described as %v, but is %v", said.List(), is.List())
		}
	})
}

// keys are fit for a driver: binary ones where it takes them.
func keys(d store.Description, n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]byte, n)
	for i := range all {
		key := binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)
		key = append(key, make([]byte, r.IntN(40))...)
		if d.Kind == store.Server {
			key = []byte(fmt.Sprintf("key-%x", key))
		}
		all[i] = key
	}
	return all
}

func mustGet(t *testing.T, h store.Handle, key, want []byte) {
	t.Helper()
	got, err := h.Get(key, nil)
	if err != nil {
		t.Errorf("get %.40q: %v", key, err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("get %.40q: got %d bytes %.40q, want %d bytes %.40q", key, len(got), got, len(want), want)
	}
}

func mustMiss(t *testing.T, h store.Handle, key []byte) {
	t.Helper()
	if got, err := h.Get(key, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get %.40q: expected a miss, got %.40q and %v", key, got, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGetPutDelete(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		_, h := drivertest.Open(t, driver, c)
		d := driver.Describe()
		key := keys(d, 1)[0]
		mustMiss(t, h, key)
		long := bytes.Repeat([]byte{0, 255, '\r', '\n', 'E', 'N', 'D', '\r', '\n'}, 20_000)
		for _, value := range [][]byte{[]byte("first"), []byte("second, longer"), {}, nil, []byte("third"), {0}, long, []byte("\r\nEND\r\n")} {
			must(t, h.Put(key, value))
			mustGet(t, h, key, value)
			// With and without room in buf, whatever stands there.
			got, err := h.Get(key, append(make([]byte, 0, len(value)+10), "dirt"...)[:0])
			if err != nil || !bytes.Equal(got, value) {
				t.Errorf("get into a buffer: %.40q, %v", got, err)
			}
		}
		must(t, h.Delete(key))
		mustMiss(t, h, key)
		if err := h.Delete(key); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("delete of a key that is not there: %v", err)
		}
	})
}

func TestKeepsNothingOfItsArguments(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		_, h := drivertest.Open(t, driver, c)
		d := driver.Describe()
		all := keys(d, 50)
		buffer, value := make([]byte, 0, 400), make([]byte, 100)
		for i, key := range all {
			for j := range value {
				value[j] = byte(i)
			}
			buffer = append(buffer[:0], key...)
			must(t, h.Put(buffer, value))
		}
		clear(buffer)
		clear(value)
		for i, key := range all {
			mustGet(t, h, key, bytes.Repeat([]byte{byte(i)}, 100))
		}
		// A value must not change before the handle's next call.
		first, err := h.Get(all[1], nil)
		must(t, err)
		if !bytes.Equal(first, bytes.Repeat([]byte{1}, 100)) {
			t.Errorf("got %q", first)
		}
	})
}

func TestHoldsToItsKeyLimits(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		_, h := drivertest.Open(t, driver, c)
		value := []byte("value")
		err := h.Put([]byte{}, value)
		if d.KeyBytesMin == 0 {
			must(t, err)
			mustGet(t, h, []byte{}, value)
			mustGet(t, h, nil, value)
			must(t, h.Delete([]byte{}))
			mustMiss(t, h, []byte{})
		} else if err == nil {
			t.Error("the empty key was taken")
		}
		if d.KeyBytesMax == 0 {
			return
		}
		longest := bytes.Repeat([]byte("k"), d.KeyBytesMax)
		must(t, h.Put(longest, value))
		mustGet(t, h, longest, value)
		must(t, h.Delete(longest))
		mustMiss(t, h, longest)
		tooLong := bytes.Repeat([]byte("k"), d.KeyBytesMax+1)
		if err := h.Put(tooLong, value); err == nil {
			t.Errorf("a key of %d bytes was taken", len(tooLong))
		}
		// A key of another length must not be found under it, and a store may refuse to look at
		// all.
		if _, err := h.Get(tooLong, nil); err == nil {
			t.Error("a key that can't be stored was found")
		}
	})
}

func TestReopens(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		if d.Kind != store.Embedded {
			t.Skip("SKIPPED: " + d.Name + " keeps nothing in its directory")
		}
		all := keys(d, 300)
		session(t, driver, c, func(s store.Store, h store.Handle) {
			for i, key := range all {
				must(t, h.Put(key, fmt.Appendf(nil, "value %d", i)))
			}
			must(t, h.Put(all[7], []byte{}))
			must(t, h.Delete(all[8]))
			must(t, s.(store.Syncer).Sync())
		})
		for _, claim := range d.Durability { // a load's class and the measured one differ
			c.Durability = claim.Class
			session(t, driver, c, func(_ store.Store, h store.Handle) {
				for i, key := range all {
					switch i {
					case 7:
						mustGet(t, h, key, []byte{})
					case 8:
						mustMiss(t, h, key)
					default:
						mustGet(t, h, key, fmt.Appendf(nil, "value %d", i))
					}
				}
			})
		}
	})
}

func session(t *testing.T, driver store.Driver, c store.Config, do func(store.Store, store.Handle)) {
	t.Helper()
	s, err := driver.Open(t.Context(), c)
	must(t, err)
	h, err := s.Handle()
	must(t, err)
	do(s, h)
	must(t, h.Close())
	must(t, s.Close())
}

func TestScansInOrder(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		_, h := drivertest.Open(t, driver, c)
		scanner, ok := h.(store.Scanner)
		if !ok {
			t.Skip("SKIPPED: " + d.Name + " has no scan")
		}
		all := keys(d, 500)
		for _, key := range all {
			must(t, h.Put(key, append([]byte("of "), key...)))
		}
		must(t, h.Delete(all[0]))
		all = all[1:]
		slices.SortFunc(all, bytes.Compare)
		for _, start := range [][]byte{nil, {}, {0x80}, all[100], append(bytes.Clone(all[100]), 0), bytes.Repeat([]byte{0xff}, 9)} {
			from, _ := slices.BinarySearchFunc(all, start, bytes.Compare)
			for _, take := range []int{1, 10, len(all) + 1} {
				want := all[from:min(from+take, len(all))]
				var got [][]byte
				must(t, scanner.Scan(start, take, func(key, value []byte) bool {
					if !bytes.Equal(value, append([]byte("of "), key...)) {
						t.Errorf("scan: %q has the value %q", key, value)
					}
					got = append(got, bytes.Clone(key))
					return len(got) < take
				}))
				if !slices.EqualFunc(got, want, bytes.Equal) {
					t.Errorf("scan from %x of %d: got %d keys, want %d", start, take, len(got), len(want))
				}
			}
		}
	})
}

func TestAppliesBatches(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		_, h := drivertest.Open(t, driver, c)
		batcher, ok := h.(store.Batcher)
		if !ok {
			t.Skip("SKIPPED: " + d.Name + " has no batch")
		}
		n := 200
		if d.BatchMax > 0 {
			n = min(n, d.BatchMax-2)
		}
		all := keys(d, n)
		must(t, h.Put(all[0], []byte("old")))
		var writes []store.Write
		for _, key := range all[1:] {
			writes = append(writes, store.Write{Key: key, Value: append([]byte("of "), key...)})
		}
		writes = append(writes, store.Write{Key: all[0], Delete: true}, store.Write{Key: all[1], Value: nil}, store.Write{Key: all[2], Delete: true})
		must(t, batcher.Apply(writes))
		must(t, batcher.Apply(nil))
		mustMiss(t, h, all[0])
		mustGet(t, h, all[1], nil) // the later of two writes of a key, and empty
		mustMiss(t, h, all[2])
		for _, key := range all[3:] {
			mustGet(t, h, key, append([]byte("of "), key...))
		}
		// One write that can't be done undoes the others, where batches are atomic.
		if !d.BatchAtomic || d.KeyBytesMax == 0 {
			return
		}
		bad := bytes.Repeat([]byte("k"), d.KeyBytesMax+1)
		if err := batcher.Apply([]store.Write{{Key: all[0], Value: []byte("new")}, {Key: bad, Value: []byte("v")}}); err == nil {
			t.Error("a batch with a key that is too long was taken")
		}
		mustMiss(t, h, all[0])
		must(t, h.Put(all[0], []byte("again"))) // and the handle is still of use
		mustGet(t, h, all[0], []byte("again"))
	})
}

func TestAddAndCompareAndSwap(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		_, h := drivertest.Open(t, driver, c)
		key := keys(d, 1)[0]
		if adder, ok := h.(store.Adder); ok {
			must(t, adder.Add(key, []byte("one")))
			if err := adder.Add(key, []byte("two")); !errors.Is(err, store.ErrConflict) {
				t.Errorf("second add: %v", err)
			}
			mustGet(t, h, key, []byte("one"))
			must(t, h.Delete(key))
		}
		swapper, ok := h.(store.CompareAndSwapper)
		if !ok {
			t.Skip("SKIPPED: " + d.Name + " has no compare-and-swap")
		}
		if err := swapper.CompareAndSwap(key, []byte("one"), []byte("two")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("swap of nothing: %v", err)
		}
		must(t, h.Put(key, []byte("one")))
		must(t, swapper.CompareAndSwap(key, []byte("one"), []byte("two")))
		if err := swapper.CompareAndSwap(key, []byte("one"), []byte("three")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of an old value: %v", err)
		}
		mustGet(t, h, key, []byte("two"))
	})
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestThreadsDoNotDisturbEachOther has each thread write keys of its own and read them back,
// through one handle where that is claimed, and handles of their own otherwise. The store is
// inspected all the while, as a worker does in a phase, which has pauses as well.
func TestThreadsDoNotDisturbEachOther(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		s, shared := drivertest.Open(t, driver, c)
		all := keys(d, 4*60)
		var threads sync.WaitGroup
		for thread := range 4 {
			h := shared
			if !d.HandlesShareable {
				var err error
				h, err = s.Handle()
				must(t, err)
				defer func() { must(t, h.Close()) }()
			}
			threads.Go(func() {
				var buf []byte
				for i := thread; i < len(all); i += 4 {
					value := bytes.Repeat([]byte{byte(i)}, 1+i*7)
					if err := h.Put(all[i], value); err != nil {
						t.Errorf("put: %v", err)
						return
					}
					got, err := h.Get(all[i], buf[:0])
					if err != nil || !bytes.Equal(got, value) {
						t.Errorf("get: %d bytes, %v", len(got), err)
						return
					}
					buf = got[:0:0]
				}
			})
		}
		written := make(chan struct{})
		go func() {
			threads.Wait()
			close(written)
		}()
		if inspector, ok := s.(store.Inspector); ok {
			for i := 0; i < 20 || !closed(written); i++ {
				time.Sleep(time.Millisecond)
				for name, value := range inspector.Inspect().Stats {
					if math.IsNaN(value) || math.IsInf(value, 0) || name != strings.ToLower(name) {
						t.Errorf("inspect: %s is %v", name, value)
					}
				}
			}
		}
		<-written
		defer func() { // closing order: the extra handles go before the store
			for i, key := range all {
				mustGet(t, shared, key, bytes.Repeat([]byte{byte(i)}, 1+i*7))
			}
		}()
	})
}

func TestTellsSettingsAndStatistics(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		s, h := drivertest.Open(t, driver, c)
		must(t, h.Put([]byte("key"), []byte("value")))
		if len(s.Settings()) == 0 {
			t.Error("no settings")
		}
		if inspector, ok := s.(store.Inspector); ok && len(inspector.Inspect().Stats) == 0 {
			t.Error("no statistics")
		}
		if syncer, ok := s.(store.Syncer); ok {
			must(t, syncer.Sync())
			mustGet(t, h, []byte("key"), []byte("value"))
		}
	})
}

func TestNullDoesNothingWithoutAllocating(t *testing.T) {
	for _, driver := range drivers.All() {
		if driver.Describe().Name != "null" {
			continue
		}
		_, h := drivertest.Open(t, driver, store.Config{})
		key, buf := []byte("key"), make([]byte, 0, 10)
		allocations := testing.AllocsPerRun(100, func() {
			value, err := h.Get(key, buf)
			if err != nil || value == nil || len(value) != 0 {
				t.Errorf("get: %v, %v", value, err)
			}
			if err := errors.Join(h.Put(key, key), h.Delete(key), h.(store.Batcher).Apply(nil)); err != nil {
				t.Error(err)
			}
		})
		if allocations != 0 {
			t.Errorf("%v allocations", allocations)
		}
		return
	}
	t.Error("no null driver")
}

// Who names a store without a TTL is told which stores have one.
func TestStoresWithATTLAreNamed(t *testing.T) {
	var names []string
	for _, d := range drivers.All() {
		if description := d.Describe(); description.Kind != store.None && description.Abilities.Expire {
			names = append(names, description.Name)
		}
		if d.Describe().Abilities.Expire != (d.Describe().Expiry != nil) {
			t.Errorf("%s: the ability expire and what it says of times do not fit", d.Describe().Name)
		}
	}
	slices.Sort(names)
	last := len(names) - 1
	if want := strings.Join(names[:last], ", ") + " and " + names[last]; experiment.Expiring != want {
		t.Errorf("named are %q, there are %q", experiment.Expiring, want)
	}
}
