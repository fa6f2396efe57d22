package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/drivers/internal/sqlkv"
	"assay/drivers/internal/wire"
	"assay/store"
)

// Loop is of [store.Asynchronous]. pgx logs in and prepares the statements. What follows is the
// protocol's extended query: Bind, Execute and, so that an error ends with its operation, Sync.
// https://www.postgresql.org/docs/15/protocol-flow.html
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	return sqlkv.NewLoop("postgres", &d.Layout, d.Lean, d.config.TLSConfig != nil, d.newDialogue, lanes, pipeline)
}

// dialogue is of [sqlkv.Dialogue].
type dialogue struct {
	*wire.Connection
	forms []callForm // by the statement's number, from 1
	row   [][]byte   // reused
}

// callForm is what stands around the arguments of a call.
type callForm struct {
	before []byte // of a Bind, after its length
	after  []byte // the rest of the Bind
}

// execute is the message Execute of the portal without a name, for all rows.
const execute, synchronize = "E\x00\x00\x00\x09\x00\x00\x00\x00\x00", "S\x00\x00\x00\x04"

func (d *db) newDialogue(statements []sqlkv.LaneStatement) sqlkv.Dialogue {
	c := &dialogue{Connection: &wire.Connection{
		Server: "postgres", Timeout: d.Timeout, Reconnects: &d.Reconnects, Bound: &d.Bound,
		Network: func(ctx context.Context, _ string, timeout time.Duration) (net.Conn, error) {
			return d.dialLane(ctx, statements, timeout)
		},
	}}
	for _, s := range statements {
		var f callForm
		f.before = append(append(append(f.before, 0), strconv.Itoa(s.Number)...), 0)
		f.before = appendFormats(f.before, s.Parameters)
		f.before = binary.BigEndian.AppendUint16(f.before, uint16(len(s.Parameters)))
		f.after = appendFormats(f.after, s.Columns)
		c.forms = append(c.forms, f)
	}
	return c
}

// appendFormats appends how values of some kinds stand in messages.
func appendFormats(message []byte, kinds []sqlkv.Kind) []byte {
	message = binary.BigEndian.AppendUint16(message, uint16(len(kinds)))
	for _, kind := range kinds {
		message = binary.BigEndian.AppendUint16(message, uint16(formatOf(types[kind])))
	}
	return message
}

// dialLane connects within a time, and returns the socket, on which the server waits for requests.
func (d *db) dialLane(ctx context.Context, statements []sqlkv.LaneStatement, timeout time.Duration) (
	_ net.Conn, err error) {
	config := d.config.Config.Copy()
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		socket, err := wire.Dial(ctx, network, address, timeout)
		if err != nil {
			return nil, err
		}
		return socket, socket.SetDeadline(time.Now().Add(timeout))
	}
	c, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, told(err)
	}
	defer func() {
		if err != nil {
			_ = c.Close(ctx) // the caller reports the failure
			err = told(err)
		}
	}()
	for _, s := range statements {
		oids := make([]uint32, len(s.Parameters))
		for i, kind := range s.Parameters {
			oids[i] = types[kind]
		}
		if _, err := c.Prepare(ctx, strconv.Itoa(s.Number), s.Text, oids); err != nil {
			return nil, err
		}
	}
	if err := c.SyncConn(ctx); err != nil {
		return nil, err
	}
	taken, err := c.Hijack()
	if err != nil {
		return nil, err
	}
	return taken.Conn, taken.Conn.SetDeadline(time.Time{})
}

func (c *dialogue) Link() *wire.Connection { return c.Connection }

func (c *dialogue) Call(s *sqlkv.LaneStatement, arguments [][]byte) {
	f := &c.forms[s.Number-1]
	r := append(c.Request, 'B', 0, 0, 0, 0)
	from := len(r) - 4
	r = append(r, f.before...)
	for _, a := range arguments {
		r = append(binary.BigEndian.AppendUint32(r, uint32(len(a))), a...)
	}
	r = append(r, f.after...)
	binary.BigEndian.PutUint32(r[from:], uint32(len(r)-from))
	c.Request = append(r, execute...)
}

// Begin appends nothing: one Sync makes several calls one transaction.
func (c *dialogue) Begin(int) {}

func (c *dialogue) End() { c.Request = append(c.Request, synchronize...) }

// Types of messages: https://www.postgresql.org/docs/15/protocol-message-formats.html.
const (
	bindComplete    = '2'
	dataRow         = 'D'
	commandComplete = 'C'
	readyForQuery   = 'Z'
	errorResponse   = 'E'
	notice          = 'N'
	parameterStatus = 'S'
	notification    = 'A'
)

const selects = "SELECT"

// besideMax is how many notices may stand in one answer; what is read again must come to an end.
const besideMax = 100

