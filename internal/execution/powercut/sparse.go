package powercut

import (
	"io"
	"slices"
)

// sparse is the bytes of a file, of which pages that were never written take no memory: some stores make
// files of gigabytes before they fill them.
type sparse struct {
	length int64
	pages  map[int64][]byte // by number; each of pageBytes
}

// write writes data at an offset, and makes the file longer where it must.
func (s *sparse) write(offset int64, data []byte) {
	s.length = max(s.length, offset+int64(len(data)))
	if s.pages == nil {
		s.pages = map[int64][]byte{}
	}
	for len(data) > 0 {
		number, at := offset/pageBytes, offset%pageBytes
		page := s.pages[number]
		part := data[:min(int64(len(data)), pageBytes-at)]
		if page == nil && !isZero(part) {
			page = make([]byte, pageBytes)
			s.pages[number] = page
		}
		if page != nil {
			copy(page[at:], part)
		}
		offset, data = offset+int64(len(part)), data[len(part):]
	}
}

// resize cuts the file, or makes it longer by zeros.
func (s *sparse) resize(length int64) {
	if length < s.length {
		for number, page := range s.pages {
			switch from := number * pageBytes; {
			case from >= length:
				delete(s.pages, number)
			case from+pageBytes > length:
				clear(page[length-from:])
			}
		}
	}
	s.length = length
}

// read reads at an offset, up to the end of the file.
func (s *sparse) read(to []byte, offset int64) (count int) {
	to = to[:max(min(int64(len(to)), s.length-offset), 0)]
	for done := to; len(done) > 0; {
		number, at := offset/pageBytes, offset%pageBytes
		part := done[:min(int64(len(done)), pageBytes-at)]
		if page := s.pages[number]; page != nil {
			copy(part, page[at:])
		} else {
			clear(part)
		}
		offset, done = offset+int64(len(part)), done[len(part):]
	}
	return len(to)
}

// hole reports whether a range has a page that is nothing but zeros.
func (s *sparse) hole(offset, length int64) bool {
	for number := offset / pageBytes; number*pageBytes < offset+length; number++ {
		if page := s.pages[number]; page == nil || isZero(page) {
			return true
		}
	}
	return false
}

// writeTo writes the pages that are there, each with its number, in order.
func (s *sparse) writeTo(w io.Writer) {
	numbers := make([]int64, 0, len(s.pages))
	for number, page := range s.pages {
		if !isZero(page) {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		_, _ = w.Write([]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)})
		_, _ = w.Write(s.pages[number]) // a hash, which takes everything
	}
}
