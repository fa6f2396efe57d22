package recordtest

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Damage does something to a file of a run directory, as a disk, an editor or a careless copy does, and says
// what. The same seed does the same.
func Damage(t testing.TB, directory string, seed uint64) (what string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	var files []string
	err := filepath.WalkDir(directory, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", directory, err)
	}
	file := files[r.IntN(len(files))]
	name, err := filepath.Rel(directory, file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := func() int { return r.IntN(len(data) + 1) }
	from := at()
	until := from + r.IntN(len(data)-from+1)
	kind := ""
	switch r.IntN(8) {
	case 0:
		kind, data = "cut", data[:from]
	case 1:
		kind, data = "zeros", append(append(append([]byte(nil), data[:from]...), make([]byte, until-from)...), data[until:]...)
	case 2:
		kind, data = "a part twice", append(append(append([]byte(nil), data[:until]...), data[from:until]...), data[until:]...)
	case 3:
		kind, data = "a part left out", append(append([]byte(nil), data[:from]...), data[until:]...)
	case 4:
		kind = "bits"
		for range 1 + r.IntN(8) {
			if len(data) > 0 {
				data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			}
		}
	case 5:
		kind = "digits"
		for range 1 + r.IntN(8) {
			for i, n := at(), 0; n < len(data); n++ {
				if c := &data[(i+n)%len(data)]; *c >= '0' && *c <= '9' {
					*c = '0' + byte(r.IntN(10))
					break
				}
			}
		}
	case 6:
		kind = "removed"
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		return kind + " " + name
	case 7:
		kind = "another file's text"
		if data, err = os.ReadFile(files[r.IntN(len(files))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s in %s from byte %d to %d", kind, name, from, until)
}

// DamagesOf is how many damaged directories a test looks at: a thousand in the long tests.
func DamagesOf() uint64 {
	if os.Getenv("ASSAY_LONG") != "" {
		return 1000
	}
	return 40
}
