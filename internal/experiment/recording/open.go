package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

const (
	// headBytes is how much of a file is looked at for its form.
	headBytes = 64 << 10
	// lineMax bounds a line: longer ones are left out. Redis MONITOR prints values in full.
	lineMax = 1 << 20
	// windowMax bounds the memory that a zstd file may ask for.
	windowMax = 256 << 20
)

// content is a file's text or records, decompressed.
type content struct {
	*bufio.Reader
	close func()
}

// openContent opens a file that may be compressed by gzip or zstd.
func openContent(name string) (*content, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		_ = file.Close() // the first error says more
		return nil, err
	}
	c := &content{Reader: bufio.NewReaderSize(file, headBytes), close: func() { _ = file.Close() }} // it was only read
	magic, err := c.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		c.close()
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		unzip, err := gzip.NewReader(c.Reader)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("gzip: %w", err)
		}
		c.Reader = bufio.NewReaderSize(unzip, lineMax)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(c.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowMax))
		if err != nil {
			c.close()
			return nil, fmt.Errorf("zstd: %w", err)
		}
		c.Reader, c.close = bufio.NewReaderSize(decoder, lineMax), func() { decoder.Close(); _ = file.Close() }
	default:
		c.Reader = bufio.NewReaderSize(c.Reader, lineMax)
	}
	return c, nil
}

// errLong says that a line is longer than lineMax; it was passed over.
var errLong = errors.New("a line too long")

// line returns the next line without its end. It is valid until the next call. cut says that the file
// ended before the line did.
func (c *content) line() (line []byte, cut bool, err error) {
	line, err = c.ReadSlice('\n')
	switch {
	case err == nil:
		line = line[:len(line)-1]
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		return line, false, nil
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = c.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		return nil, false, errLong
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, true, nil
	}
	return nil, false, err
}
