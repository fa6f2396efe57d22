package tokyotyrant

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"assay/drivers/internal/wire"
	"assay/store"
)

// magic begins each request; a byte of the command follows.
const magic = 0xC8

type command byte

const (
	commandPut     command = 0x10
	commandPutKeep command = 0x11
	commandPutNR   command = 0x18
	commandOut     command = 0x20
	commandGet     command = 0x30
	commandSync    command = 0x70
	commandVanish  command = 0x72
	commandRnum    command = 0x80
	commandStat    command = 0x88
	commandMisc    command = 0x90
)

var names = map[command]string{
	commandPut: "put", commandPutKeep: "putkeep", commandOut: "out", commandGet: "get", commandSync: "sync",
	commandVanish: "vanish", commandRnum: "rnum", commandStat: "stat", commandMisc: "misc",
}

func (c command) String() string { return names[c] }

// noUpdateLog is the option of misc that keeps it out of the update log: it changes nothing.
const noUpdateLog = 1

func appendNumber(r []byte, n int) []byte { return binary.BigEndian.AppendUint32(r, uint32(n)) }

// errRefused is all that the protocol tells of a failure.
func errRefused(what string) error {
	return fmt.Errorf("tokyotyrant: the server did not do %s; its protocol gives no reason", what)
}

// connection speaks the binary protocol.
type connection struct {
	wire.Connection
	scratch [16]byte // for bodies that are not looked at
}

// code reads the byte that begins each answer.
func (c *connection) code() (done bool, err error) {
	b, err := c.ReadBytes(1)
	if err != nil {
		return false, err
	}
	return b[0] == 0, nil
}

// number reads a count or a length, which is at most limit.
func (c *connection) number(doing string, limit int) (int, error) {
	b, err := c.ReadBytes(4)
	if err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(limit) {
		return 0, c.GiveUp(doing, errors.New("a length or a count in the answer is longer than any"))
	}
	return int(n), nil
}

// element appends what follows its length.
func (c *connection) element(doing string, into []byte) ([]byte, error) {
	n, err := c.number(doing, answerBytesMax)
	if err != nil {
		return nil, err
	}
	return c.ReadBody(into, n)
}

// answerBytesMax is above every length that the server answers with: its records have
// argumentBytesMax at most, and a found record comes with its key and the names of its columns.
const answerBytesMax = math.MaxInt32

// elements reads how an answer to misc begins: how many elements follow.
func (c *connection) elements(doing string) (n int, done bool, err error) {
	if done, err = c.code(); err != nil {
		return 0, false, err
	}
	if n, err = c.number(doing, answerBytesMax); err != nil {
		return 0, false, err
	}
	if !done && n > 0 {
		return 0, false, c.GiveUp(doing, errors.New("elements follow a failure"))
	}
	return n, done, nil
}

// none reads an answer to misc that has no elements.
func (c *connection) none(doing string) (done bool, err error) {
	n, done, err := c.elements(doing)
	if err == nil && n > 0 {
		err = c.GiveUp(doing, errors.New("the answer has elements, and none were expected"))
	}
	return done, err
}

// do sends a command without arguments.
func (c *connection) do(what command) error {
	if err := c.Begin(); err != nil {
		return err
	}
	c.Request = append(c.Request[:0], magic, byte(what))
	if err := c.Send(); err != nil {
		return err
	}
	done, err := c.code()
	if err == nil && !done {
		err = errRefused(what.String())
	}
	return err
}

// drain returns once the server has done everything that was sent before.
func (c *connection) drain() error {
	if err := c.do(commandRnum); err != nil {
		return err
	}
	_, err := c.ReadBytes(8)
	return err
}

// status is what stat reports.
type status map[string]string

func (c *connection) stat() (status, error) {
	if err := c.do(commandStat); err != nil {
		return nil, err
	}
	text, err := c.element("stat", nil)
	if err != nil {
		return nil, err
	}
	told := status{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			told[name] = value
		}
	}
	return told, nil
}

func (s status) records() (uint64, error) {
	n, err := strconv.ParseUint(s["rnum"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("it does not tell its records: rnum is %q", s["rnum"])
	}
	return n, nil
}

// numbers are the values that are some.
func (s status) numbers() map[string]float64 {
	numbers := map[string]float64{}
	for name, text := range s {
		if value, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
			numbers[name] = value
		}
	}
	return numbers
}

// appendMisc begins a call of a function: arguments follow by appendElement.
func appendMisc(r []byte, function string, options, arguments int) []byte {
	r = append(r, magic, byte(commandMisc))
	r = appendNumber(r, len(function))
	r = appendNumber(r, options)
	r = appendNumber(r, arguments)
	return append(r, function...)
}

func appendElement(r, element []byte) []byte {
	return append(appendNumber(r, len(element)), element...)
}

// binaryFace is the protocol of keys and values.
type binaryFace struct{}

func (binaryFace) check([]byte) error { return nil }

func (binaryFace) appendGet(r, key []byte) []byte { return appendKeyed(r, commandGet, key) }

func (binaryFace) readGet(c *connection, _, into []byte) ([]byte, error) {
	done, err := c.code()
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, store.ErrNotFound
	}
	return c.element("get", into)
}

func (binaryFace) appendPut(r []byte, how command, key, value []byte) ([]byte, error) {
	if len(value) > argumentBytesMax {
		return nil, errValueLength
	}
	r = append(r, magic, byte(how))
	r = appendNumber(appendNumber(r, len(key)), len(value))
	return append(append(r, key...), value...), nil
}

func (binaryFace) readPut(c *connection, how command) error {
	done, err := c.code()
	return stored(how, done, err)
}

func (binaryFace) appendDelete(r, key []byte) []byte { return appendKeyed(r, commandOut, key) }

func (binaryFace) readDelete(c *connection) error { return deleted(c.code()) }

var errValueLength = fmt.Errorf("tokyotyrant: a value has at most %d bytes", argumentBytesMax)

// stored is what an answered put returns.
func stored(how command, done bool, err error) error {
	switch {
	case err != nil || done:
		return err
	case how == commandPutKeep:
		return store.ErrConflict
	}
	return errRefused(how.String())
}

// deleted is what a delete returns: the server reports when there was nothing.
func deleted(done bool, err error) error {
	if err == nil && !done {
		return store.ErrNotFound
	}
	return err
}

func appendKeyed(r []byte, c command, key []byte) []byte {
	r = append(r, magic, byte(c))
	return append(appendNumber(r, len(key)), key...)
}
