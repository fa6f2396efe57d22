package recording

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/experiment/keyval"
)

// Each key gets an index of its own length, in the order of first sight; where a length has none left, of the
// nearest.
func TestPlaces(t *testing.T) {
	stretches := []keyval.Stretch{{Bytes: 5}, {From: 2, Bytes: 9}, {From: 4, Bytes: 5, First: 2}, {From: 5, Bytes: 7}}
	p, n := NewPlaces(stretches, 9), NewNumbering()
	var got []uint32
	for i, bytes := range []uint16{5, 9, 5, 4, 0, 5, 200} {
		id, isNew, err := n.NumberIn(p, uint64(100+i), bytes)
		if err != nil || !isNew {
			t.Fatal(id, isNew, err)
		}
		if again, isNew, _ := n.NumberIn(p, uint64(100+i), bytes); again != id || isNew {
			t.Errorf("key %d has the numbers %d and %d", i, id, again)
		}
		got = append(got, id)
	}
	if want := "[0 2 1 4 3 5 6]"; fmt.Sprint(got) != want {
		t.Errorf("%v, expected %s", got, want)
	}
}

func TestLengthsOfKeysAreCountedByCuts(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,key,key_size\n")
	for i, bytes := range []string{"5", "9", "5", "", "300", "9"} {
		fmt.Fprintf(&text, "%d,key%d,%s\n", i, i, bytes)
	}
	file := filepath.Join(t.TempDir(), "r.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := Selection{File: file}.Summarize(nil, 3, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(sum.KeyLengths); got != "[{0 [0 1 0]} {5 [2 0 0]} {9 [1 1 0]} {300 [0 1 0]}]" ||
		sum.KeyBytesMin != 5 || sum.KeyBytesMax != 300 || sum.KeyBytesMean != 65.6 {
		t.Errorf("%s, %d to %d, mean %v", got, sum.KeyBytesMin, sum.KeyBytesMax, sum.KeyBytesMean)
	}
}
