package record

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// boundedLog is worker.log, a file that takes at most logBytesMax bytes. What a full disk does not
// take waits in memory. It may be used from several goroutines.
type boundedLog struct {
	mu      sync.Mutex
	file    *os.File
	bytes   int
	held    []byte // what comes after what is in the file
	missing uint64 // bytes that could not be held either
	err     error  // the first one that is not of a full disk
}

const (
	logBytesMax     = 16 << 20
	logHeldBytesMax = 1 << 20 // the stacks of a worker that died of the full disk, too
)

func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.bytes >= logBytesMax {
		return len(p), nil
	}
	kept := p[:min(len(p), logBytesMax-l.bytes)]
	l.bytes += len(kept)
	l.put(kept)
	if l.bytes == logBytesMax {
		l.put(fmt.Appendf(nil, "\n(Assay: the log is cut here, after %d MiB)\n", logBytesMax>>20))
	}
	return len(p), nil
}

// put writes text to the file or, once the disk has been full, holds it, so that all stays in its
// order.
func (l *boundedLog) put(text []byte) {
	if len(l.held) == 0 {
		n, err := l.file.Write(text)
		if text = text[n:]; err == nil || !IsFull(err) {
			l.err = err
			return
		}
	}
	kept := text[:min(len(text), logHeldBytesMax-len(l.held))]
	l.held = append(l.held, kept...)
	l.missing += uint64(len(text) - len(kept))
}

// settle writes what is held, for the last time: what finds no room even now is missing.
func (l *boundedLog) settle() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && len(l.held) > 0 {
		n, err := l.file.Write(l.held)
		l.missing += uint64(len(l.held) - n)
		l.held = nil
		if !IsFull(err) {
			l.err = err
		}
	}
	if l.err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(l.file.Name()), l.err)
	}
	return nil
}

func (l *boundedLog) metFullDisk() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held) > 0 || l.missing > 0
}

// end returns the last bytes, those that are held among them.
func (l *boundedLog) end(bytes int) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(int64(bytes), info.Size()))
	if _, err := l.file.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(l.file.Name()), err)
	}
	text = append(text, l.held...)
	return text[max(0, len(text)-bytes):], nil
}
