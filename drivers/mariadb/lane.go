package mariadb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/drivers/internal/sqlkv"
	"assay/drivers/internal/wire"
	"assay/store"
)

// Loop is of [store.Asynchronous]. The library logs in. What follows is the protocol's prepared
// statements: https://mariadb.com/kb/en/com_stmt_execute/.
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	return sqlkv.NewLoop("mariadb", &d.Layout, d.Lean, d.config.TLSConfig != "", d.newDialogue, lanes, pipeline)
}

// dialogue is of [sqlkv.Dialogue]. Each request has a packet of its own, and is answered in order.
type dialogue struct {
	*wire.Connection
	numbers  numbers // of the statements, to the server
	prepared numbers // on the connection that is being made

	row     [][]byte
	decimal []byte // integers

	settles bool  // the answer to the second request of a batch is the next
	refused error // why that batch was undone
}

func (d *db) newDialogue(statements []sqlkv.LaneStatement) sqlkv.Dialogue {
	lane := &dialogue{numbers: make(numbers, len(statements))}
	lane.Connection = &wire.Connection{
		Server: "mariadb", Endpoint: d.config.Addr, Timeout: d.Timeout, Reconnects: &d.Reconnects, Bound: &d.Bound,
		Network: d.dialLane,
		Greet: func(c *wire.Connection) (err error) {
			lane.prepared, err = prepareLane(&dialogue{Connection: c}, statements)
			return err
		},
	}
	return lane
}

// numbers are what the server calls the statements: on each connection otherwise.
type numbers []uint32

// Joined gives what was asked before the connection was there its statements' numbers on it.
func (c *dialogue) Joined() {
	for r := c.Request; len(r) > 0; {
		packet := r[packetHead : packetHead+lengthIn(r)]
		if packet[0] == comStmtExecute {
			at := slices.Index(c.numbers, binary.LittleEndian.Uint32(packet[1:]))
			binary.LittleEndian.PutUint32(packet[1:], c.prepared[at])
		}
		r = r[packetHead+len(packet):]
	}
	c.numbers, c.prepared = c.prepared, nil
}

const packetHead = 4

// lengthIn is what the head of a packet says.
func lengthIn(head []byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

// dialLane lets the library log in within a time, and takes the socket from it.
func (d *db) dialLane(ctx context.Context, endpoint string, timeout time.Duration) (_ net.Conn, err error) {
	lent := &lent{}
	config := d.config.Clone()
	config.DBName = d.Place
	config.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		socket, err := wire.Dial(ctx, network, endpoint, timeout)
		if err != nil {
			return nil, err
		}
		lent.Conn = socket
		return lent, socket.SetDeadline(time.Now().Add(timeout))
	}
	connector, err := connectorOf(config)
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(ctx)
	if err != nil {
		return nil, told(err)
	}
	if !lent.marksEnd() {
		return nil, errors.Join(fmt.Errorf("asynchronous handles need MariaDB 10.2 or later: %w", store.ErrRefused), c.Close())
	}
	lent.over = true
	return lent.Conn, c.Close() // which ends the library's goroutine
}

// lent is a socket that the library has until it has logged in. Then nothing of it reaches the server,
// nor closes the socket.
type lent struct {
	net.Conn
	over     bool
	response []byte // what the library sent first
}

func (l *lent) Write(p []byte) (int, error) {
	if l.over {
		return len(p), nil
	}
	if l.response == nil {
		l.response = append([]byte{}, p...)
	}
	return l.Conn.Write(p)
}

func (l *lent) Close() error {
	if l.over {
		return nil
	}
	return l.Conn.Close()
}

// deprecateEOF is the capability of a connection on which rows end with one packet, and columns with
// none: https://mariadb.com/kb/en/connection/#capabilities.
const deprecateEOF = 1 << 24

// marksEnd reports whether both ends agreed on deprecateEOF.
func (l *lent) marksEnd() bool {
	return len(l.response) >= 8 && binary.LittleEndian.Uint32(l.response[4:])&deprecateEOF != 0
}

// Commands and first bytes of packets.
const (
	comQuery       = 0x03
	comStmtPrepare = 0x16
	comStmtExecute = 0x17

	okPacket    = 0x00 // or a row's
	endPacket   = 0xfe
	errorPacket = 0xff

	typeLongLong = 0x08
	typeString   = 0xfe

	moreResults = 0x0008 // of the status
)

