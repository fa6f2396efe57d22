package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

var columns = []store.Column{{Name: "name", Type: store.TextColumn}, {Name: "group", Type: store.IntegerColumn}, {Name: "body", Type: store.BytesColumn}}

const byGroup = 0

var queries = []store.Query{byGroup: {Where: [][]store.Condition{{{Column: 1, Is: store.Equal}}}, Sort: -1,
	Limit: 100, Columns: []int{0, 1, 2}}}

func recordOf(columns ...string) []byte {
	var record []byte
	for _, column := range columns {
		record = store.AppendColumn(record, []byte(column))
	}
	return record
}

func defined(t interface{ Fatal(...any) }, indexes ...store.Index) tableHandle {
	s, err := Driver{}.Open(context.Background(), store.Config{Durability: store.D0})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.(store.Definer).Define(columns, indexes, queries); err != nil {
		t.Fatal(err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
	return h.(tableHandle)
}

// Any writes leave what a plain map holds, through each operation that writes.
func TestTableHoldsWhatAMapHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := defined(t, store.Index{Column: 1, Kind: store.OrderedIndex})
		model := map[string][]string{}
		few := rapid.SampledFrom([]string{"", "a", "b", "cc"})
		for range rapid.IntRange(0, 60).Draw(t, "writes") {
			key, value := few.Draw(t, "key"), []string{few.Draw(t, "name"), rapid.SampledFrom([]string{"0", "1"}).Draw(t, "group"), few.Draw(t, "body")}
			record := recordOf(value...)
			var err error
			switch old, there := model[key]; rapid.IntRange(0, 4).Draw(t, "operation") {
			case 0:
				err = h.Delete([]byte(key))
				delete(model, key)
			case 1:
				err = h.Add([]byte(key), record)
				if there != errors.Is(err, store.ErrConflict) {
					t.Fatalf("an add where there is a record (%v): %v", there, err)
				}
				if there {
					err = nil
				} else {
					model[key] = value
				}
			case 2:
				err = h.CompareAndSwap([]byte(key), recordOf("a", "1", "b"), record)
				switch {
				case !there && errors.Is(err, store.ErrNotFound), there && !slices.Equal(old, []string{"a", "1", "b"}) && errors.Is(err, store.ErrConflict):
					err = nil
				default:
					model[key] = value
				}
			default:
				err = h.Put([]byte(key), record)
				model[key] = value
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		groups := map[string]uint64{"0": 0, "1": 0}
		for _, key := range []string{"", "a", "b", "cc"} {
			got, err := h.Get([]byte(key), nil)
			expected, there := model[key]
			if there && (err != nil || string(got) != string(recordOf(expected...))) || !there && !errors.Is(err,
				store.ErrNotFound) {
				t.Fatalf("get %q: %q, %v, expected %q", key, got, err, expected)
			}
			if there {
				groups[expected[1]]++
			}
		}
		for group, expected := range groups {
			if n, err := h.Count(byGroup, [][]byte{[]byte(group)}); err != nil || n != expected {
				t.Fatalf("counted %d records of group %s, %v, expected %d", n, group, err, expected)
			}
		}
		if records, _ := h.inspect(); records != len(model) {
			t.Fatalf("%d records, expected %d", records, len(model))
		}
	})
}

func TestQueriesAgainstAModel(t *testing.T) {
	for name, indexes := range map[string][]store.Index{
		"no indexes": nil,
		"indexes":    {{Column: 0, Kind: store.OrderedIndex}, {Column: 1, Kind: store.OrderedIndex}, {Column: 2, Kind: store.TokenIndex}, {Column: 2, Kind: store.OrderedIndex}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Driver{}.Open(t.Context(), store.Config{Durability: store.D0})
			if err != nil {
				t.Fatal(err)
			}
			drivertest.CheckQueries(t, s, indexes)
		})
	}
}

// Threads that move the same records between two groups leave each in one of them.
func TestIndexUnderConcurrentWrites(t *testing.T) {
	h := defined(t, store.Index{Column: 1, Kind: store.OrderedIndex})
	const keys = 7
	var threads sync.WaitGroup
	for thread := range 4 {
		threads.Go(func() {
			for i := range 2000 {
				key := fmt.Append(nil, i%keys)
				if err := h.Put(key, recordOf("n", fmt.Sprint((i+thread)%2), "b")); err != nil {
					t.Error(err)
				}
				if err := h.Query(byGroup, [][]byte{[]byte("1")}, func(_, record []byte) bool {
					if string(record) != string(recordOf("n", "1", "b")) {
						t.Errorf("a query for group 1 found %q", record)
					}
					return true
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	threads.Wait()
	zero, err := h.Count(byGroup, [][]byte{[]byte("0")})
	one, err2 := h.Count(byGroup, [][]byte{[]byte("1")})
	if err != nil || err2 != nil || zero+one != keys {
		t.Errorf("%d and %d records in two groups, expected %d in both: %v, %v", zero, one, keys, err, err2)
	}
}

func TestQueriesWithoutADefinitionAreRefused(t *testing.T) {
	s, err := Driver{}.Open(t.Context(), store.Config{Durability: store.D0})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.(store.Querier).Query(0, nil, nil); err == nil {
		t.Error("a query without columns was done")
	}
	if _, err := h.(store.Counter).Count(0, nil); err == nil {
		t.Error("a count without columns was done")
	}
	d := defined(t)
	for _, record := range [][]byte{nil, recordOf("a", "1"), recordOf("a", "1", "b", "c"), recordOf("a", "1", "b")[:7]} {
		if err := d.Put([]byte("k"), record); err == nil {
			t.Errorf("%q was put as a record", record)
		}
	}
}

// Both kinds of handles have the same abilities: a store is probed once, before columns are defined.
func TestAbilitiesOfBothHandles(t *testing.T) {
	plain, withColumns := store.Probe((*db)(nil), (*handle)(nil)), store.Probe((*db)(nil), tableHandle{})
	plain.Expire, plain.MultiGet = false, false // not used on records with columns
	plain.Touch, plain.Append, plain.GetAndSet = false, false, false
	if plain != withColumns || !plain.Records || !plain.Query || !plain.Count {
		t.Errorf("%v and %v", plain.List(), withColumns.List())
	}
}
