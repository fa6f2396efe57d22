package host

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Two packages, one with a part of its own, and psys, which counts both packages again.
func TestEnergy(t *testing.T) {
	r := roots{t.TempDir(), t.TempDir()}
	set := func(zone, name, used string) {
		t.Helper()
		at := filepath.Join(r.sys, "class", "powercap", zone)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"name": name, "energy_uj": used, "max_energy_range_uj": "1000000000"} {
			if err := os.WriteFile(filepath.Join(at, file), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	set("intel-rapl:0", "package-0", "100000000")
	set("intel-rapl:0:0", "core", "100000000")
	set("intel-rapl:1", "package-1", "990000000")
	set("intel-rapl:2", "psys", "0")
	before := readEnergy(r)
	set("intel-rapl:0", "package-0", "160000000") // 60 J
	set("intel-rapl:0:0", "core", "150000000")
	set("intel-rapl:1", "package-1", "10000000") // 20 J, past its end
	set("intel-rapl:2", "psys", "90000000")
	if watts := before.Since(readEnergy(r), 4); watts == nil || math.Abs(*watts-20) > 1e-9 {
		t.Errorf("%v W, expected 80 J in 4 s", watts)
	}
	if err := os.Remove(filepath.Join(r.sys, "class", "powercap", "intel-rapl:1", "energy_uj")); err != nil {
		t.Fatal(err)
	}
	if watts := before.Since(readEnergy(r), 4); watts != nil {
		t.Errorf("%v W although a package is not told any more", *watts)
	}
	none := readEnergy(roots{t.TempDir(), t.TempDir()})
	if watts := none.Since(none, 4); watts != nil {
		t.Errorf("%v W of a machine without RAPL", *watts)
	}
}
