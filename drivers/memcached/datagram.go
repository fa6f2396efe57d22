package memcached

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// A datagram of either direction begins with a request's number, the datagram's place in the
// message, how many datagrams the message has, and two bytes for later use (doc/protocol.txt, "UDP
// protocol").
const frameBytes = 8

// requestBytesMax is the longest request: the server takes no request of several datagrams, and
// 65,507 bytes are the longest datagram of IPv4.
const requestBytesMax = 65507 - frameBytes

// datagramValueBytesMax is the longest value beside the longest command: that of cas, with the
// longest key and token.
const datagramValueBytesMax = requestBytesMax -
	len("cas "+" 0 0 "+"65210"+" "+"18446744073709551615"+"\r\n"+"\r\n") - keyBytesMax

var errDatagram = fmt.Errorf("memcached: the request is longer than a datagram of UDP: %d bytes", requestBytesMax)

// datagrams is a UDP socket as a stream of requests and answers. The datagrams of an answer are put
// in order; those of an answer that was given up, and repeated ones, are dropped. One that is lost
// is waited for until the deadline: nothing is sent twice.
type datagrams struct {
	net.Conn
	buffer [1 << 16]byte
	rest   []byte // of the datagram that was taken last
	number uint16 // of the request
	next   int    // place of the datagram that continues the answer
	total  int    // of the answer; 0: not known yet
	early  map[uint16][]byte
}

func dialDatagrams(ctx context.Context, endpoint string, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: timeout}
	socket, err := dialer.DialContext(ctx, "udp", endpoint)
	if err != nil {
		return nil, err
	}
	// Numbers begin anywhere: a socket may get the port of one that was given up, and with it answers
	// to that one's requests.
	return &datagrams{Conn: socket, number: uint16(rand.Uint32()), early: map[uint16][]byte{}}, nil
}

// Write sends one request.
func (d *datagrams) Write(request []byte) (int, error) {
	if len(request) > requestBytesMax {
		return 0, errDatagram
	}
	d.number++
	d.rest, d.next, d.total = nil, 0, 0
	clear(d.early)
	frame := d.buffer[:frameBytes]
	binary.BigEndian.PutUint16(frame, d.number)
	copy(frame[2:], []byte{0, 0, 0, 1, 0, 0})
	n, err := d.Conn.Write(append(frame, request...))
	return max(n-frameBytes, 0), err
}

// Read reads on in the answer to the last request.
func (d *datagrams) Read(into []byte) (int, error) {
	for len(d.rest) == 0 {
		if err := d.take(); err != nil {
			return 0, err
		}
	}
	n := copy(into, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

var errEnded = errors.New("the answer's datagrams end before it does")

// take makes the next datagram of the answer the rest, if it is there already or is what comes.
func (d *datagrams) take() error {
	if d.total > 0 && d.next == d.total {
		return errEnded
	}
	if payload, ok := d.early[uint16(d.next)]; ok {
		d.rest = payload
		d.next++
		return nil
	}
	n, err := d.Conn.Read(d.buffer[:])
	if err != nil {
		return err
	}
	got := d.buffer[:n]
	if n < frameBytes || binary.BigEndian.Uint16(got) != d.number {
		return nil // of another request: too late
	}
	place, total := binary.BigEndian.Uint16(got[2:]), int(binary.BigEndian.Uint16(got[4:]))
	switch {
	case total == 0 || int(place) >= total || d.total > 0 && total != d.total:
		return fmt.Errorf("an answer's datagram says that it is number %d of %d", place+1, total)
	case int(place) > d.next:
		d.early[place] = append([]byte(nil), got[frameBytes:]...)
	case int(place) == d.next:
		d.rest = got[frameBytes:]
		d.next++
	}
	d.total = total
	return nil
}
