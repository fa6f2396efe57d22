package nullstore_test

import (
	"errors"
	"testing"

	"assay/drivers/nullstore"
	"assay/store"
)

// What the null driver costs is taken for what Assay costs.
func TestOperationsAllocateNothing(t *testing.T) {
	s, err := nullstore.Driver{}.Open(t.Context(), store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
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
	if err := errors.Join(h.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}
