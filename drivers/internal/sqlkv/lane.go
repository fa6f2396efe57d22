package sqlkv

import (
	"fmt"
	"strings"

	"assay/drivers/internal/wire"
	"assay/store"
)

// LaneStatement is a statement that each connection of asynchronous handles has prepared.
type LaneStatement struct {
	Number     int // in the order of [Layout.LaneStatements], from 1
	Text, Verb string
	Parameters []Kind
	Columns    []Kind // of its rows; nil: rows are only counted
}

// LaneStatements are those of a layout.
func (l *Layout) LaneStatements() []LaneStatement {
	var all []LaneStatement
	for o := get; o < scan; o++ {
		s := LaneStatement{Number: int(o) + 1}
		s.Text, s.Parameters = l.statement(o, 0)
		s.Verb, _, _ = strings.Cut(s.Text, " ")
		if o == get {
			s.Columns = l.kinds()
		}
		all = append(all, s)
	}
	return all
}

// Dialogue is a protocol's side of a lane, on one connection that has prepared the statements.
type Dialogue interface {
	Link() *wire.Connection
	// Begin appends what an operation of so many calls begins with to the connection's request, Call
	// the call of a statement, and End what ends them. Several are done all, or none of them.
	Begin(calls int)
	Call(s *LaneStatement, arguments [][]byte)
	End()
	// Answer reads the answer to the calls of an operation, as [wire.Speaker.Answer] does, and returns
	// how many rows they found. visit is called for each row of a statement with columns; the row
	// is valid until it returns, and its integers are in decimal. What the server refuses wraps
	// [store.ErrConflict] where that is meant.
	Answer(doing string, calls []*LaneStatement, visit func(row [][]byte)) (rows int64, more bool, err error)
}

// Lane is the [wire.Speaker] of an SQL database: it does the operations of a layout over a [Dialogue].
type Lane struct {
	layout     *Layout
	statements []LaneStatement
	dialogue   Dialogue
	asked      []askedLane // by slot

	arguments [][]byte
	into      []byte // what is read, while an answer is
	join      func(row [][]byte)
}

// askedLane is what the answer to a request is read by. Its buffers are reused.
type askedLane struct {
	operation store.Operation
	calls     []*LaneStatement
	key       []byte // of a compare-and-swap
}

// NewLane returns a lane with at most pipeline operations on its way.
func NewLane(l *Layout, statements []LaneStatement, d Dialogue, pipeline int) *Lane {
	lane := &Lane{layout: l, statements: statements, dialogue: d, asked: make([]askedLane, pipeline)}
	lane.join = func(row [][]byte) { lane.into = l.join(lane.into, row) }
	return lane
}

// NewLoop makes the lanes of [store.Asynchronous], each over a dialogue of its own. lean and secured are how the
// store was opened: the library's client has no lanes, and TLS has none.
func NewLoop(server string, l *Layout, lean, secured bool, dialogue func([]LaneStatement) Dialogue, lanes,
	pipeline int) (store.Loop, error) {
	if !lean || secured {
		return nil, fmt.Errorf("%s: asynchronous handles are of client lean and have no TLS: %w", server, store.ErrRefused)
	}
	statements := l.LaneStatements()
	speakers := make([]wire.Speaker, lanes)
	for i := range speakers {
		speakers[i] = NewLane(l, statements, dialogue(statements), pipeline)
	}
	return wire.NewLoop(speakers, pipeline)
}

// StepsInBatches is of [wire.Stepper].
func (l *Lane) StepsInBatches() bool {
	s, is := l.dialogue.(wire.Stepper)
	return is && s.StepsInBatches()
}

// Joined is of [wire.Joiner].
func (l *Lane) Joined() {
	if j, is := l.dialogue.(wire.Joiner); is {
		j.Joined()
	}
}

// Link is of [wire.Speaker].
func (l *Lane) Link() *wire.Connection { return l.dialogue.Link() }