// prepareLane prepares the statements on a new connection.
func prepareLane(c *dialogue, statements []sqlkv.LaneStatement) (all numbers, err error) {
	for _, s := range statements {
		c.Request = c.appendText(c.Request[:0], comStmtPrepare, s.Text)
		if err := c.Send(); err != nil {
			return nil, err
		}
		sequence := byte(0)
		body, err := c.packet(&sequence)
		if err != nil {
			return nil, err
		}
		if body[0] == errorPacket {
			refused, err := c.refusal("prepare", body)
			return nil, errors.Join(refused, err)
		}
		if body[0] != okPacket || len(body) < 12 {
			return nil, c.Unexpected("prepare", body)
		}
		number := binary.LittleEndian.Uint32(body[1:])
		columns, parameters := int(binary.LittleEndian.Uint16(body[5:])), int(binary.LittleEndian.Uint16(body[7:]))
		if slices.Contains(all, number) || parameters != len(s.Parameters) ||
			s.Columns != nil && columns != len(s.Columns) {
			return nil, c.Unexpected("prepare", body)
		}
		all = append(all, number)
		for range parameters + columns {
			if _, err := c.packet(&sequence); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func (c *dialogue) Link() *wire.Connection { return c.Connection }

// StepsInBatches is of [wire.Stepper]: what is done depends on whether all writes of a batch were.
func (c *dialogue) StepsInBatches() bool { return true }

// Begin begins a batch. Without autocommit, what follows a statement whose transaction was rolled back (the
// victim of a deadlock) begins another one, which can be rolled back, too.
func (c *dialogue) Begin(calls int) {
	c.settles, c.refused = false, nil
	if calls > 1 {
		c.Request = c.appendText(c.Request, comQuery, "SET autocommit = 0")
	}
}

func (c *dialogue) End() {}

func (c *dialogue) appendText(r []byte, command byte, text string) []byte {
	return append(append(appendHead(r, 1+len(text)), command), text...)
}

// appendHead appends the head of a packet: its length, and 0, which a command's first has.
func appendHead(r []byte, length int) []byte {
	return append(r, byte(length), byte(length>>8), byte(length>>16), 0)
}

func (c *dialogue) Call(s *sqlkv.LaneStatement, arguments [][]byte) {
	r := appendHead(c.Request, 0)
	from := len(r)
	r = append(r, comStmtExecute)
	r = binary.LittleEndian.AppendUint32(r, c.numbers[s.Number-1])
	r = append(r, 0, 1, 0, 0, 0) // no cursor, once
	for range (len(arguments) + 7) / 8 {
		r = append(r, 0) // none is NULL
	}
	r = append(r, 1) // types follow
	for _, kind := range s.Parameters {
		if kind == sqlkv.Integer {
			r = append(r, typeLongLong, 0)
		} else {
			r = append(r, typeString, 0)
		}
	}
	for i, a := range arguments {
		if s.Parameters[i] == sqlkv.Integer {
			n, _ := strconv.ParseInt(string(a), 10, 64) // the layout has looked at it
			r = binary.LittleEndian.AppendUint64(r, uint64(n))
		} else {
			r = append(appendLength(r, len(a)), a...)
		}
	}
	length := len(r) - from
	r[from-4], r[from-3], r[from-2] = byte(length), byte(length>>8), byte(length>>16)
	c.Request = r
}

func appendLength(r []byte, n int) []byte {
	switch {
	case n < 251:
		return append(r, byte(n))
	case n < 1<<16:
		return append(r, 0xfc, byte(n), byte(n>>8))
	}
	return append(r, 0xfd, byte(n), byte(n>>8), byte(n>>16))
}

// readLength reads what appendLength appends, and longer ones; false: it is none.
func readLength(body []byte) (n uint64, rest []byte, ok bool) {
	if len(body) == 0 {
		return 0, nil, false
	}
	size := 0
	switch body[0] {
	default:
		return uint64(body[0]), body[1:], true
	case 0xfb, 0xff: // NULL, and an error
		return 0, nil, false
	case 0xfc:
		size = 2
	case 0xfd:
		size = 3
	case 0xfe:
		size = 8
	}
	if len(body) < 1+size {
		return 0, nil, false
	}
	for i := size; i > 0; i-- {
		n = n<<8 | uint64(body[i])
	}
	return n, body[1+size:], true
}

// Answer reads the answer to one call, or to a batch: whether that is committed, its second request
// says.
func (c *dialogue) Answer(doing string, calls []*sqlkv.LaneStatement, visit func(row [][]byte)) (
	rows int64, more bool, err error) {
	if len(calls) == 1 {
		rows, refused, err := c.result(doing, calls[0], visit)
		if err == nil {
			err = refused
		}
		return rows, false, err
	}
	if c.settles {
		return 0, false, c.settled(doing)
	}
	refused, err := c.done(doing)
	if err != nil {
		return 0, false, err
	}
	if refused != nil { // each write was its own transaction
		return 0, false, c.GiveUp(doing, refused)
	}
	for _, s := range calls {
		_, failed, err := c.result(doing, s, visit)
		if err != nil {
			return 0, false, err
		}
		if refused == nil {
			refused = failed
		}
	}
	end := "COMMIT"
	if refused != nil {
		end = "ROLLBACK"
	}
	c.Request = c.appendText(c.appendText(c.Request, comQuery, end), comQuery, "SET autocommit = 1")
	c.settles, c.refused = true, refused
	return 0, true, nil
}

// settled reads how a batch ended.
func (c *dialogue) settled(doing string) error {
	ended, err := c.done(doing)
	if err != nil {
		return err
	}
	switched, err := c.done(doing)
	switch {
	case err != nil:
		return err
	case switched != nil:
		return c.GiveUp(doing, switched)
	case c.refused != nil && ended != nil: // it was not rolled back
		return c.GiveUp(doing, errors.Join(c.refused, ended))
	case c.refused != nil:
		return c.refused
	}
	return ended
}

// done reads the answer to a statement without rows.
func (c *dialogue) done(doing string) (refused, err error) {
	_, refused, err = c.result(doing, &sqlkv.LaneStatement{}, nil)
	return refused, err
}

// packet reads one. Those of an answer are numbered from 1.
func (c *dialogue) packet(sequence *byte) ([]byte, error) {
	head, err := c.ReadBytes(4)
	if err != nil {
		return nil, err
	}
	*sequence++
	length, number := lengthIn(head), head[3]
	if length == 0 || number != *sequence {
		return nil, c.GiveUp("read answer", fmt.Errorf("packet %d of %d bytes, expected packet %d of 1 or more", number, length, *sequence))
	}
	return c.ReadBytes(length)
}

// result reads what the server answers to a statement.
func (c *dialogue) result(doing string, s *sqlkv.LaneStatement, visit func(row [][]byte)) (
	rows int64, refused, err error) {
	sequence := byte(0)
	body, err := c.packet(&sequence)
	switch {
	case err != nil:
		return 0, nil, err
	case body[0] == errorPacket:
		refused, err = c.refusal(doing, body)
		return 0, refused, err
	case s.Verb == selects:
		return c.rows(doing, s, body, &sequence, visit)
	case body[0] != okPacket:
		return 0, nil, c.Unexpected(doing, body)
	}
	affected, ok := readEnd(body)
	if !ok {
		return 0, nil, c.Unexpected(doing, body)
	}
	return affected, nil, nil
}

const selects = "SELECT"

// readEnd reads what follows the first byte of an OK packet and of the end of rows: the number of rows that
// were written, the last number that the server gave, the status, and the number of warnings.
func readEnd(body []byte) (affected int64, ok bool) {
	n, rest, ok := readLength(body[1:])
	if !ok || n > math.MaxInt64 {
		return 0, false
	}
	_, rest, ok = readLength(rest)
	return int64(n), ok && len(rest) >= 4 && binary.LittleEndian.Uint16(rest)&moreResults == 0
}

// rows reads the rows of an answer. Its first packet tells the number of columns, and whether their
// descriptions follow: not where they are those of the last time.
func (c *dialogue) rows(doing string, s *sqlkv.LaneStatement, first []byte, sequence *byte,
	visit func(row [][]byte)) (rows int64, refused, err error) {
	columns, rest, ok := readLength(first)
	if !ok || len(rest) > 1 || columns != uint64(max(len(s.Columns), 1)) {
		return 0, nil, c.Unexpected(doing, first)
	}
	described := len(rest) == 0 || rest[0] == 1
	for described && columns > 0 {
		body, err := c.packet(sequence)
		if err != nil {
			return 0, nil, err
		}
		if body[0] != byte(len("def")) {
			return 0, nil, c.Unexpected(doing, body)
		}
		columns--
	}
	for {
		body, err := c.packet(sequence)
		switch {
		case err != nil:
			return 0, nil, err
		case body[0] == errorPacket:
			refused, err = c.refusal(doing, body)
			return 0, refused, err
		case body[0] == endPacket:
			if _, ok := readEnd(body); !ok {
				return 0, nil, c.Unexpected(doing, body)
			}
			return rows, nil, nil
		case body[0] != okPacket:
			return 0, nil, c.Unexpected(doing, body)
		}
		rows++
		if s.Columns == nil {
			continue
		}
		if !c.split(body, s.Columns) {
			return 0, nil, c.Unexpected(doing, body)
		}
		visit(c.row)
	}
}

// split takes a row apart; false: it has other columns, or one of NULL.
func (c *dialogue) split(body []byte, columns []sqlkv.Kind) bool {
	c.row, c.decimal = c.row[:0], c.decimal[:0]
	nulls := (len(columns) + 7 + 2) / 8
	if len(body) < 1+nulls {
		return false
	}
	for _, b := range body[1 : 1+nulls] {
		if b != 0 {
			return false
		}
	}
	body = body[1+nulls:]
	for _, kind := range columns {
		if kind == sqlkv.Integer {
			if len(body) < 8 {
				return false
			}
			from := len(c.decimal)
			c.decimal = strconv.AppendInt(c.decimal, int64(binary.LittleEndian.Uint64(body)), 10)
			c.row, body = append(c.row, c.decimal[from:]), body[8:]
			continue
		}
		n, rest, ok := readLength(body)
		if !ok || n > uint64(len(rest)) {
			return false
		}
		c.row, body = append(c.row, rest[:n]), rest[n:]
	}
	return len(body) == 0
}

// refusal reads an error that the server reports.
func (c *dialogue) refusal(doing string, body []byte) (refused, err error) {
	if len(body) < 3 {
		return nil, c.Unexpected(doing, body)
	}
	server := mysql.MySQLError{Number: binary.LittleEndian.Uint16(body[1:])}
	text := body[3:]
	if len(text) >= 6 && text[0] == '#' { // and five letters
		text = text[6:]
	}
	server.Message = string(text)
	return fmt.Errorf("mariadb: %s: %w", doing, told(&server)), nil
}
