package host

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A counter that is true is taken; one that is not is refused, with what it counts.
func TestWriteCountIsChecked(t *testing.T) {
	const written = probePages * probePageBytes
	for _, c := range []struct {
		name  string
		grows uint64
		fails error
		why   string // a part of it; "": none
	}{
		{"true", written, nil, ""},
		{"true, with a page of metadata", written + 4096, nil, ""},
		{"large folios", 256 * written, nil, "256 bytes here for each"},
		{"half as much again", written * 3 / 2, nil, "1.5 bytes here for each"},
		{"in memory", 0, nil, "in memory"},
		{"can't be read", 0, errors.New("the moon"), "the moon"},
	} {
		var reading uint64
		directory := t.TempDir()
		perByte, why := checkWriteCount(directory, func() (uint64, error) {
			reading++
			return 1000 + (reading-1)*c.grows, c.fails
		})
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", c.name, why, c.why)
		}
		if (perByte == nil) != (c.fails != nil) || perByte != nil && *perByte != float64(c.grows)/written {
			t.Errorf("%s: %v bytes for each", c.name, perByte)
		}
		if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", c.name, left, err)
		}
	}
	if perByte, why := CheckWriteCount(filepath.Join(t.TempDir(), "nowhere")); perByte != nil || why == "" {
		t.Errorf("where nothing can be written: %v, %q", perByte, why)
	}
}

// The probe's own positions must be distinct pages: one that comes twice in a folio that is still
// dirty is charged once.
func TestProbeWritesEachPageOnce(t *testing.T) {
	seen := map[int]bool{}
	for i := range probePages {
		seen[i*probePageStep%(probeChunks*probeChunkBytes/probePageBytes)] = true
	}
	if len(seen) != probePages {
		t.Errorf("%d pages for %d writes", len(seen), probePages)
	}
}

// Where files are in memory nothing of them is charged, and the kernel's own counter, not a faked one,
// must be refused. A page or two of something else may be charged meanwhile: seen once.
func TestWriteCountInMemory(t *testing.T) {
	directory := filepath.Join("/dev", "shm")
	var stat unix.Statfs_t
	if err := unix.Statfs(directory, &stat); err != nil || stat.Type != unix.TMPFS_MAGIC {
		t.Skip("no tmpfs there")
	}
	if perByte, why := CheckWriteCount(directory); perByte == nil || *perByte > 0.25 || !strings.Contains(why, "in memory") {
		t.Errorf("%v, %q", perByte, why)
	}
}

// loopMount mounts a file system of its own for a test; it skips one where that can't be done.
func loopMount(t *testing.T) QuotaMount {
	t.Helper()
	q := QuotaMount{By: QuotaLoop, Directory: t.TempDir(), Bytes: 64 << 20}
	t.Cleanup(func() {
		if err := q.Unmount(); err != nil {
			t.Error(err)
		}
	})
	if err := q.Mount(); err != nil {
		t.Skipf("no loop device: %v", err)
	}
	return q
}

// Whatever a kernel charges to the process, a trial's own disk counts what it was sent.
func TestOwnDiskCountsWhatIsWritten(t *testing.T) {
	q := loopMount(t)
	disk, err := NewOwnDisk(q.Point())
	if err != nil {
		t.Fatal(err)
	}
	written := func() uint64 {
		bytes, err := disk.Written()
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	file, err := os.Create(filepath.Join(q.Point(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const fileBytes, pages, page = 4 << 20, 64, 4096
	random := make([]byte, fileBytes)
	rand.Read(random)
	if _, err := file.Write(random); err != nil {
		t.Fatal(err)
	}
	const fieldsWithFlushes = 17 // since Linux 5.5
	fields := 0
	flushes := func() uint64 {
		stat, n, err := disk.stats.SysBlockDeviceStat(disk.disk)
		if err != nil {
			t.Fatal(err)
		}
		fields = n
		return stat.FlushRequestsCompleted
	}
	begin, flushed := written(), flushes()
	if begin < fileBytes {
		t.Errorf("%d bytes were written, the disk says %d", fileBytes, begin)
	}
	for i := range pages {
		if _, err := file.WriteAt(random[1:1+page], int64(i)*fileBytes/pages); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fdatasync(int(file.Fd())); err != nil {
			t.Fatal(err)
		}
	}
	const metadataMax = 512 << 10 // journal and inodes
	if grew := flushes() - flushed; fields >= fieldsWithFlushes && (grew < pages || grew > 2*pages) {
		t.Errorf("%d syncs are %d flushes", pages, grew)
	}
	if grew := written() - begin; grew < pages*page || grew > pages*page+metadataMax {
		t.Errorf("%d bytes were written, the disk says %d", pages*page, grew)
	}
	begin = written()
	if _, err := file.WriteAt(random[:page], 0); err != nil { // without a sync: Written does it
		t.Fatal(err)
	}
	if grew := written() - begin; grew < page {
		t.Errorf("%d bytes wait in the page cache, and the disk says %d", page, grew)
	}
}

func TestNoOwnDiskInMemory(t *testing.T) {
	if disk, err := NewOwnDisk("/proc"); err == nil {
		t.Errorf("/proc is on %s", disk.disk)
	}
}

// What is read from the storage layer is charged when a request is made, and by its size: large
// folios do no harm to it. Readahead may read more than was asked for, and does read it.
func TestReadCountIsTrue(t *testing.T) {
	q := loopMount(t)
	path := filepath.Join(q.Point(), "file")
	random := make([]byte, 8<<20)
	rand.Read(random)
	if err := os.WriteFile(path, random, 0o600); err != nil {
		t.Fatal(err)
	}
	disk, err := NewOwnDisk(q.Point())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Written(); err != nil {
		t.Fatal(err)
	}
	if left, err := DropPages(q.Point()); err != nil || left.ResidentBytes > 0 {
		t.Skipf("pages stay: %+v, %v", left, err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	counts := func() (charged, read uint64) {
		io, err := threadIO()
		if err != nil {
			t.Fatal(err)
		}
		stat, _, err := disk.stats.SysBlockDeviceStat(disk.disk)
		if err != nil {
			t.Fatal(err)
		}
		return io.ReadBytes, stat.ReadSectors * sectorBytes
	}
	chargedBefore, readBefore := counts()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := range 64 {
		if _, err := file.ReadAt(random[:4096], int64(i*389%2048)*4096); err != nil {
			t.Fatal(err)
		}
	}
	charged, read := counts()
	charged, read = charged-chargedBefore, read-readBefore
	t.Logf("64 pages of 4096 bytes: the kernel counts %d, the disk %d", charged, read)
	if charged < 64*4096 || float64(charged) < 0.9*float64(read) || float64(charged) > 1.1*float64(read) {
		t.Errorf("the kernel counts %d bytes read, the disk %d", charged, read)
	}
}
