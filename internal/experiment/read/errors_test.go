package read_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/experiment/read"
	"assay/internal/testkit/golden"
)

// Each testdata/errors/NAME.yaml has one mistake; NAME.txt is the error, word for word.
// Lines that begin with "# --set " are flags.
func TestErrorsSayWhatAndWhere(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files of mistakes (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var sets []string
			for line := range strings.Lines(string(text)) {
				if set, ok := strings.CutPrefix(line, "# --set "); ok {
					sets = append(sets, strings.TrimSuffix(set, "\n"))
				}
			}
			_, err = read.Load(text, filepath.Base(file), sets, fakeDrivers())
			if err == nil {
				t.Fatal("no error")
			}
			checkPlaced(t, err)
			golden.Check(t, "errors/"+strings.TrimSuffix(filepath.Base(file), ".yaml")+".txt", err.Error()+"\n")
		})
	}
}