// Ask is of [wire.Speaker].
func (l *Lane) Ask(slot int, r *store.Request) error {
	a, link := &l.asked[slot], l.Link()
	a.operation, a.calls = r.Operation, a.calls[:0]
	before := len(link.Request)
	calls := 1
	if r.Operation == store.OpApply {
		calls = len(r.Writes)
	}
	l.dialogue.Begin(calls)
	err := l.ask(a, r)
	clear(l.arguments) // nothing of the caller's is kept
	if err != nil {
		link.Request = link.Request[:before]
		return err
	}
	l.dialogue.End()
	return nil
}

func (l *Lane) ask(a *askedLane, r *store.Request) (err error) {
	switch r.Operation {
	case store.OpGet:
		l.arguments = append(l.arguments[:0], blob(r.Key))
		l.call(a, get)
	case store.OpDelete:
		l.arguments = append(l.arguments[:0], blob(r.Key))
		l.call(a, remove)
	case store.OpPut, store.OpAdd:
		if l.arguments, err = l.layout.row(l.arguments[:0], r.Key, r.Value); err != nil {
			return err
		}
		o := put
		if r.Operation == store.OpAdd {
			o = add
		}
		l.call(a, o)
	case store.OpCompareAndSwap:
		if l.arguments, err = l.layout.swap(l.arguments[:0], r.Key, r.Old, r.Value); err != nil {
			return err
		}
		a.key = append(a.key[:0], r.Key...)
		l.call(a, swap)
	case store.OpApply:
		for i := range r.Writes {
			if err := l.askWrite(a, &r.Writes[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Lane) askWrite(a *askedLane, w *store.Write) (err error) {
	if w.Delete {
		l.arguments = append(l.arguments[:0], blob(w.Key))
		l.call(a, remove)
		return nil
	}
	if l.arguments, err = l.layout.row(l.arguments[:0], w.Key, w.Value); err == nil {
		l.call(a, put)
	}
	return err
}

func (l *Lane) call(a *askedLane, o operation) {
	s := &l.statements[o]
	a.calls = append(a.calls, s)
	l.dialogue.Call(s, l.arguments)
}

// doing names operations in messages, as handles do.
var doing = [...]string{
	store.OpGet: "get", store.OpPut: "put", store.OpDelete: "delete", store.OpAdd: "add",
	store.OpCompareAndSwap: "compare and swap", store.OpApply: "batch",
}

// Answer is of [wire.Speaker]. A compare-and-swap that found no row asks if the key is there at all.
func (l *Lane) Answer(slot int, into []byte) (value []byte, more bool, err error) {
	a := &l.asked[slot]
	l.into = into
	rows, more, err := l.dialogue.Answer(doing[a.operation], a.calls, l.join)
	value, l.into = l.into, nil
	if more || err != nil {
		return value, more, err
	}
	switch a.operation {
	case store.OpGet:
		switch {
		case rows == 0:
			err = store.ErrNotFound
		case rows > 1:
			err = l.wrong(a, rows)
		}
	case store.OpPut:
		if rows < 1 {
			err = l.wrong(a, rows)
		}
	case store.OpAdd:
		if rows == 0 {
			err = store.ErrConflict
		}
	case store.OpDelete:
		if rows == 0 {
			err = store.ErrNotFound
		}
	case store.OpCompareAndSwap:
		more, err = l.swapped(a, rows)
	}
	return value, more, err
}

// wrong gives the connection up over a number of rows that the statement can't have.
func (l *Lane) wrong(a *askedLane, rows int64) error {
	return l.Link().GiveUp(doing[a.operation], fmt.Errorf("the server reported %d rows, expected one", rows))
}

func (l *Lane) swapped(a *askedLane, rows int64) (more bool, err error) {
	asked := a.calls[0] == &l.statements[there]
	switch {
	case rows > 0 && asked:
		return false, store.ErrConflict
	case rows > 0:
		return false, nil
	case asked:
		return false, store.ErrNotFound
	}
	a.calls = a.calls[:0]
	l.arguments = append(l.arguments[:0], a.key)
	l.dialogue.Begin(1)
	l.call(a, there)
	l.dialogue.End()
	return true, nil
}
