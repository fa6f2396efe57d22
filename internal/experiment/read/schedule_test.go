package read_test

import (
	"strings"
	"testing"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
)

func TestScheduleOfAFile(t *testing.T) {
	const file = "name: x\nstores: [bbolt]\nphases: [{name: load, load: true}, {name: read, mix: {read: 1}, for: 1s}]\n"
	for _, c := range []struct {
		fields string
		want   experiment.Schedule
	}{
		{"", experiment.Schedule{Blocks: 3, Repeats: 2}},
		{"blocks: 5\nrepeats: 0", experiment.Schedule{Blocks: 5}},
		{"blocks: auto", experiment.Schedule{Blocks: 3, BlocksMax: 10, Smallest: 0.1, Repeats: 2}},
		{"blocks: auto\nblocks_max: 4\nsmallest: 0.2", experiment.Schedule{Blocks: 3, BlocksMax: 4, Smallest: 0.2, Repeats: 2}},
		{"smallest: 5 %", experiment.Schedule{Blocks: 3, BlocksMax: 10, Smallest: 0.05, Repeats: 2}},
		{"time: 5m", experiment.Schedule{Blocks: 3, BlocksMax: 10, Smallest: 0.1, Repeats: 2, Time: 5 * time.Minute}},
		{"time: 5m\nblocks: 4", experiment.Schedule{Blocks: 4, Repeats: 2, Time: 5 * time.Minute}},
		{"time: 5m\nblocks: 4\nblocks_max: 9", experiment.Schedule{Blocks: 4, BlocksMax: 9, Repeats: 2, Time: 5 * time.Minute}},
		{"detect: 5%", experiment.Schedule{Blocks: 5, BlocksMax: 30, Detect: 0.05, Repeats: 2}},
		{"detect: 0.1\nblocks: 5\nblocks_max: 12\ntime: 5m", experiment.Schedule{Blocks: 5, BlocksMax: 12, Detect: 0.1, Repeats: 2, Time: 5 * time.Minute}},
		{"blocks: 4\nsmallest: 20%", experiment.Schedule{Blocks: 4, Repeats: 2}},
	} {
		e := mustLoad(t, file+c.fields)
		if got := e.Schedule; got.Blocks != c.want.Blocks || got.BlocksMax != c.want.BlocksMax ||
			got.Smallest != c.want.Smallest || got.Detect != c.want.Detect ||
			got.Time != c.want.Time || got.Repeats != c.want.Repeats || got.Layout != nil {
			t.Errorf("%q: %+v, want %+v", c.fields, got, c.want)
		}
	}
	for fields, says := range map[string]string{
		"smallest: 2%": "a share from 3% to below 100%", "smallest: 100%": "a share", "blocks: some": "auto or a whole number",
		"detect: 1%": "a share from 3%", "detect: 5%\nsmallest: 5%": "detect chooses", "detect: 5%\nblocks: 2": "at least 5", "detect: 5%\nblocks_max: 4": "must be 5 to",
		"time: soon": "a duration", "blocks_max: 2": "must be 3 to 1000", "time: 0s": "a duration",
	} {
		if _, err := read.Load([]byte(file+fields), "x.yaml", nil, fakeDrivers()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q in it", fields, err, says)
		}
	}
}
