package tarantool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	iproto "github.com/tarantool/go-iproto"
	tarantool "github.com/tarantool/go-tarantool/v2"

	"assay/drivers/internal/wire"
	"assay/store"
)

// link is a connection of the client's, which multiplexes the requests of many threads. Once it broke, it
// stays so until the next operation asks for it.
type link struct {
	endpoint   string
	access     wire.Access
	timeout    time.Duration                        // of a request, and of connecting
	greet      func(*tarantool.Connection) error    // what each new connection begins with; nil: nothing
	reconnects *atomic.Uint64                       // how often it was made again; nil: not counted
	making     sync.Mutex                           // held while a connection is made
	now        atomic.Pointer[tarantool.Connection] // the last that was made; nil: none was
}

func (d *db) newLink(timeout time.Duration) *link {
	return &link{endpoint: d.endpoint, access: d.access, timeout: timeout}
}

// connect makes the first connection.
func (l *link) connect(ctx context.Context) error {
	l.making.Lock()
	defer l.making.Unlock()
	return l.make(ctx)
}

// connection returns one that works, as far as is known.
func (l *link) connection() (*tarantool.Connection, error) {
	if c := l.now.Load(); c.ConnectedNow() {
		return c, nil
	}
	l.making.Lock()
	defer l.making.Unlock()
	if c := l.now.Load(); c.ConnectedNow() { // another thread made it
		return c, nil
	}
	if err := l.make(context.Background()); err != nil {
		return nil, err
	}
	if l.reconnects != nil {
		l.reconnects.Add(1)
	}
	return l.now.Load(), nil
}

func (l *link) make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	user, password, _ := l.access.Login()
	dialer := patient{tarantool.NetDialer{Address: l.endpoint, User: user, Password: password}}
	c, err := tarantool.Connect(ctx, dialer, tarantool.Opts{Timeout: l.timeout, SkipSchema: true, Logger: silent{}})
	if err != nil {
		return l.access.Hide(failure(doingConnect, err))
	}
	if l.greet != nil {
		if err := l.greet(c); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	l.now.Store(c)
	return nil
}

// do makes one request, and reads its answer.
func (l *link) do(doing string, request tarantool.Request, answer any) error {
	c, err := l.connection()
	if err != nil {
		return err
	}
	return failure(doing, c.Do(request).GetTyped(answer))
}

// Close ends the connection. One that broke is closed already.
func (l *link) Close() error {
	c := l.now.Load()
	if c == nil || c.ClosedNow() {
		return nil
	}
	return failure("close", c.Close())
}

// patient gives a connection twice the time of a request until something comes. The client would give it
// the same, and end it before the request on it has timed out. It pings, so that something comes.
type patient struct{ tarantool.Dialer }

func (p patient) Dial(ctx context.Context, o tarantool.DialOpts) (tarantool.Conn, error) {
	o.IoTimeout *= 2
	return p.Dialer.Dial(ctx, o)
}

// silent keeps the client's log to itself: operations tell the same errors.
type silent struct{}

// Report is of the client's Logger.
func (silent) Report(tarantool.ConnLogKind, *tarantool.Connection, ...any) {}

// is reports whether the server answered with an error of a kind.
func is(err error, code iproto.Error) bool {
	var answered tarantool.Error
	return errors.As(err, &answered) && answered.Code == code
}

// What is done once, and is no operation.
const (
	doingConnect = "connect"
	doingEval    = "eval"
)

// refusal is an error that the server answered with.
type refusal struct {
	doing    string
	answered tarantool.Error
}

// Error has the server's own message of scripts alone: those of operations have lengths in them, and that of
// a login the user's name.
func (r refusal) Error() string {
	text := fmt.Sprintf("tarantool: %s: the server answers %v", r.doing, r.answered.Code)
	if r.doing == doingEval {
		text += ": " + r.answered.Msg
	}
	return text
}

// Unwrap gives the server's error.
func (r refusal) Unwrap() error { return r.answered }

// failure says what failed, as a timeout where it is one. Each cause has one text: the messages of client
// and server have numbers of ports and bytes in them.
func failure(doing string, err error) error {
	var answered tarantool.Error
	var client tarantool.ClientError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return refusal{doing, answered}
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("tarantool: %s: %w", doing, store.ErrTimeout)
	case !errors.As(err, &client):
		return wire.Failure("tarantool", doing, err)
	case client.Code == tarantool.ErrTimeouted:
		return fmt.Errorf("tarantool: %s: %w", doing, store.ErrTimeout)
	case client.Code == tarantool.ErrProtocolError:
		return fmt.Errorf("tarantool: %s: the answer is none of the protocol", doing)
	}
	return fmt.Errorf("tarantool: %s: the connection broke", doing)
}
