package powercut

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"golang.org/x/sys/unix"
)

// Image is the bytes of a disk, in memory that the kernel gives page by page as it is written.
type Image struct{ bytes []byte }

// NewImage returns one that is full of zeros.
func NewImage(size int64) (*Image, error) {
	bytes, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("memory for a disk of %d bytes: %w", size, err)
	}
	return &Image{bytes}, nil
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

// Write writes data at an offset. Zeros on pages that nobody has written take no memory.
func (m *Image) Write(offset int64, data []byte) {
	to := m.within(offset, int64(len(data)))
	for i := 0; i < len(to); i += pageBytes {
		end := min(i+pageBytes, len(to))
		if !isZero(data[i:end]) || !isZero(to[i:end]) {
			copy(to[i:end], data[i:end])
		}
	}
}

// Zero writes zeros.
func (m *Image) Zero(offset, length int64) {
	to := m.within(offset, length)
	for i := 0; i < len(to); i += pageBytes {
		if page := to[i:min(i+pageBytes, len(to))]; !isZero(page) {
			clear(page)
		}
	}
}

func isZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// Digest names the content: SHA-256 over the pages that are not all zeros, each with its number.
func (m *Image) Digest() string {
	sum := sha256.New()
	for at := 0; at < len(m.bytes); at += pageBytes {
		if page := m.bytes[at:min(at+pageBytes, len(m.bytes))]; !isZero(page) {
			fmt.Fprintf(sum, "%d\n", at/pageBytes)
			sum.Write(page)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
