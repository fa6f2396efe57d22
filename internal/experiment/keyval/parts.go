package keyval

import (
	"errors"
	"fmt"
	"strconv"
)

// Bounds of parts. The counts of words are such that no running total is beyond a word.
const (
	PartsMax       = 64 // of all columns of a record together
	WordLettersMax = 8
	WordCountsMax  = 64
	wordCountMax   = 255
)

// Part is a piece of a column: one of Text, Sequence and Words.
type Part struct {
	Text     string    `json:"text,omitempty"`
	Sequence *Sequence `json:"sequence,omitempty"`
	Words    *Words    `json:"words,omitempty"`
}

// Words are words of so many letters, a to z, with a space between two of them. Records take them in
// turn from all such words in alphabetical order: the record of an index takes Counts[index mod
// len(Counts)], from where the record before it ended, and after the last word comes the first.
type Words struct {
	Letters int      `json:"letters"`
	Counts  []uint64 `json:"counts"`

	all   uint64 // how many words there are
	cycle uint64 // the sum of Counts
}

func (w *Words) check() error {
	if w.Letters < 1 || w.Letters > WordLettersMax || len(w.Counts) < 1 || len(w.Counts) > WordCountsMax {
		return fmt.Errorf("words have 1 to %d letters, and 1 to %d counts", WordLettersMax, WordCountsMax)
	}
	for _, n := range w.Counts {
		if n < 1 || n > wordCountMax {
			return fmt.Errorf("a count of words is 1 to %d, not %d", wordCountMax, n)
		}
	}
	return nil
}

func (w *Words) normal() Words {
	n := *w
	n.all = 1
	for range n.Letters {
		n.all *= 26
	}
	for _, count := range n.Counts {
		n.cycle += count
	}
	return n
}

func (w *Words) append(dst []byte, index uint64) []byte {
	period := uint64(len(w.Counts))
	n, at := index/period*w.cycle, index%period
	for _, count := range w.Counts[:at] {
		n += count
	}
	for i := range w.Counts[at] {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = w.appendWord(dst, (n+i)%w.all)
	}
	return dst
}

func (w *Words) appendWord(dst []byte, n uint64) []byte {
	var word [WordLettersMax]byte
	for i := w.Letters - 1; i >= 0; i-- {
		word[i] = 'a' + byte(n%26)
		n /= 26
	}
	return append(dst, word[:w.Letters]...)
}

// bytes returns the length of so many words.
func (w *Words) bytes(count uint64) int { return int(count)*(w.Letters+1) - 1 }

// normal says what is wrong with a part, or makes it ready.
func (p *Part) normal() (n Part, err error) {
	n = Part{Text: p.Text}
	switch {
	case p.Text != "" && p.Sequence == nil && p.Words == nil:
	case p.Text == "" && p.Sequence != nil && p.Words == nil:
		q := p.Sequence.normal()
		n.Sequence, err = &q, p.Sequence.check()
	case p.Text == "" && p.Sequence == nil && p.Words != nil:
		w := p.Words.normal()
		n.Words, err = &w, p.Words.check()
	default:
		err = errors.New("a part has one of text, sequence and words")
	}
	return n, err
}

func (p *Part) append(dst []byte, index uint64) []byte {
	switch {
	case p.Sequence != nil:
		return p.Sequence.append(dst, index)
	case p.Words != nil:
		return p.Words.append(dst, index)
	}
	return append(dst, p.Text...)
}

// bytesMax returns a length that the part has at most, over all indexes.
func (p *Part) bytesMax() int {
	switch {
	case p.Sequence != nil:
		return p.Sequence.bytesMax()
	case p.Words != nil:
		most := uint64(0)
		for _, count := range p.Words.Counts {
			most = max(most, count)
		}
		return p.Words.bytes(most)
	}
	return len(p.Text)
}

// bytesMin returns a length that the part has at least, over all indexes.
func (p *Part) bytesMin() int {
	switch {
	case p.Sequence != nil:
		return p.Sequence.bytesMin()
	case p.Words != nil:
		return p.Words.bytes(1)
	}
	return len(p.Text)
}

// bytes returns the length of the part in the record of an index.
func (p *Part) bytes(index uint64) int {
	switch {
	case p.Sequence != nil:
		return p.Sequence.bytes(index)
	case p.Words != nil:
		return p.Words.bytes(p.Words.Counts[index%uint64(len(p.Words.Counts))])
	}
	return len(p.Text)
}

func (q *Sequence) append(dst []byte, index uint64) []byte {
	dst = append(dst, q.Prefix...)
	dst = strconv.AppendUint(dst, q.number(index), 10)
	return append(dst, q.Suffix...)
}

func (q *Sequence) bytesMax() int {
	n, fits := q.largest()
	if !fits {
		n = 1<<64 - 1
	}
	return len(q.Prefix) + decimalDigits(n) + len(q.Suffix)
}

func (q *Sequence) bytesMin() int { return len(q.Prefix) + 1 + len(q.Suffix) }

func (q *Sequence) bytes(index uint64) int {
	return len(q.Prefix) + decimalDigits(q.number(index)) + len(q.Suffix)
}

func decimalDigits(n uint64) int {
	var digits [20]byte
	return len(strconv.AppendUint(digits[:0], n, 10))
}
