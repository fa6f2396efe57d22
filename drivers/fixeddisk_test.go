package drivers_test

import (
	"testing"
	"time"

	"assay/internal/evidence/host"
	"assay/store"
)

// What a driver says that its store sets aside on disk is what there is with one small record, give
// or take half.
func TestFixedDiskBytesAreAsMeasured(t *testing.T) {
	each(t, func(t *testing.T, driver store.Driver, c store.Config) {
		d := driver.Describe()
		if d.Kind != store.Embedded {
			if d.FixedDiskBytes != 0 {
				t.Errorf("a store without files claims %d bytes of disk", d.FixedDiskBytes)
			}
			return
		}
		opened, err := driver.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		h, err := opened.Handle()
		if err != nil {
			t.Fatal(err)
		}
		put := func() {
			if err := h.Put([]byte("a key of 16 byte"), make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
		}
		for range puts {
			put()
		}
		claimed := uint64(d.FixedDiskBytes)
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // a log may be written by a thread of its own, which wakes with the next put
			put()
			measured, _, err := host.DiskUse(c.Directory)
			if err != nil {
				t.Fatal(err)
			}
			if measured <= claimed*3/2+blocks && claimed <= measured*3/2+blocks {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d bytes on disk, the driver says %d", measured, claimed)
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
}

// puts are as many as it takes for a log to be laid out in advance, and few enough for what they
// log to vanish beside blocks. blocks is also for what a file system rounds up.
const puts, blocks = 1000, 128 << 10
