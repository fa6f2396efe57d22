//go:build linux

package wire

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/store"
)

// silent is a speaker that asks nothing.
type silent struct{ Connection }

func (s *silent) Link() *Connection                            { return &s.Connection }
func (*silent) Ask(int, *store.Request) error                  { return nil }
func (*silent) Answer(int, []byte) (_ []byte, _ bool, _ error) { return nil, false, nil }

// listenShort listens with a queue of so many connections. queued returns how many it has not accepted.
func listenShort(t *testing.T, queue int) (l net.Listener, queued func() int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "listener")
	t.Cleanup(func() { _ = f.Close() })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, queue); err != nil {
		t.Fatal(err)
	}
	if l, err = net.FileListener(f); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, func() int {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			t.Error(err)
			return queue
		}
		return int(info.Unacked) // what it means of a listener
	}
}

// Many connections are opened through a short listen queue, also where an operation's time would be over
// before the kernel asks a second time: no more stand in the queue than are opened at once.
//
// Fault (connections): a thousand connections are opened at a server whose listen queue is short
// Assay: at most 16 wait at a time, each 10 s; none fails
func TestOpeningFitsAListenQueue(t *testing.T) {
	const lanes = 300
	listener, queued := listenShort(t, dialsAtOnce)
	ended := make(chan int, 1)
	var served sync.WaitGroup
	go func() {
		most := 0
		for queued() < dialsAtOnce { // all that are opened at once
			time.Sleep(time.Millisecond)
		}
		for {
			most = max(most, queued())
			c, err := listener.Accept()
			if err != nil {
				break
			}
			served.Go(func() { _, _ = io.Copy(c, c) })
		}
		ended <- most
	}()
	speakers := make([]Speaker, lanes)
	for i := range speakers {
		speakers[i] = &silent{Connection{Server: "server", Endpoint: listener.Addr().String(), Timeout: 100 * time.Millisecond,
			Knock: func(c *Connection) error {
				c.Request = append(c.Request[:0], "knock\r\n"...)
				if err := c.Send(); err != nil {
					return err
				}
				_, err := c.ReadLine()
				return err
			}}}
	}
	loop, err := NewLoop(speakers, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.Close(); err != nil {
		t.Error(err)
	}
	_ = listener.Close()
	if most := <-ended; most != dialsAtOnce {
		t.Errorf("up to %d connections stood in the queue, expected %d", most, dialsAtOnce)
	}
	served.Wait()
}
