package riak

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The codes of messages, as riak_pb_messages.csv of riak_pb has them.
const (
	errorResponse       = 0
	serverInfoRequest   = 7
	serverInfoResponse  = 8
	getRequest          = 9
	getResponse         = 10
	putRequest          = 11
	putResponse         = 12
	deleteRequest       = 13
	deleteResponse      = 14
	getBucketRequest    = 19
	getBucketResponse   = 20
	setBucketRequest    = 21
	setBucketResponse   = 22
	resetBucketRequest  = 29
	resetBucketResponse = 30
)

// The numbers of fields of riak.proto and riak_kv.proto. Of a request for a key, a put and a delete
// the bucket is field 1 and the key field 2.
const (
	bucketField = 1
	keyField    = 2

	getRField             = 3
	getPRField            = 4
	getDeletedVClockField = 9

	putVClockField       = 3
	putContentField      = 4
	putWField            = 5
	putDWField           = 6
	putPWField           = 8
	putNodeConfirmsField = 17

	deleteRField  = 5
	deleteWField  = 6
	deletePRField = 7
	deletePWField = 8
	deleteDWField = 9

	valueField        = 1
	contentTypeField  = 2
	lastModField      = 7
	lastModUsecsField = 8
	deletedField      = 11

	responseContentField = 1
	responseVClockField  = 2

	bucketPropsField = 2 // of RpbSetBucketReq; RpbGetBucketResp has them in field 1
)

// contentType is the one that values are stored with.
const contentType = "application/octet-stream"

// frameBytesMax bounds an answer: several values of the greatest length.
const frameBytesMax = 256 << 20

var errMalformed = errors.New("an answer that is no message of the protocol")

// appendHead begins a message; its length is filled in by [finish].
func appendHead(r []byte, code byte) []byte { return append(r[:0], 0, 0, 0, 0, code) }

func finish(r []byte) []byte {
	binary.BigEndian.PutUint32(r, uint32(len(r)-4))
	return r
}

func appendBytes(r []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(r, field, protowire.BytesType), value)
}

func appendString(r []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(r, field, protowire.BytesType), value)
}

func appendNumber(r []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(r, field, protowire.VarintType), value)
}

// appendQuorum leaves out what the bucket decides.
func appendQuorum(r []byte, field protowire.Number, q quorum) []byte {
	if q == quorumDefault {
		return r
	}
	return appendNumber(r, field, uint64(q))
}

// field is one field of a message: its bytes, or its number.
type field struct {
	number protowire.Number
	bytes  []byte // nil: it is a number
	value  uint64
}

// nextField splits the first field off a message. Fields of other types than the protocol's are
// malformed.
func nextField(message []byte) (f field, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(message)
	if n < 0 {
		return f, nil, errMalformed
	}
	f.number, message = number, message[n:]
	switch kind {
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(message)
		if f.bytes == nil {
			f.bytes = []byte{}
		}
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(message)
	default:
		return f, nil, errMalformed
	}
	if n < 0 {
		return f, nil, errMalformed
	}
	return f, message[n:], nil
}

// quorum is how many replicas must answer; the greatest numbers are symbols
// (riak_pb_kv_codec.hrl).
type quorum uint32

const (
	quorumOne      quorum = math.MaxUint32 - 1
	quorumMajority quorum = math.MaxUint32 - 2
	quorumAll      quorum = math.MaxUint32 - 3
	quorumDefault  quorum = math.MaxUint32 - 4 // what the bucket's properties say
)

// appendContent appends the content of a put.
func appendContent(r []byte, value []byte) []byte {
	length := protowire.SizeTag(valueField) + protowire.SizeBytes(len(value)) +
		protowire.SizeTag(contentTypeField) + protowire.SizeBytes(len(contentType))
	r = protowire.AppendTag(r, putContentField, protowire.BytesType)
	r = protowire.AppendVarint(r, uint64(length))
	return appendString(appendBytes(r, valueField, value), contentTypeField, contentType)
}

// sibling is one of the values of a record.
type sibling struct {
	value   []byte
	written uint64 // microseconds since 1970, by the clock of the node that took the write
	deleted bool   // a tombstone, whose value has no meaning
}

func parseSibling(content []byte) (s sibling, err error) {
	hasValue := false
	for len(content) > 0 {
		var f field
		if f, content, err = nextField(content); err != nil {
			return s, err
		}
		switch f.number {
		case valueField:
			s.value, hasValue = f.bytes, f.bytes != nil
		case lastModField:
			s.written += f.value * 1e6
		case lastModUsecsField:
			s.written += f.value
		case deletedField:
			s.deleted = f.value != 0
		}
	}
	if !hasValue {
		return s, errMalformed
	}
	return s, nil
}

// found is the answer to a get. Its bytes are those of the message.
type found struct {
	newest   sibling // of equally new ones the first
	siblings int
	vclock   []byte // nil: the answer had none
}

func parseFound(message []byte) (a found, err error) {
	for len(message) > 0 {
		var f field
		if f, message, err = nextField(message); err != nil {
			return a, err
		}
		switch f.number {
		case responseContentField:
			s, err := parseSibling(f.bytes)
			if err != nil {
				return a, err
			}
			if a.siblings++; a.siblings == 1 || s.written > a.newest.written {
				a.newest = s
			}
		case responseVClockField:
			a.vclock = f.bytes
		}
	}
	return a, nil
}

// parseTwo reads a message whose fields 1 and 2 alone matter: bytes, and bytes or a number.
func parseTwo(message []byte) (first, second field, err error) {
	for len(message) > 0 {
		var f field
		if f, message, err = nextField(message); err != nil {
			return first, second, err
		}
		switch f.number {
		case 1:
			first = f
		case 2:
			second = f
		}
	}
	return first, second, nil
}
