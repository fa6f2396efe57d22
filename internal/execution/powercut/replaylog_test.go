package powercut

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// replayLog runs the tool of the kernel's dm-log-writes.
func replayLog(t *testing.T, log string, arguments ...string) string {
	t.Helper()
	output, err := exec.Command("replay-log", append([]string{"--log", log}, arguments...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("replay-log %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// The kernel's own tool reads the log of a real ext4 that the rig has recorded, and makes of it the same
// disk, byte for byte: at its end and at flushes in its middle. What is forced and what is zeroed, which an
// ext4 on a loop device seldom is, stands in a second log.
func TestReplayLogMakesTheSame(t *testing.T) {
	if _, err := exec.LookPath("replay-log"); err != nil {
		t.Skip("SKIPPED: replay-log is not installed (it is of the project log-writes, by the author of the kernel's dm-log-writes)")
	}
	t.Run("a real file system", func(t *testing.T) {
		const size = 512 << 20
		r := started(t, DefaultFileSystem)
		must(t, r.New("disk", size))
		must(t, r.Mount("disk"))
		random := rand.New(rand.NewPCG(1, 1))
		for n := range 40 {
			written(t, filepath.Join(r.Point(), fmt.Sprint("file-", n)), strings.Repeat("x", random.IntN(100_000)), n%3 == 0)
			if n%7 == 6 {
				must(t, os.Remove(filepath.Join(r.Point(), fmt.Sprint("file-", n-3))))
			}
		}
		must(t, r.Sync())
		events, err := r.Stop("disk")
		must(t, err)
		must(t, r.Unmount())
		packed, log := filepath.Join(t.TempDir(), "log.zst"), filepath.Join(t.TempDir(), "log")
		_, err = r.Export("disk", len(events), packed)
		must(t, err)
		entries := unpacked(t, packed, log)
		if told := replayLog(t, log, "--num-entries"); told != fmt.Sprint(len(entries)) {
			t.Errorf("replay-log tells %s entries of %d", told, len(entries))
		}
		sameDisks(t, log, entries, size)
	})
	t.Run("forced writes and zeros", func(t *testing.T) {
		const size = 1 << 20
		random := rand.New(rand.NewPCG(1, 2))
		var entries []entry
		for range 200 {
			e := entry{Event: Event{Kind: []EventKind{Write, Write, Zero, Flush, Tick}[random.IntN(5)]}}
			if e.Kind == Write || e.Kind == Zero {
				e.Offset, e.Bytes = random.Int64N(size/sectorBytes-16)*sectorBytes, (1+random.Int64N(16))*sectorBytes
			}
			if e.Kind == Write {
				e.data, e.forced = bytes.Repeat([]byte{byte(random.Uint32())}, int(e.Bytes)), random.IntN(3) == 0
			}
			entries = append(entries, e)
		}
		log := filepath.Join(t.TempDir(), "log")
		file, err := os.Create(log)
		must(t, err)
		must(t, writeLog(file, entries))
		must(t, file.Close())
		sameDisks(t, log, entries, size)
	})
}

// sameDisks lets the tool replay a log to its end, and to flushes, and compares with the disks that the rig
// makes of it. A discard on a plain file says ENOTTY, upon which the tool writes zeros.
func sameDisks(t *testing.T, log string, entries []entry, size int64) {
	t.Helper()
	ends := []int{len(entries)}
	for i := range entries {
		if entries[i].Kind == Flush && (i > len(entries)/4 && len(ends) == 1 || i > len(entries)/2 && len(ends) == 2) {
			ends = append(ends, i+1)
		}
	}
	for _, end := range ends {
		device := filepath.Join(t.TempDir(), "device")
		file, err := os.Create(device)
		must(t, err)
		must(t, file.Truncate(size))
		must(t, file.Close())
		replayLog(t, log, "--replay", device, "--limit", fmt.Sprint(end))
		theirs, err := os.ReadFile(device)
		must(t, err)
		ours, err := NewImage(size)
		must(t, err)
		l := Log{entries: entries}
		must(t, l.apply(ours, Cut{At: end, Keep: KeepAll}))
		if !bytes.Equal(ours.bytes, theirs) {
			t.Errorf("after %d of %d entries the disks differ", end, len(entries))
		}
		must(t, ours.Free())
		must(t, os.Remove(device))
	}
	t.Logf("%d entries; the disks are the same after %v", len(entries), ends)
}

// unpacked writes an exported log as the tool takes it, and reads its entries.
func unpacked(t *testing.T, packed, to string) []entry {
	t.Helper()
	compressed, err := os.Open(packed)
	must(t, err)
	defer compressed.Close()
	reader, err := zstd.NewReader(compressed)
	must(t, err)
	defer reader.Close()
	file, err := os.Create(to)
	must(t, err)
	_, err = io.Copy(file, reader)
	must(t, err)
	must(t, file.Close())
	return readLogFile(t, to)
}
