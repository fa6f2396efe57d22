package drivers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/drivers"
	"assay/internal/experiment"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// What holds of each driver by the contract is held by the conformance kit (storetest.TestDrivers). The
// tests of this package look at the list, and at what the kit can't: keys, values and batches that no
// trace has, libraries' own defaults, and what several servers' drivers have in common.

func TestDriversAreSortedByName(t *testing.T) {
	var names []string
	for _, driver := range drivers.All() {
		names = append(names, driver.Describe().Name)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names are not sorted or not unique: %v", names)
	}
}

// An experiment with a TTL on a store without one is refused, and the error names the stores with one.
func TestStoresWithATTLAreNamed(t *testing.T) {
	var names []string
	for _, driver := range drivers.All() {
		if d := driver.Describe(); d.Kind != store.None && d.Abilities.Expire {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	last := len(names) - 1
	if want := strings.Join(names[:last], ", ") + " and " + names[last]; experiment.Expiring != want {
		t.Errorf("named are %q, there are %q", experiment.Expiring, want)
	}
}

// each runs a test for every driver that stores something, in its weakest class.
func each(t *testing.T, test func(t *testing.T, driver store.Driver, c store.Config)) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		t.Run(d.Name, func(t *testing.T) {
			if d.Kind == store.None {
				t.Skip("SKIPPED: the null driver stores nothing")
			}
			if strings.Contains(d.Note, "race detector") && d.Abilities == (store.Abilities{}) {
				t.Skip("SKIPPED: " + d.Note)
			}
			c := drivertest.Config(t, d, d.Durability[0].Class, nil)
			if d.Kind == store.Server {
				serve(t, d, &c)
			}
			test(t, driver, c)
		})
	}
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

// Values of a trace are cut from a pool: these have what protocols take for an end, or for nothing.
func TestValuesOfAnyBytes(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		_, h := drivertest.Open(t, driver, c)
		d := driver.Describe()
		key := keys(d, 1)[0]
		long := bytes.Repeat([]byte{0, 255, '\r', '\n', 'E', 'N', 'D', '\r', '\n'}, 20_000)
		for _, value := range [][]byte{[]byte("first"), {}, nil, {0}, long, []byte("\r\nEND\r\n")} {
			if len(value) < d.ValueBytesMin || d.ValueBytesMax > 0 && len(value) > d.ValueBytesMax {
				continue
			}
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
	})
}

// A key of a trace has a byte at least, and all keys have one longest length.
func TestKeysAtTheirLimits(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		_, h := drivertest.Open(t, driver, c)
		value := []byte("value")
		if err := h.Put([]byte{}, value); d.KeyBytesMin > 0 {
			if err == nil {
				t.Error("the empty key was taken")
			}
		} else {
			must(t, err)
			mustGet(t, h, []byte{}, value)
			mustGet(t, h, nil, value)
			must(t, h.Delete([]byte{}))
			mustMiss(t, h, []byte{})
		}
		if d.KeyBytesMax == 0 {
			return
		}
		longest := bytes.Repeat([]byte("k"), d.KeyBytesMax)
		must(t, h.Put(longest, value))
		mustGet(t, h, longest, value)
		// A key of another length must not be found under it, and a store may refuse to look at all.
		if _, err := h.Get(append(longest, 'k'), nil); err == nil {
			t.Error("a key that can't be stored was found")
		}
		must(t, h.Delete(longest))
		mustMiss(t, h, longest)
	})
}

// One write that can't be done undoes the others of an atomic batch. A trace has keys of which all or
// none can be stored.
func TestAtomicBatchesAreDoneWholeOrNotAtAll(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		_, h := drivertest.Open(t, driver, c)
		batcher, ok := h.(store.Batcher)
		if !ok || !d.BatchAtomic || d.KeyBytesMax == 0 {
			t.Skip("SKIPPED: no atomic batches, or no key that can't be stored")
		}
		key := keys(d, 1)[0]
		must(t, batcher.Apply(nil))
		bad := bytes.Repeat([]byte("k"), d.KeyBytesMax+1)
		if err := batcher.Apply([]store.Write{{Key: key, Value: []byte("new")}, {Key: bad, Value: []byte("v")}}); err == nil {
			t.Error("a batch with a key that is too long was taken")
		}
		mustMiss(t, h, key)
		must(t, h.Put(key, []byte("again"))) // and the handle is still of use
		mustGet(t, h, key, []byte("again"))
		must(t, h.Delete(key))
	})
}
