package wire

import "assay/store"

// Handle is a [store.Handle] that waits for the answer to each request: a [Speaker] with one request
// on its way, whose connection blocks. A driver embeds it, and adds the abilities that its protocol
// has by [Handle.Do].
type Handle struct {
	speaker Speaker
	request store.Request // reused, so that none is allocated
	value   []byte        // what is read within an operation that is no get, reused
}

// Blocking returns a handle on a speaker whose connection is there, or is made by the first operation.
func Blocking(s Speaker) Handle { return Handle{speaker: s} }

// Get reads into buf.
func (h *Handle) Get(key, buf []byte) ([]byte, error) {
	if err := h.Submit(store.Request{Operation: store.OpGet, Key: key}); err != nil {
		return nil, err
	}
	return h.await(buf[:0])
}

func (h *Handle) Put(key, value []byte) error {
	return h.Do(store.Request{Operation: store.OpPut, Key: key, Value: value})
}

func (h *Handle) Add(key, value []byte) error {
	return h.Do(store.Request{Operation: store.OpAdd, Key: key, Value: value})
}

func (h *Handle) Delete(key []byte) error {
	return h.Do(store.Request{Operation: store.OpDelete, Key: key})
}

// Do does an operation that is no [store.OpGet].
func (h *Handle) Do(r store.Request) error {
	if err := h.Submit(r); err != nil {
		return err
	}
	return h.Await()
}

// ApplyParts writes a batch, of which so many writes at most are on their way at a time: where more
// answers came than the sockets hold, server and client would wait for each other. They share the
// time of one operation.
func (h *Handle) ApplyParts(writes []store.Write, part int) error {
	for from := 0; from < len(writes); from += part {
		r := store.Request{Operation: store.OpApply, Writes: writes[from:min(from+part, len(writes))]}
		if err := h.submit(r, from == 0); err != nil {
			return err
		}
		if err := h.Await(); err != nil {
			return err
		}
	}
	return nil
}

// Submit begins an operation, and the time that it has.
func (h *Handle) Submit(r store.Request) error { return h.submit(r, true) }

func (h *Handle) submit(r store.Request, begins bool) error {
	c := h.speaker.Link()
	h.request = r
	c.Request = c.Request[:0]
	err := h.speaker.Ask(0, &h.request)
	h.request = store.Request{} // nothing of it is kept
	if err == nil && begins {
		err = c.Begin()
	}
	if err == nil {
		err = c.Send()
	}
	return err
}

// Await waits for the end of the operation that was begun.
func (h *Handle) Await() error {
	value, err := h.await(h.value[:0])
	h.keep(value)
	return err
}

func (h *Handle) await(into []byte) ([]byte, error) {
	for c := h.speaker.Link(); ; {
		c.Request = c.Request[:0]
		value, more, err := h.speaker.Answer(0, into)
		if !more {
			return value, err
		}
		h.keep(value)
		if err := c.Send(); err != nil {
			return nil, err
		}
	}
}

// keep keeps the buffer that was read into, where it has grown.
func (h *Handle) keep(value []byte) {
	if cap(value) > cap(h.value) {
		h.value = value
	}
}

// Close gives the connection back.
func (h *Handle) Close() error { return h.speaker.Link().Close() }
