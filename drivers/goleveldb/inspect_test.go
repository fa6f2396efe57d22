package goleveldb

import (
	"fmt"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/util"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// TestLevelsAreRead fills a database until it has several levels, and holds what was read of the
// library's text to what the library tells in another place.
func TestLevelsAreRead(t *testing.T) {
	driver := Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D1, map[string]string{"write_buffer_bytes": "64KiB", "table_bytes": "32KiB", "level1_bytes": "64KiB"})
	s, h := drivertest.Open(t, driver, c)
	for i := range 20_000 {
		if err := h.Put(fmt.Appendf(nil, "key %d", i*7919%20_000), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	d := s.(*db)
	if err := d.engine.CompactRange(util.Range{}); err != nil {
		t.Fatal(err)
	}
	text, err := d.engine.GetProperty("leveldb.stats")
	if err != nil {
		t.Fatal(err)
	}
	levels := parseLevels(text)
	if len(levels) == 0 {
		t.Fatalf("nothing was read of\n%s", text)
	}
	var bytes float64
	for _, l := range levels {
		tables, err := d.engine.GetProperty(fmt.Sprintf("leveldb.num-files-at-level%d", l.number))
		if err != nil || tables != fmt.Sprint(l.tables) {
			t.Errorf("level %d: read %d tables, the library says %s, %v", l.number, l.tables, tables, err)
		}
		bytes += l.bytes
	}
	if bytes == 0 || s.(store.Inspector).Inspect().Stats["written_bytes"] == 0 {
		t.Errorf("%v bytes in all levels of\n%s", bytes, text)
	}
}

func TestLevelsOfInvalidText(t *testing.T) {
	if levels := parseLevels("Compactions\n Level | Tables\n---+---\n"); len(levels) != 0 {
		t.Errorf("read %v", levels)
	}
}
