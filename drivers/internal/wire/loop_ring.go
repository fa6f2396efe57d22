//go:build linux

package wire

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"assay/store"
)

// What a ring tells of, in a completion's user word: the lane in the low half, 16 bits of
// what, and how often the lane was connected.
const (
	tellsWake = iota
	tellsAnswer
	tellsSent
	tellsRoom
)

func (l *Loop) user(what uint64, i int) uint64 {
	return uint64(l.lanes[i].made)<<48 | what<<32 | uint64(i)
}

// ringMost is how many connections a ring takes. Of 10,000, so many answers come at once that buffers
// run out, and epoll takes less time.
const ringMost = 4096

func (l *Loop) rings() bool { return len(l.lanes) <= ringMost && hasRing() }

// Interface is of [store.Pinner].
func (l *Loop) Interface() string {
	if l.rings() {
		return "io_uring"
	}
	return "epoll"
}

// Pin is of [store.Pinner]: a ring belongs to one OS thread.
func (l *Loop) Pin() (err error) {
	if !l.rings() {
		return nil
	}
	if l.ring, err = newRing(); err != nil {
		l.ring = nil // newRing has closed it
		return err
	}
	closing := unix.Close(l.epoll)
	l.epoll = -1
	if closing != nil {
		return closing
	}
	for i := range l.lanes {
		if l.lanes[i].link.socket != nil {
			if err := l.receive(i); err != nil {
				return err
			}
		}
	}
	return l.ring.watch(l.wake, unix.EPOLLIN, true, tellsWake<<32)
}

// Unpin is of [store.Pinner].
func (l *Loop) Unpin() error {
	if l.ring == nil {
		return nil
	}
	err := errors.Join(l.ring.cancel(), l.ring.close())
	l.ring = nil
	for i := range l.lanes {
		l.lanes[i].full = false
	}
	return errors.Join(err, l.openEpoll())
}

func (l *Loop) receive(i int) error {
	return l.ring.receive(l.lanes[i].link.socket.(descriptor), l.user(tellsAnswer, i))
}

// sendByRing has the lane's request sent with those of others.
func (l *Loop) sendByRing(i int, one *lane, socket descriptor) error {
	if one.full {
		return nil
	}
	l.sending = append(l.sending, i)
	return l.ring.send(socket, one.link.Request[one.sent:], l.user(tellsSent, i))
}

// lookAtRing sends, waits for completions, and looks at them. What could not be sent is known before
// anything is submitted anew.
func (l *Loop) lookAtRing(wait time.Duration, ended store.Ended) error {
	if err := l.ring.poll(wait); err != nil {
		return err
	}
	l.completions = l.ring.take(l.completions[:0])
	for k := range l.completions {
		if c := &l.completions[k]; c.user>>32&0xffff == tellsSent {
			if err := l.sentLess(c); err != nil {
				return err
			}
		}
	}
	for _, i := range l.sending {
		if one := &l.lanes[i]; !one.full {
			one.link.Request, one.sent, one.unsent = one.link.Request[:0], 0, 0
		}
	}
	l.sending = l.sending[:0]
	l.now = time.Since(l.base)
	for k := range l.completions {
		if err := l.completed(&l.completions[k], ended); err != nil {
			return err
		}
	}
	return nil
}

// sentLess notes that a socket did not take all of a request.
func (l *Loop) sentLess(c *completion) error {
	i := int(uint32(c.user))
	one := &l.lanes[i]
	if one.made != uint16(c.user>>48) || c.result < 0 && c.result != -int32(unix.EAGAIN) {
		return nil
	}
	one.sent += int(max(c.result, 0))
	one.full = true
	return l.ring.watch(int(one.link.socket.(descriptor)), unix.EPOLLOUT, false, l.user(tellsRoom, i))
}

// completed does what a completion tells.
func (l *Loop) completed(c *completion, ended store.Ended) error {
	what, i := c.user>>32&0xffff, int(uint32(c.user))
	if what == tellsWake {
		return l.connected()
	}
	one := &l.lanes[i]
	live := one.made == uint16(c.user>>48) && one.link.socket != nil
	switch {
	case what == tellsRoom && live:
		one.full = false
		l.soil(i, one)
	case what == tellsSent && live && c.result < 0 && c.result != -int32(unix.EAGAIN):
		l.fail(one, i, one.link.GiveUp("send", unix.Errno(-c.result)), ended)
	case what == tellsAnswer:
		if live {
			l.received(i, one, c, ended)
		}
		if c.flags&completionBuffer != 0 {
			l.ring.giveBack(uint16(c.flags >> 16))
		}
		if c.flags&completionMore == 0 && live && one.link.socket != nil { // it ran out of buffers
			return l.receive(i)
		}
	}
	return nil
}

// received looks at what has come into one of the ring's buffers.
func (l *Loop) received(i int, one *lane, c *completion, ended store.Ended) {
	switch {
	case c.result == -int32(unix.ENOBUFS):
	case c.result < 0:
		l.fail(one, i, one.link.GiveUp("read answer", unix.Errno(-c.result)), ended)
	case c.result == 0:
		l.fail(one, i, one.link.GiveUp("read answer", errClosed), ended)
	default:
		link, bytes := one.link, l.ring.bytes(c)
		if link.start == link.end {
			link.answer, link.start, link.end, link.wanted = bytes, 0, 0, 0
		} else {
			for len(link.answer)-link.end < len(bytes) {
				link.makeRoom(len(bytes))
			}
			copy(link.answer[link.end:], bytes)
			one.part = link.answer
		}
		l.came(i, one, len(bytes), ended)
	}
}
