package store

import "time"

// Asynchronous is a [Store] of which one thread can drive many connections: it submits operations
// and reaps those that have ended, and waits for no single one. A handle of a server costs a
// goroutine that sleeps and wakes for each answer; a lane costs none.
type Asynchronous interface {
	// Loop opens lanes, each a client of its own as a [Handle] is one, with at most pipeline
	// operations on its way at a time. It returns an error that wraps [ErrRefused] where the store
	// is opened in a way that has no asynchronous form.
	Loop(lanes, pipeline int) (Loop, error)
}

// Loop drives its lanes. It is used by one goroutine at a time. A lane's operations are done, and
// end, in the order in which they were submitted.
type Loop interface {
	// Submit begins an operation on a lane that has fewer than pipeline on its way. It does not
	// block. It may put the request off to the next Reap: so a pipeline is refilled by one write, and
	// those of all lanes by one system call.
	//
	// It keeps nothing of r after the call. [OpAdd] and [OpCompareAndSwap], and [OpApply] of a
	// [Stepper], may take several round trips: nothing else is submitted on the lane before they have
	// ended.
	Submit(lane int, r *Request)

	// Reap calls ended for each operation that has ended, in what [Handle]'s methods return: value
	// is of [OpGet] alone, and valid until ended returns. Where none has, it waits for one, but no
	// longer than wait; 0: it only looks. Submit may be called within ended.
	//
	// An error says that the loop can't go on. What fails in an operation is that operation's.
	Reap(wait time.Duration, ended Ended) error

	// Close closes all lanes; no operation is on its way.
	Close() error
}

// Pinner is a [Loop] that does its work for less where one OS thread alone uses it. Optional.
type Pinner interface {
	// Pin says that the calling goroutine, which is locked to its OS thread, alone uses the loop from
	// now on, and Unpin that it no longer does. No operation is on its way at either.
	Pin() error
	Unpin() error
	// Interface names the kernel's interface that a pinned loop uses.
	Interface() string
}

// Stepper is a [Loop] whose batches may take several round trips. Optional.
type Stepper interface{ StepsInBatches() bool }

// Ended is called once an operation has ended.
type Ended func(lane int, value []byte, err error)

// Request is one operation to submit.
type Request struct {
	Operation Operation
	Key       []byte
	Old       []byte  // of [OpCompareAndSwap]
	Value     []byte  // what is put
	Writes    []Write // of [OpApply], at least one
	// TTL is for how long [OpPut] stores, as of [Expirer.PutFor]; 0: without an end. It is 0 where
	// handles are no Expirers.
	TTL time.Duration
}

// Operation is a method of [Handle] or of one of its abilities.
type Operation uint8

const (
	OpGet Operation = iota
	OpPut
	OpDelete
	OpAdd            // where the handle is an [Adder]
	OpCompareAndSwap // where it is a [CompareAndSwapper]
	OpApply          // where it is a [Batcher]
)
