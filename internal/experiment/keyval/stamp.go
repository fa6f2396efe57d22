package keyval

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"assay/store"
)

// Stamp is a number that changes with each write of its record. It lets a store change a column,
// and the index of it, without the whole record.
type Stamp struct {
	Modulo uint64 `json:"modulo"` // how many different numbers there are
}

// StampModuloMax leaves a stamp's number 18 digits.
const StampModuloMax = 100_000_000_000_000_000

func (c *Column) stampMaker(m *columnMaker) error {
	if c.Type != store.IntegerColumn || c.Stamp.Modulo < 1 || c.Stamp.Modulo > StampModuloMax {
		return fmt.Errorf("a stamp is of type integer, and its modulo 1 to %d", uint64(StampModuloMax))
	}
	m.modulo, m.least = c.Stamp.Modulo, 1
	for m.least < m.modulo {
		m.least *= 10
	}
	return nil
}

// isStamp says if the column is a number that changes with each write.
func (c *columnMaker) isStamp() bool { return c.modulo > 0 }

// stamp returns the number of a stamp column at a position. All have the same number of digits, so
// that a record's length follows from its index alone.
func (c *columnMaker) stamp(position int, index, version uint64) uint64 {
	return c.least + Mix(index^version*versionFactor^uint64(position+1)<<56)%c.modulo
}

func (c *columnMaker) stampBytes() int {
	return len(strconv.AppendUint(make([]byte, 0, IntegerDigitsMax), c.least, 10))
}

// follow lists the columns that follow the version.
func (r *RecordShape) follow() error {
	for i := range r.columns {
		if i == r.proof || r.columns[i].isStamp() {
			r.following = append(r.following, i)
		}
	}
	if len(r.following) > 0 && r.proof < 0 {
		return errors.New("a stamp needs a proof column beside it, which says what write it is of")
	}
	return nil
}

// Following returns the positions of the columns that change with each write: the proof and the
// stamps. A modify writes these.
func (r *RecordShape) Following() []int { return r.following }

// Follows says if a column changes with each write.
func (r *RecordShape) Follows(column int) bool {
	return column == r.proof || r.columns[column].isStamp()
}

// FollowingBytes returns the length of the columns that a modify writes.
func (r *RecordShape) FollowingBytes() (bytes int) {
	for _, at := range r.following {
		bytes += r.columnBytes(at, 0)
	}
	return bytes
}

// AppendFollowing appends the bytes of the columns that follow the version, and sets values to
// them: as many as Following has.
func (r *RecordShape) AppendFollowing(dst []byte, values [][]byte, pool *Pool, index, version uint64) []byte {
	for i, at := range r.following {
		from := len(dst)
		dst = r.appendColumn(dst, at, pool, index, version)
		values[i] = dst[from:len(dst):len(dst)]
	}
	return dst
}

// claimedVersion returns the version that a proof column claims; 0 where it is too short for one.
func claimedVersion(proof []byte) uint64 {
	if len(proof) < StampBytes {
		return 0
	}
	return binary.LittleEndian.Uint64(proof[8:])
}
