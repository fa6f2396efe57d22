package tokyotyrant

import (
	"encoding/binary"
	"strconv"
)

// arguments are those of a call of misc, each of words that zeros separate.
type arguments struct {
	request []byte
	n       int
	at      int // where the last one's length stands
}

// append begins an argument.
func (r *arguments) append(first string, words ...[]byte) {
	r.at = len(r.request)
	r.request = append(appendNumber(r.request, len(first)), first...)
	r.n++
	for _, word := range words {
		r.word(word)
	}
}

func (r *arguments) word(word []byte) {
	r.request = append(append(r.request, 0), word...)
	r.measure()
}

func (r *arguments) text(word string) {
	r.request = append(append(r.request, 0), word...)
	r.measure()
}

func (r *arguments) number(n int64) { r.more(0, n) }

// more appends a number behind a separator.
func (r *arguments) more(separator byte, n int64) {
	r.request = strconv.AppendInt(append(r.request, separator), n, 10)
	r.measure()
}

// measure writes the length of the last argument.
func (r *arguments) measure() {
	binary.BigEndian.PutUint32(r.request[r.at:], uint32(len(r.request)-r.at-4))
}
