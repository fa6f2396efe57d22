package server

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"assay/store"
)

// Proxy is what stands between clients and a server that a fault is to cut off. What comes in on one
// side goes out on the other, until it is cut: then connections stay open, and nothing passes, as
// where a cable is pulled. Or what passes is delayed, or slowed down ([Shape]).
type Proxy struct {
	listener net.Listener
	server   string
	shape    atomic.Pointer[Shape]
	pacers   [2]pacer // of requests, and of answers

	mu     sync.Mutex
	passes chan struct{} // closed while it lets through
	ends   []net.Conn    // both of each connection
	pairs  map[pair]bool // of connections that go on
	closed bool
	copies sync.WaitGroup
}

// NewProxy listens at a port of its own beside the server's address. That of a Unix socket listens at one of
// TCP anyway: what it delays, narrows and resets are connections of a network.
func NewProxy(server string) (*Proxy, error) {
	host := Host
	if store.Network(server) == "tcp" {
		var err error
		if host, _, err = net.SplitHostPort(server); err != nil {
			return nil, fmt.Errorf("a proxy of %s: %w", server, err)
		}
	}
	address := net.ParseIP(host)
	if address == nil || !address.IsLoopback() {
		address = net.ParseIP(Host) // of a server elsewhere: clients are here
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address.String(), "0"))
	if err != nil {
		return nil, fmt.Errorf("a proxy of %s: %w", server, err)
	}
	p := &Proxy{listener: listener, server: server, passes: make(chan struct{}), pairs: map[pair]bool{}}
	p.shape.Store(new(Shape))
	close(p.passes)
	p.copies.Go(p.accept)
	return p, nil
}

// Endpoint returns HOST:PORT for clients.
func (p *Proxy) Endpoint() string { return p.listener.Addr().String() }

// Cut lets nothing through any more, in either direction and of new connections neither.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.passes:
		p.passes = make(chan struct{})
	default: // it is cut
	}
}

// Heal lets through again, first of all what came meanwhile.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.passes:
	default:
		close(p.passes)
	}
}

// Close ends all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	ends := p.ends
	p.mu.Unlock()
	for _, c := range ends {
		_ = c.Close()
	}
	p.Heal() // those that wait find their connections closed
	p.copies.Wait()
	return err
}

// wait returns when something may pass.
func (p *Proxy) wait() {
	p.mu.Lock()
	passes := p.passes
	p.mu.Unlock()
	<-passes
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		if !p.holds(client) {
			return
		}
		p.copies.Go(func() { p.connect(client) })
	}
}

// holds keeps a connection's end, so that Close closes it; false: it is closed already.
func (p *Proxy) holds(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.ends = append(p.ends, c)
	return true
}

func (p *Proxy) connect(client net.Conn) {
	p.wait()
	server, err := net.Dial(store.Network(p.server), p.server)
	if err != nil || !p.holds(server) {
		_ = client.Close()
		p.forget(client)
		return
	}
	both := pair{client, server}
	p.mu.Lock()
	p.pairs[both] = true
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { p.copy(server, client, &p.pacers[0], false); close(done) }()
	p.copy(client, server, &p.pacers[1], true)
	<-done
	p.mu.Lock()
	delete(p.pairs, both)
	p.mu.Unlock()
	p.forget(client, server)
}

// copy passes on what comes from one side until that side ends, and then ends the other. Answers may
// come late.
func (p *Proxy) copy(to, from net.Conn, pace *pacer, answers bool) {
	room := make([]byte, 64<<10)
	write := func(text []byte) error {
		p.wait()
		_, err := to.Write(text)
		if err != nil {
			_ = from.Close()
		}
		return err
	}
	var behind *late
	for {
		n, err := from.Read(room[:p.shape.Load().partBytes(len(room))])
		p.wait()
		if shape := p.shape.Load(); n > 0 {
			if shape.BytesPerSecond > 0 {
				time.Sleep(time.Until(pace.pace(time.Now(), n, shape.BytesPerSecond)))
			}
			switch {
			case answers && (shape.Delay > 0 || behind != nil && behind.waiting.Load() > 0):
				if behind == nil {
					behind = newLate(write)
				}
				behind.push(room[:n], shape)
			case write(room[:n]) != nil:
				behind.end()
				return
			}
		}
		if err != nil {
			behind.end()
			if err == io.EOF {
				_ = to.(interface{ CloseWrite() error }).CloseWrite()
			} else {
				_ = to.Close()
			}
			return
		}
	}
}

func (p *Proxy) forget(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		_ = c.Close()
		for k, have := range p.ends {
			if have == c {
				p.ends[k] = p.ends[len(p.ends)-1]
				p.ends = p.ends[:len(p.ends)-1]
				break
			}
		}
	}
}
