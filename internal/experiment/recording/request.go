package recording

import "strings"

// Operation is what a recorded request did.
type Operation uint8

const (
	Get Operation = 1 + iota
	Set
	Add
	Replace
	CompareAndSet
	Append
	Prepend
	Increment
	Decrement
	Delete
	operationEnd
)

var operationNames = [operationEnd]string{
	Get: "get", Set: "set", Add: "add", Replace: "replace", CompareAndSet: "cas", Append: "append", Prepend: "prepend",
	Increment: "incr", Decrement: "decr", Delete: "delete",
}

func (o Operation) String() string {
	if o < operationEnd {
		return operationNames[o]
	}
	return ""
}

// Writes reports whether the operation leaves a value with its key.
func (o Operation) Writes() bool { return o != Get && o != Delete }

// operationsByName has the words that recordings use, in lower case.
var operationsByName = map[string]Operation{
	"get": Get, "gets": Get, "get_lease": Get, "lease_get": Get, "gat": Get, "read": Get, "r": Get, "lookup": Get,
	"set": Set, "set_lease": Set, "lease_set": Set, "put": Set, "write": Set, "w": Set, "update": Set, "insert": Set, "upsert": Set,
	"add": Add, "replace": Replace, "cas": CompareAndSet, "append": Append, "prepend": Prepend,
	"incr": Increment, "increment": Increment, "decr": Decrement, "decrement": Decrement,
	"delete": Delete, "del": Delete, "remove": Delete,
}

// OperationOf returns the operation of a recording's word, such as the name of one.
func OperationOf(word string) (Operation, bool) { return operationOf([]byte(word)) }

// operationOf reads a recording's word for an operation.
func operationOf(word []byte) (Operation, bool) {
	switch string(word) { // nearly all
	case "get":
		return Get, true
	case "set":
		return Set, true
	}
	if o, ok := operationsByName[string(word)]; ok {
		return o, true
	}
	if len(word) > operationWordMax {
		return 0, false
	}
	o, ok := operationsByName[strings.ToLower(string(word))]
	return o, ok
}

const operationWordMax = 32

// Unknown is the length of a value that the recording does not report.
const Unknown = -1

// Request is one recorded request.
type Request struct {
	AtNS       int64  // since the first request of what is read, ascending
	Key        uint64 // tells keys apart
	ValueBytes int64  // of the value that was written or read; Unknown
	TTLSeconds uint32 // 0: none
	KeyBytes   uint16 // 0: not told
	Operation  Operation
}

// hash turns a key's bytes into a word that tells it apart: of 10⁸ keys, two meet with a chance of
// 3 in 10,000.
func hash(key []byte) uint64 {
	h := uint64(len(key))*0x9e3779b97f4a7c15 ^ 0x2545f4914f6cdd1d
	for len(key) >= 8 {
		word := uint64(key[0]) | uint64(key[1])<<8 | uint64(key[2])<<16 | uint64(key[3])<<24 |
			uint64(key[4])<<32 | uint64(key[5])<<40 | uint64(key[6])<<48 | uint64(key[7])<<56
		h = mix(h ^ word)
		key = key[8:]
	}
	var word uint64
	for i, b := range key {
		word |= uint64(b) << (8 * i)
	}
	return mix(h ^ word)
}

// mix is a bijection of words, that of SplitMix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
