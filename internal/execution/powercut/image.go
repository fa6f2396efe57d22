package powercut

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"golang.org/x/sys/unix"
)

// Image is the bytes of a disk, in memory that the kernel gives page by page as it is written. Pages
// that were never written are full of zeros, and are not read.
type Image struct {
	bytes   []byte
	written []bool // by page
}

// NewImage returns one that is full of zeros.
func NewImage(size int64) (*Image, error) {
	bytes, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("memory for a disk of %d bytes: %w", size, err)
	}
	return &Image{bytes, make([]bool, (size+pageBytes-1)/pageBytes)}, nil
}

// Free gives the memory back.
func (m *Image) Free() error { return unix.Munmap(m.bytes) }

// Size is in bytes.
func (m *Image) Size() int64 { return int64(len(m.bytes)) }

// within cuts a range to the image.
func (m *Image) within(offset, length int64) []byte {
	offset = min(max(offset, 0), m.Size())
	return m.bytes[offset : offset+min(max(length, 0), m.Size()-offset)]
}

const pageBytes = 4096

// Write writes data at an offset.
func (m *Image) Write(offset int64, data []byte) {
	m.eachPage(offset, int64(len(data)), func(page, from, to int64) {
		part := data[from-offset : to-offset]
		if m.written[page] || !isZero(part) {
			m.written[page] = true
			copy(m.bytes[from:to], part)
		}
	})
}

// Zero writes zeros.
func (m *Image) Zero(offset, length int64) {
	m.eachPage(offset, length, func(page, from, to int64) {
		if m.written[page] {
			clear(m.bytes[from:to])
		}
	})
}

// hole reports whether a range has a page that was never written.
func (m *Image) hole(offset, length int64) (found bool) {
	m.eachPage(offset, length, func(page, _, _ int64) { found = found || !m.written[page] })
	return found
}

// eachPage visits the pages that a range touches, each with the part of the range in it.
func (m *Image) eachPage(offset, length int64, visit func(page, from, to int64)) {
	end := min(offset+length, m.Size())
	for from := max(offset, 0); from < end; {
		page := from / pageBytes
		to := min((page+1)*pageBytes, end)
		visit(page, from, to)
		from = to
	}
}

var zeros [pageBytes]byte

// isZero looks at a page or a part of one.
func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// page returns a page's content; nil: it is full of zeros.
func (m *Image) page(number int) []byte {
	if !m.written[number] {
		return nil
	}
	page := m.bytes[number*pageBytes : min((number+1)*pageBytes, len(m.bytes))]
	if isZero(page) {
		return nil
	}
	return page
}

// Digest names the content: SHA-256 over the pages that are not all zeros, each with its number.
func (m *Image) Digest() string {
	sum := sha256.New()
	for number := range m.written {
		if page := m.page(number); page != nil {
			fmt.Fprintf(sum, "%d\n", number)
			sum.Write(page)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
