package wire

import (
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
)

// Bound is how long what a server sends at once may be, by what the store is to hold: a garbled
// length, or a server that lies, takes no memory beyond it. The zero value knows of no bound.
type Bound struct{ bytes, records atomic.Int64 }

// besideBytes is more than comes beside a value (keys, names of columns), so that a wrong value that
// is not much longer is still read, and found to be wrong.
const besideBytes = 4 << 20

// Expect is of [store.Expecter].
func (b *Bound) Expect(valueBytesMax int) {
	b.bytes.Store(max(b.bytes.Load(), int64(valueBytesMax)+besideBytes))
}

// ExpectMany says that answers to a [Bound.Guard] may be of so many records.
func (b *Bound) ExpectMany(records int) {
	if n := int64(records); n > b.records.Load() {
		b.records.Store(n)
	}
}

// Most returns the bound in bytes; 0: none is known.
func (b *Bound) Most() int64 { return b.bytes.Load() }

// Refuse returns the error for an answer that is longer than a bound.
func Refuse(length, most int64) error {
	return fmt.Errorf("the server sends %d bytes at once, expected at most %d: the longest value and %d MiB",
		length, most, besideBytes>>20)
}

// Guard returns a connection for a library that reads answers of any length: reads fail once more
// has come since the last write than the bound allows, or once an answer's first bytes announce more:
// the library would have memory for all of it. It is for clients whose every answer is of one
// record, or of as many as [Bound.ExpectMany] says. Libraries look for syscall.Conn, to see whether
// the other end has hung up.
func (b *Bound) Guard(c net.Conn, announced func(answer []byte) int64) net.Conn {
	g := &guarded{Conn: c, bound: b, announced: announced}
	if socket, is := c.(syscall.Conn); is {
		return struct {
			*guarded
			syscall.Conn
		}{g, socket}
	}
	return g
}

type guarded struct {
	net.Conn
	bound     *Bound
	announced func(answer []byte) int64
	came      atomic.Int64 // bytes since the last write
	refused   error        // an answer, and all that comes behind it: libraries read on
}

func (g *guarded) Read(p []byte) (int, error) {
	if g.refused != nil {
		return 0, g.refused
	}
	n, err := g.Conn.Read(p)
	came, most := g.came.Add(int64(n)), g.bound.Most()*max(g.bound.records.Load(), 1)
	if came == int64(n) {
		came = max(came, g.announced(p[:n]))
	}
	if most > 0 && came > most {
		g.refused = Refuse(came, most)
		return 0, g.refused
	}
	return n, err
}

func (g *guarded) Write(p []byte) (int, error) {
	g.came.Store(0)
	return g.Conn.Write(p)
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
	if most := c.Bound.Most(); most > 0 && int64(length) > most {
		return c.GiveUp("read answer", Refuse(int64(length), most))
	}
	return nil
}