func (c *dialogue) Answer(doing string, calls []*sqlkv.LaneStatement, visit func(row [][]byte)) (
	rows int64, _ bool, err error) {
	var refused error
	ended, bound, beside, came := 0, false, 0, int64(0)
	for {
		kind, body, err := c.message()
		if err != nil {
			return 0, false, err
		}
		switch {
		case kind == notice || kind == parameterStatus || kind == notification:
			if beside++; beside > besideMax {
				return 0, false, c.GiveUp(doing, fmt.Errorf("more than %d notices in one answer", besideMax))
			}
		case kind == readyForQuery && string(body) == "I" && (refused != nil || ended == len(calls)):
			return rows, false, refused
		case refused != nil:
			return 0, false, c.unexpected(doing, kind, body)
		case kind == errorResponse:
			if refused, err = c.refusal(doing, body); err != nil {
				return 0, false, err
			}
		case ended == len(calls):
			return 0, false, c.unexpected(doing, kind, body)
		case kind == bindComplete && !bound && len(body) == 0:
			bound = true
		case kind == dataRow && bound && calls[ended].Verb == selects:
			came++
			if columns := calls[ended].Columns; columns != nil {
				if !c.split(body, len(columns)) {
					return 0, false, c.unexpected(doing, kind, body)
				}
				visit(c.row)
			}
		case kind == commandComplete && bound:
			n, ok := rowsOf(body, calls[ended].Verb)
			if !ok || calls[ended].Verb == selects && n != came {
				return 0, false, c.unexpected(doing, kind, body)
			}
			rows, came, bound = rows+n, 0, false
			ended++
		default:
			return 0, false, c.unexpected(doing, kind, body)
		}
	}
}

// message reads one: its type, a length that counts itself, and so many bytes.
func (c *dialogue) message() (kind byte, body []byte, err error) {
	head, err := c.ReadBytes(5)
	if err != nil {
		return 0, nil, err
	}
	kind = head[0]
	length := int64(binary.BigEndian.Uint32(head[1:]))
	if length < 4 || length > valueBytesMax+messageMax {
		return 0, nil, c.GiveUp("read answer", fmt.Errorf("a message of %d bytes, expected 4 to %d", length, valueBytesMax+messageMax))
	}
	body, err = c.ReadBytes(int(length) - 4)
	return kind, body, err
}

func (c *dialogue) unexpected(doing string, kind byte, body []byte) error {
	return c.Unexpected(doing, append([]byte{kind}, body[:min(len(body), 100)]...))
}

// split takes a row apart; false: it has not so many columns, or has one of NULL.
func (c *dialogue) split(body []byte, columns int) bool {
	c.row = c.row[:0]
	if len(body) < 2 || int(binary.BigEndian.Uint16(body)) != columns {
		return false
	}
	for body = body[2:]; len(c.row) < columns; {
		if len(body) < 4 {
			return false
		}
		n := int64(binary.BigEndian.Uint32(body))
		if body = body[4:]; n > int64(len(body)) {
			return false
		}
		c.row, body = append(c.row, body[:n]), body[n:]
	}
	return len(body) == 0
}

// rowsOf reads what a CommandComplete says: INSERT 0 1, UPDATE 1, SELECT 1.
func rowsOf(body []byte, verb string) (rows int64, ok bool) {
	end := len(body) - 1
	if end < len(verb)+2 || body[end] != 0 || string(body[:len(verb)]) != verb || body[len(verb)] != ' ' {
		return 0, false
	}
	digits := 0
	for scale := int64(1); body[end-1-digits] >= '0' && body[end-1-digits] <= '9'; scale *= 10 {
		if digits == 18 {
			return 0, false
		}
		rows += scale * int64(body[end-1-digits]-'0')
		digits++
	}
	return rows, digits > 0 && body[end-1-digits] == ' '
}

// refusal reads an error that the server reports. One after which it ends the session gives the
// connection up.
func (c *dialogue) refusal(doing string, body []byte) (refused, err error) {
	var server pgconn.PgError
	rest := body
	for len(rest) > 1 {
		field, end := rest[0], 1
		for end < len(rest) && rest[end] != 0 {
			end++
		}
		if end == len(rest) {
			return nil, c.unexpected(doing, errorResponse, body)
		}
		text := string(rest[1:end])
		switch rest = rest[end+1:]; field {
		case 'V':
			server.SeverityUnlocalized = text
		case 'C':
			server.Code = text
		case 'M':
			server.Message = text
		}
	}
	switch {
	case len(rest) != 1 || rest[0] != 0 || server.Code == "":
		return nil, c.unexpected(doing, errorResponse, body)
	case server.SeverityUnlocalized == "FATAL" || server.SeverityUnlocalized == "PANIC":
		return nil, c.GiveUp(doing, told(&server))
	}
	return fmt.Errorf("postgres: %s: %w", doing, told(&server)), nil
}
