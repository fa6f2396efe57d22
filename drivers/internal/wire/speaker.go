package wire

import "assay/store"

// Speaker is one connection's side of a protocol: it adds requests to its connection's Request and
// reads their answers, in order, by the connection's own ReadLine and ReadValue. A [Loop] drives
// many of them, a [Handle] one.
//
// Each operation that has not ended has a slot of its own, below the pipeline's length: what its
// answer is read by is kept there, and its buffers are reused.
type Speaker interface {
	// Link returns the connection.
	Link() *Connection
	// Ask appends a request and keeps what its answer is read by. After an error nothing was.
	Ask(slot int, r *store.Request) error
	// Answer reads the answer to the oldest request that has none. A value is appended to into. An
	// error for which [NotHere] holds says that it has not come whole: Answer must not have changed
	// anything but the place in the stream, and is called again. more: it has appended another
	// request, the rest of the operation; value then is what it read into, to be reused.
	Answer(slot int, into []byte) (value []byte, more bool, err error)
}

// Stepper is a [Speaker] whose batches may take several requests ([store.Stepper]). Optional.
type Stepper interface{ StepsInBatches() bool }

// Joiner is a [Speaker] whose Joined is called when its lane has another connection, which was greeted,
// and on which nothing was sent yet: the link's Request was made for the one before it. Optional.
type Joiner interface{ Joined() }
