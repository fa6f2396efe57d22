package drivers_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// Lanes take records with columns apart, and put them together, as handles do: those of one read what
// those of the other wrote, also where columns are in one document.
func TestSQLLanesHaveColumns(t *testing.T) {
	columns := []store.Column{{Name: "n", Type: store.IntegerColumn}, {Name: "t", Type: store.TextColumn}, {Name: "b", Type: store.BytesColumn}}
	record := func(n, text, b string) (r []byte) {
		for _, column := range []string{n, text, b} {
			r = store.AppendColumn(r, []byte(column))
		}
		return r
	}
	for _, form := range []struct{ driver, option, value string }{
		{"postgres", "client", "lean"}, {"postgres", "columns_as", "jsonb"}, {"mariadb", "client", "lean"},
	} {
		t.Run(form.driver+"/"+form.value, func(t *testing.T) {
			driver, err := driverNamed(form.driver)
			must(t, err)
			d := driver.Describe()
			c := drivertest.Config(t, d, store.D0, map[string]string{form.option: form.value})
			serve(t, d, &c)
			s, err := driver.Open(t.Context(), c)
			must(t, err)
			must(t, s.(store.Definer).Define(columns, nil, nil))
			h, err := s.Handle()
			must(t, err)
			t.Cleanup(func() { must(t, errors.Join(h.Close(), s.Close())) })
			lane := drivertest.Async(t, s)
			key := []byte("key")
			for _, r := range [][]byte{
				record("0", "", ""), record("-9223372036854775808", "é, words", "\x00\xff\r\n"), record("9223372036854775807", "t", string(make([]byte, 300))),
			} {
				must(t, lane.Put(key, r))
				mustGet(t, h, key, r)
				mustGet(t, lane, key, r)
				must(t, lane.(store.CompareAndSwapper).CompareAndSwap(key, r, record("7", "swapped", "b")))
				mustGet(t, h, key, record("7", "swapped", "b"))
				if err := lane.(store.CompareAndSwapper).CompareAndSwap(key, r, r); !errors.Is(err, store.ErrConflict) {
					t.Errorf("swap of another record: %v", err)
				}
			}
			for _, bad := range [][]byte{nil, []byte("no record"), record("x", "t", "b"), slices.Concat(record("1", "t", "b"), []byte{0})} {
				if err := lane.Put(key, bad); err == nil {
					t.Errorf("took %q", bad)
				}
			}
			mustGet(t, lane, key, record("7", "swapped", "b"))
			must(t, lane.Delete(key))
			must(t, lane.(store.Batcher).Apply([]store.Write{{Key: key, Value: record("1", "a", "")}, {Key: []byte("other"), Value: record("2", "b", "")}}))
			if got, err := h.Get([]byte("other"), nil); err != nil || !bytes.Equal(got, record("2", "b", "")) {
				t.Errorf("got %q, %v", got, err)
			}
			must(t, lane.(store.Batcher).Apply([]store.Write{{Key: key, Delete: true}, {Key: []byte("other"), Delete: true}}))
		})
	}
}
