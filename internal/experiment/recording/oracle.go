package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// oracleBytes is the length of a record of oracleGeneral: time in seconds (32 bits), object (64),
// length (32), and where the object's next request is (64; −1: none), little-endian.
const oracleBytes = 24

// requestsMax is more than any recording has.
const requestsMax = 1 << 44

// looksLikeOracle reports whether the first records have times that ascend, and next requests that come
// later or never.
func looksLikeOracle(head []byte) bool {
	const looked = 64
	records := min(len(head)/oracleBytes, looked)
	var last uint32
	for i := range records {
		record := head[i*oracleBytes:]
		at, next := binary.LittleEndian.Uint32(record), int64(binary.LittleEndian.Uint64(record[16:]))
		if at < last || next < -1 || next >= 0 && next <= int64(i) || next > requestsMax && next != math.MaxInt64 {
			return false
		}
		last = at
	}
	return records > 0
}

// oracleRecord reads the next record: a request for an object, which a read stands for.
func (c *content) oracleRecord() (Request, error) {
	var record [oracleBytes]byte
	n, err := io.ReadFull(c, record[:])
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Request{}, fmt.Errorf("it ends %d bytes into a record of %d: it is cut, or no oracleGeneral: %w", n, oracleBytes, err)
	case err != nil:
		return Request{}, err
	}
	return Request{
		AtNS: int64(binary.LittleEndian.Uint32(record[:])) * 1e9, Key: mix(binary.LittleEndian.Uint64(record[4:])),
		ValueBytes: int64(binary.LittleEndian.Uint32(record[12:])), Operation: Get,
	}, nil
}
