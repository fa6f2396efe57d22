package powercut

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// qemuBytes is the size of a disk of QEMU's, which records what is done to it by its own blklogwrites.
const qemuBytes = 1 << 20

// qemuIO runs commands of qemu-io on a disk that is recorded.
func qemuIO(t *testing.T, image, log, options string, commands []string) {
	t.Helper()
	arguments := []string{"--image-opts", "-d", "unmap", "driver=blklogwrites,discard=unmap,file.driver=file,file.discard=unmap,file.filename=" + image +
		",log.driver=file,log.filename=" + log + options}
	for _, c := range commands {
		arguments = append(arguments, "-c", c)
	}
	if output, err := exec.Command("qemu-io", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("qemu-io: %v: %s", err, output)
	}
}

func readLogFile(t *testing.T, path string) []entry {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	entries, err := readLog(bufio.NewReader(file))
	must(t, err)
	return entries
}

// gaps are the changes of a recording, and which of them a flush follows.
func gaps(entries []entry) (changes []entry, flushed []bool) {
	for _, e := range entries {
		if e.Kind != Flush {
			changes, flushed = append(changes, e), append(flushed, false)
		} else if n := len(flushed); n > 0 {
			flushed[n-1] = true
		}
	}
	return changes, flushed
}

// same says how a recording differs from what was done. QEMU makes flushes of its own, and leaves those
// out before which nothing was written.
func same(t *testing.T, recorded, done []entry) {
	t.Helper()
	got, gotFlushed := gaps(recorded)
	want, wantFlushed := gaps(done)
	if len(got) != len(want) {
		t.Fatalf("%d changes are read, %d were made", len(got), len(want))
	}
	for i, w := range want {
		if g := got[i]; g.Kind != w.Kind || g.Offset != w.Offset || g.Bytes != w.Bytes || !bytes.Equal(g.data, w.data) {
			t.Errorf("change %d is %+v, expected %+v", i, g.Event, w.Event)
		}
		if wantFlushed[i] && !gotFlushed[i] {
			t.Errorf("the flush after change %d is missing", i)
		}
	}
}

// QEMU's recorder and ours record the same writes: ours reads its log, it goes on behind ours, and a disk
// made of either log is the one that QEMU wrote to.
func TestQEMURecordsTheSame(t *testing.T) {
	if _, err := exec.LookPath("qemu-io"); err != nil {
		t.Skip("SKIPPED: qemu-io is not installed (Debian: apt-get install qemu-utils)")
	}
	random := rand.New(rand.NewPCG(1, 1))
	var done []entry
	var commands []string
	for range 60 {
		offset, length := random.Int64N(qemuBytes/sectorBytes-16)*sectorBytes, (1+random.Int64N(16))*sectorBytes
		switch random.IntN(6) {
		case 0:
			commands = append(commands, "flush")
			done = append(done, entry{Event: Event{Kind: Flush, Stamp: Stamp{Phase: -1}}})
		case 1:
			commands = append(commands, fmt.Sprintf("discard %d %d", offset, length))
			done = append(done, entry{Event: Event{Kind: Zero, Offset: offset, Bytes: length}})
		default:
			value := byte(1 + random.IntN(255))
			commands = append(commands, fmt.Sprintf("write -P %d %d %d", value, offset, length))
			done = append(done, entry{Event: Event{Kind: Write, Offset: offset, Bytes: length},
				data: bytes.Repeat([]byte{value}, int(length))})
		}
	}
	place := t.TempDir()
	image, log := filepath.Join(place, "image"), filepath.Join(place, "log")
	must(t, os.WriteFile(image, make([]byte, qemuBytes), 0o600))
	must(t, os.WriteFile(log, nil, 0o600))
	qemuIO(t, image, log, ",log-sector-size=512", commands)
	recorded := readLogFile(t, log)
	same(t, recorded, done)
	disk, err := NewImage(qemuBytes)
	must(t, err)
	made := Log{entries: recorded}
	must(t, made.apply(disk, Cut{At: len(recorded), Keep: KeepAll}))
	wrote, err := os.ReadFile(image)
	must(t, err)
	if !bytes.Equal(disk.bytes, wrote) {
		t.Error("the disk made of QEMU's log is not the one that QEMU wrote to")
	}
	must(t, disk.Free())

	// Our log, read by QEMU to its end, and continued.
	ours := filepath.Join(place, "ours")
	file, err := os.Create(ours)
	must(t, err)
	must(t, writeLog(file, done))
	must(t, file.Close())
	qemuIO(t, image, ours, ",log-append=on", []string{"write -P 7 0 512"})
	continued := readLogFile(t, ours)
	same(t, continued, append(done, entry{Event: Event{Kind: Write, Bytes: 512}, data: bytes.Repeat([]byte{7}, 512)}))
}
