package riakstandin

import (
	"encoding/binary"
	"errors"
)

// value is one field's: bytes or a number.
type value struct {
	there  bool
	bytes  []byte
	number uint64
}

// fieldsOf reads a message of the protocol, in which no field is repeated that a node is asked by.
func fieldsOf(message []byte) (map[int]value, error) {
	fields := map[int]value{}
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return nil, errors.New("a field without a number")
		}
		message = message[n:]
		number, n := binary.Uvarint(message)
		if n <= 0 {
			return nil, errors.New("a field without a value")
		}
		message = message[n:]
		v := value{there: true, number: number}
		switch tag & 7 {
		case 0:
		case 2:
			if number > uint64(len(message)) {
				return nil, errors.New("a field that is longer than its message")
			}
			v.bytes, message = message[:number:number], message[number:]
		default:
			return nil, errors.New("a field of a type that the protocol does not have")
		}
		fields[int(tag>>3)] = v
	}
	return fields, nil
}

func appendNumber(message []byte, field int, number uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(message, uint64(field)<<3), number)
}

func appendBytes(message []byte, field int, b []byte) []byte {
	message = binary.AppendUvarint(message, uint64(field)<<3|2)
	return append(binary.AppendUvarint(message, uint64(len(b))), b...)
}

func appendText(message []byte, field int, text string) []byte {
	return appendBytes(message, field, []byte(text))
}

// Message is a frame: the length, a code and a message.
func Message(code byte, message []byte) []byte {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(message)+1))
	return append(append(frame, code), message...)
}

// KeyOfGet returns the key that a frame gets; "": it is none of a get.
func KeyOfGet(frame []byte) string {
	if len(frame) < 5 || frame[4] != Get {
		return ""
	}
	fields, err := fieldsOf(frame[5:])
	if err != nil {
		return ""
	}
	return string(fields[2].bytes)
}

// Error is RpbErrorResp with Riak's usual code.
func Error(text string) []byte { return Message(0, appendNumber(appendText(nil, 1, text), 2, 0)) }

// Found is RpbGetResp.
func Found(contents [][]byte, vclock []byte) []byte {
	var message []byte
	for _, content := range contents {
		message = appendBytes(message, 1, content)
	}
	if vclock != nil {
		message = appendBytes(message, 2, vclock)
	}
	return Message(10, message)
}

// Content is RpbContent; written is in microseconds.
func Content(v []byte, written uint64, deleted bool) []byte {
	content := appendText(appendBytes(nil, 1, v), 5, "vtag")
	content = appendNumber(appendNumber(content, 7, written/1e6), 8, written%1e6)
	if deleted {
		content = appendNumber(content, 11, 1)
	}
	return content
}
