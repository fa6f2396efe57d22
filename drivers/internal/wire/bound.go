package wire

import (
	"fmt"
	"sync/atomic"
)

// Bound is how long what a server sends at once may be, by what the store is to hold: a garbled
// length, or a server that lies, takes no memory beyond it. The zero value knows of no bound.
type Bound struct{ bytes atomic.Int64 }

// besideBytes is more than comes beside a value (keys, names of columns), so that a wrong value that
// is not much longer is still read, and found to be wrong.
const besideBytes = 4 << 20

// Expect is of [store.Expecter].
func (b *Bound) Expect(valueBytesMax int) {
	b.bytes.Store(max(b.bytes.Load(), int64(valueBytesMax)+besideBytes))
}

// ExpectsNoValue returns the bound of a connection that is for settings and statistics.
func ExpectsNoValue() *Bound {
	b := new(Bound)
	b.Expect(0)
	return b
}

// holds gives the connection up over what is longer than its bound.
func (c *Connection) holds(length int) error {
	if c.Bound == nil {
		return nil
	}
	if most := c.Bound.bytes.Load(); most > 0 && int64(length) > most {
		return c.GiveUp("read answer", fmt.Errorf(
			"the server announces %d bytes at once, expected at most %d: the longest value and %d MiB",
			length, most, besideBytes>>20))
	}
	return nil
}
