package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/store"
)

// RefusesAlone holds a store's lanes to errors that end with their operation, in a pipeline and in a
// batch: its server refuses the value "refused" with a text that has word.
func RefusesAlone(t *testing.T, s store.Store, word string) {
	t.Helper()
	EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
		loop, err := s.(store.Asynchronous).Loop(1, depth)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := loop.Close(); err != nil {
				t.Error(err)
			}
		})
		pin(t, loop)
		refusesOne(t, loop, word)
		refusesBatch(t, loop, word)
	})
}

const depth = 16

func laneKey(i int) []byte { return fmt.Appendf(nil, "key-%02d", i) }

// reapAll returns what so many operations of a loop's lane end with.
func reapAll(t *testing.T, loop store.Loop, operations int) (values []string, errs []error) {
	t.Helper()
	for len(errs) < operations {
		if err := loop.Reap(time.Second, func(_ int, value []byte, err error) {
			values, errs = append(values, string(value)), append(errs, err)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return values, errs
}

func refusesOne(t *testing.T, loop store.Loop, word string) {
	t.Helper()
	value := func(i int) string {
		if i%3 == 1 {
			return "refused"
		}
		return fmt.Sprint("value ", i)
	}
	for i := range depth {
		loop.Submit(0, &store.Request{Operation: store.OpPut, Key: laneKey(i), Value: []byte(value(i))})
	}
	_, errs := reapAll(t, loop, depth)
	for i, err := range errs {
		if (err != nil) != (i%3 == 1) || err != nil && !strings.Contains(err.Error(), word) {
			t.Errorf("put %d: %v", i, err)
		}
	}
	for i := range depth {
		loop.Submit(0, &store.Request{Operation: store.OpGet, Key: laneKey(i)})
	}
	values, errs := reapAll(t, loop, depth)
	for i, err := range errs {
		if i%3 == 1 && !errors.Is(err, store.ErrNotFound) || i%3 != 1 && (err != nil || values[i] != value(i)) {
			t.Errorf("get %d: %q, %v", i, values[i], err)
		}
	}
}

// refusesBatch has a batch refused at each place, and then done.
func refusesBatch(t *testing.T, loop store.Loop, word string) {
	t.Helper()
	apply := func(writes []store.Write) error {
		loop.Submit(0, &store.Request{Operation: store.OpApply, Writes: writes})
		_, errs := reapAll(t, loop, 1)
		return errs[0]
	}
	get := func(i int) (string, error) {
		loop.Submit(0, &store.Request{Operation: store.OpGet, Key: laneKey(i)})
		values, errs := reapAll(t, loop, 1)
		return values[0], errs[0]
	}
	writes := []store.Write{{Key: laneKey(0), Value: []byte("new")}, {Key: laneKey(2), Delete: true}, {Key: laneKey(3), Value: []byte("new")}}
	for at := range len(writes) + 1 {
		bad := slices.Insert(slices.Clone(writes), at, store.Write{Key: laneKey(1), Value: []byte("refused")})
		if err := apply(bad); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("a batch that is refused at %d: %v", at, err)
		}
		for _, i := range []int{0, 2, 3} {
			if value, err := get(i); err != nil || value != fmt.Sprint("value ", i) {
				t.Errorf("after a batch that was refused at %d: get %d: %q, %v", at, i, value, err)
			}
		}
		if err := apply(bad[at : at+1]); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("a batch of one that is refused: %v", err)
		}
	}
	if err := apply(writes); err != nil {
		t.Error(err)
	}
	for i, want := range map[int]string{0: "new", 3: "new"} {
		if value, err := get(i); err != nil || value != want {
			t.Errorf("after a batch: get %d: %q, %v", i, value, err)
		}
	}
	if value, err := get(2); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a batch: %q, %v", value, err)
	}
}
