package detect_test

import (
	"math"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/testkit/resulttest"
)

// What a binding costs is the difference of the times of an operation, where the arms differ by more
// than their noise and are of one engine. The second arm takes twice the first one's time.
func TestDetectBindingCost(t *testing.T) {
	for _, c := range []struct {
		name, engine, bound string
		faster              float64 // than it is built, the second arm
		library             string  // the library that it loads
		says, ends          string  // "": nothing is found
	}{
		{"from Java", "rocksdb", "rocksdb-java", 1, "", "Called from Java, elm takes ", "another build of the engine."},
		{"from Java, the same library", "lmdb", "lmdb-java", 1, "liblmdb.so", "Called from Java, elm takes ", ")."},
		{"from Go", "sqlite-c", "sqlite", 1, "", "Called from Go, elm takes ", "translated to Go."},
		{"no difference", "rocksdb", "rocksdb-java", 2, "", "", ""},
		{"another engine", "lmdb", "rocksdb-java", 1, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := resulttest.CleanRun()
			run.Experiment.Stores[0].Driver, run.Experiment.Stores[1].Driver = c.engine, c.bound
			if c.library != "" {
				run.Experiment.Stores[1].Options = map[string]string{"native_library": c.library}
			}
			resulttest.Slow(run, "elm", c.faster)
			f := resulttest.Find(resulttest.ResultOf(t, run), finding.BindingCost)
			if (f != nil) != (c.says != "") {
				t.Fatalf("%+v", f)
			}
			if f == nil {
				return
			}
			ns, share, low, high := f.Message.Number("ns"), f.Message.Number("share"), f.Message.Number("low_ns"), f.Message.Number("high_ns")
			threadNS := 1e9 * float64(run.Experiment.Cells[0].Threads)
			inPut, inGet := threadNS/200e3, threadNS/300e3 // of a thread, from C
			if math.Abs(share-1) > 0.1 || low > ns || high < ns || math.Abs(ns/share/inPut-1) > 0.1 &&
				math.Abs(ns/share/inGet-1) > 0.1 {
				t.Errorf("%+v", f)
			}
			if text := finding.Text(f.Message); !strings.HasPrefix(text, c.says) || !strings.HasSuffix(text, c.ends) || !strings.Contains(text, " more (") || !strings.Contains(text, "oak, the same engine called from C") {
				t.Error(text)
			}
		})
	}
}
