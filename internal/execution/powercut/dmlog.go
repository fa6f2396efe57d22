package powercut

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// The format of the kernel's dm-log-writes (drivers/md/dm-log-writes.c), which its tools replay and
// QEMU's blklogwrites writes: a sector with the head; then for each entry a sector that says what
// was done, and the data.
const (
	dmMagic   = 0x6a736677736872
	dmVersion = 1

	dmFlush   = 1
	dmForced  = 2
	dmDiscard = 4
	dmMark    = 8 // text in the entry's own sector
)

// writeLog writes the first entries of a log. Index i of the file is entry i of the log: ticks are
// marks that carry the stamp.
func writeLog(to io.Writer, entries []entry) error {
	var sector [sectorBytes]byte
	le := binary.LittleEndian
	head := func(words ...uint64) error {
		clear(sector[:])
		for i, w := range words {
			le.PutUint64(sector[8*i:], w)
		}
		_, err := to.Write(sector[:])
		return err
	}
	if err := head(dmMagic, dmVersion, uint64(len(entries)), sectorBytes); err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		if e.Offset%sectorBytes != 0 || e.Bytes%sectorBytes != 0 {
			return fmt.Errorf("a %s of %d bytes at %d is not of whole sectors", e.Kind, e.Bytes, e.Offset)
		}
		var err error
		switch e.Kind {
		case Write:
			flags := uint64(0)
			if e.forced {
				flags = dmForced
			}
			if err = head(uint64(e.Offset/sectorBytes), uint64(e.Bytes/sectorBytes), flags, 0); err == nil {
				_, err = to.Write(e.data)
			}
		case Zero:
			err = head(uint64(e.Offset/sectorBytes), uint64(e.Bytes/sectorBytes), dmDiscard, 0)
		case Flush:
			err = head(0, 0, dmFlush, 0)
		case Tick:
			var text []byte
			if text, err = json.Marshal(e.Stamp); err == nil {
				clear(sector[:])
				le.PutUint64(sector[16:], dmMark)
				le.PutUint64(sector[24:], uint64(copy(sector[32:], text)))
				_, err = to.Write(sector[:])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readLog reads what writeLog, or another program, has written.
func readLog(from io.Reader) (entries []entry, err error) {
	var sector [sectorBytes]byte
	le := binary.LittleEndian
	if _, err := io.ReadFull(from, sector[:]); err != nil {
		return nil, fmt.Errorf("dm-log-writes log: %w", err)
	}
	magic, version, size := le.Uint64(sector[:]), le.Uint64(sector[8:]), le.Uint32(sector[24:])
	if magic != dmMagic || version != dmVersion || size != sectorBytes {
		return nil, fmt.Errorf("not a dm-log-writes log of version %d with sectors of %d bytes: magic %#x, version %d, %d bytes", dmVersion, sectorBytes, magic, version, size)
	}
	total := int64(0)
	for count := le.Uint64(sector[16:]); uint64(len(entries)) < count; {
		if _, err := io.ReadFull(from, sector[:]); err != nil {
			return nil, fmt.Errorf("dm-log-writes log, entry %d of %d: %w", len(entries), count, err)
		}
		flags, e := le.Uint64(sector[16:]), entry{}
		e.Offset, e.Bytes = int64(le.Uint64(sector[:])*sectorBytes), int64(le.Uint64(sector[8:])*sectorBytes)
		e.Phase = -1
		switch {
		case flags&dmMark != 0:
			e.Kind = Tick
		case flags&dmDiscard != 0:
			e.Kind = Zero
		case e.Bytes == 0:
			e.Kind = Flush
		default:
			e.Kind, e.forced = Write, flags&dmForced != 0
			if total += e.Bytes; e.Bytes < 0 || total > logBytesMax {
				return nil, errLogFull
			}
			e.data = make([]byte, e.Bytes)
			if _, err := io.ReadFull(from, e.data); err != nil {
				return nil, fmt.Errorf("dm-log-writes log, data of entry %d: %w", len(entries), err)
			}
		}
		if flags&dmFlush != 0 && e.Kind == Write { // what came before it was flushed first
			entries = append(entries, entry{Event: Event{Kind: Flush, Stamp: e.Stamp}})
			count++
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// pages are what writes an image: a write for each run of pages that are not all zeros.
func (m *Image) pages() (entries []entry) {
	const runMax = 256 * pageBytes
	for number := range m.written {
		page := m.page(number)
		if page == nil {
			continue
		}
		if n := len(entries); n > 0 && entries[n-1].Offset+entries[n-1].Bytes == int64(number)*pageBytes &&
			entries[n-1].Bytes < runMax {
			last := &entries[n-1]
			last.data = append(last.data, page...)
			last.Bytes += int64(len(page))
			continue
		}
		entries = append(entries, entry{Event: Event{Kind: Write, Offset: int64(number) * pageBytes,
			Bytes: int64(len(page))}, data: bytes.Clone(page)})
	}
	return entries
}

// export writes what a disk was when it was made, and the events before one of its log, compressed.
// It returns how many entries the former takes.
func (s *server) export(d *disk, at int, path string) (base int, err error) {
	if at > len(d.log.entries) {
		return 0, fmt.Errorf("event %d of %d", at, len(d.log.entries))
	}
	var entries []entry
	if d.made != nil {
		image, err := NewImage(d.image.Size())
		if err != nil {
			return 0, err
		}
		if err = s.replay(image, d.made); err == nil {
			entries = append(image.pages(), entry{Event: Event{Kind: Flush}})
		}
		if err = errors.Join(err, image.Free()); err != nil {
			return 0, err
		}
	}
	base = len(entries)
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	compressed, err := zstd.NewWriter(file)
	if err == nil {
		buffered := bufio.NewWriterSize(compressed, 1<<20)
		err = errors.Join(writeLog(buffered, append(entries, d.log.entries[:at]...)), buffered.Flush(),
			compressed.Close())
	}
	return base, errors.Join(err, file.Close())
}

// adopt makes an empty disk whose log is that of a file.
func (s *server) adopt(name string, size int64, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	compressed, err := zstd.NewReader(file)
	if err != nil {
		return err
	}
	defer compressed.Close()
	entries, err := readLog(bufio.NewReaderSize(compressed, 1<<20))
	if err != nil {
		return err
	}
	if err := s.add(name, size, nil, false); err != nil {
		return err
	}
	s.disks[name].log.entries, s.now = entries, nil
	return nil
}
