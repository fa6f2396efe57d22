package csvseries

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// lineBytesMax bounds a line, so that a file without line ends is not read into memory.
	lineBytesMax = 1 << 20
	// headBytes are looked at before the first line is read: the form of numbers and times, and what
	// columns hold, are guessed from them.
	headBytes = 256 << 10
)

// text is a file as UTF-8 with LF as its line end, whatever it was written as; of JSON it is not cut
// into lines.
func text(r io.Reader) (*bufio.Reader, error) {
	buffered := bufio.NewReaderSize(r, headBytes)
	head, _ := buffered.Peek(4)
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(head, []byte("\uFEFF")):
		_, _ = buffered.Discard(3) // it was peeked at
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), len(head) == 4 && head[0] != 0 && head[1] == 0 && head[3] == 0:
		order = binary.LittleEndian
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}), len(head) == 4 && head[0] == 0 && head[1] != 0 && head[2] == 0:
		order = binary.BigEndian
	}
	if order != nil {
		buffered = bufio.NewReaderSize(&fromUTF16{from: buffered, order: order}, headBytes)
	}
	first, err := buffered.Peek(headBytes)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.IndexByte(first, '\r') >= 0 && bytes.IndexByte(first, '\n') < 0 {
		buffered = bufio.NewReaderSize(carriageReturns{buffered}, headBytes)
	}
	if isJSON(first) {
		return buffered, nil
	}
	return bufio.NewReaderSize(&lineBound{from: buffered}, headBytes), nil
}

// carriageReturns are the line ends of old Macintosh programs, and of some instruments.
type carriageReturns struct{ from io.Reader }

func (c carriageReturns) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// fromUTF16 is what PowerShell's > and "Unicode text" of spreadsheets write.
type fromUTF16 struct {
	from    *bufio.Reader
	order   binary.ByteOrder
	pending []byte
}

func (u *fromUTF16) unit() (uint16, error) {
	var two [2]byte
	if _, err := io.ReadFull(u.from, two[:]); err != nil {
		if err == io.ErrUnexpectedEOF { // half a unit at the end
			err = io.EOF
		}
		return 0, err
	}
	return u.order.Uint16(two[:]), nil
}

func (u *fromUTF16) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.pending) > 0 {
			k := copy(p[n:], u.pending)
			n, u.pending = n+k, u.pending[k:]
			continue
		}
		first, err := u.unit()
		if err != nil {
			return n, err
		}
		r := rune(first)
		if utf16.IsSurrogate(r) {
			second, err := u.unit()
			if err != nil {
				return n, err
			}
			r = utf16.DecodeRune(r, rune(second))
		}
		if r != '\uFEFF' {
			u.pending = utf8.AppendRune(u.pending[:0], r)
		}
	}
	return n, nil
}

// lineBound fails where a line is too long.
type lineBound struct {
	from   io.Reader
	length int
}

func (l *lineBound) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	for _, b := range p[:n] {
		if l.length++; b == '\n' {
			l.length = 0
		}
		if l.length > lineBytesMax {
			return 0, fmt.Errorf("a line is longer than %d bytes: this is not a time series as CSV", lineBytesMax)
		}
	}
	return n, err
}
