package agents

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// Protocol is the version of what conductor and agents say to each other.
const Protocol = 3

// The subjects. An agent's own end in the name that it drew.
const (
	subjectJoin = "assay.join"  // hello: agents that look for a conductor
	subjectTo   = "assay.to."   // orders
	subjectFrom = "assay.from." // replies
)

// Hello is what an agent says of itself.
type Hello struct {
	ID       string `json:"id"` // that it drew for this session
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Contract int    `json:"contract"`
	Name     string `json:"name,omitempty"` // that its launcher gave it
	Host     string `json:"host"`
	// Machine is equal for processes that see each other's numbers in /proc, and for no others.
	Machine string  `json:"machine"`
	PID     int     `json:"pid"`
	CPUs    int     `json:"cpus"`
	Quota   float64 `json:"cpu_quota,omitempty"` // of its cgroups, in CPUs; 0: none
}

// The kinds of orders.
const (
	orderWelcome = "welcome" // the conductor takes the agent: Nonce and Lease
	orderRefused = "refused" // it does not: Why
	orderPing    = "ping"    // what time is it there? The phase is to end, if Stop
	orderStart   = "start"   // a worker
	orderAsk     = "ask"     // the worker for Request
	orderPrepare = "prepare" // a share of a phase
	orderHistory = "history" // what Thread recorded, from record From on
	orderLook    = "look"    // the counters of all workers
	orderKill    = "kill"    // a worker, at once
	orderEnd     = "end"     // a worker, as it ends by itself
	orderBye     = "bye"     // the session is over
)

type order struct {
	Kind       string           `json:"kind"`
	ID         int64            `json:"id,omitempty"`
	Worker     int              `json:"worker,omitempty"`
	Nonce      string           `json:"nonce,omitempty"`
	Lease      time.Duration    `json:"lease_ns,omitempty"`
	Why        string           `json:"why,omitempty"`
	Stop       bool             `json:"stop,omitempty"`
	Histograms bool             `json:"histograms,omitempty"`
	Request    *control.Request `json:"request,omitempty"`
	Share      *Share           `json:"share,omitempty"`
	Thread     int              `json:"thread,omitempty"`
	From       int              `json:"from,omitempty"`
}

// Share is what a worker of an agent does of a phase: Prepare as for any worker, but for the files,
// which the agent makes of the phase's specs.
type Share struct {
	Prepare   control.Prepare `json:"prepare"`
	Specs     []trace.Spec    `json:"specs"`
	Processes int             `json:"processes"` // of the phase

	Recorded    []uint64 `json:"recorded,omitempty"`     // keys whose history is recorded
	HistoryRoom int      `json:"history_room,omitempty"` // for so many records of each thread
}

// Prepared is the result of prepare.
type Prepared struct {
	control.Prepared
	Digest string `json:"digest"` // of the share's operations
}

// recorded is the result of history: a part of what a thread has recorded.
type recorded struct {
	Count   int    `json:"count"` // records in all
	Dropped uint64 `json:"dropped"`
	Records []byte `json:"records"` // 32 bytes each
}

// recordsMax is how many records a part has.
const recordsMax = 8192

// The kinds of replies.
const (
	replyPong = "pong"
	replyDone = "done" // to what has a Worker
	replyLook = "look"
	replyBye  = "bye"
)

type reply struct {
	Kind   string          `json:"kind"`
	ID     int64           `json:"id,omitempty"`
	Worker int             `json:"worker,omitempty"`
	AtNS   int64           `json:"at_ns,omitempty"` // on the agent's CLOCK_MONOTONIC
	Error  *failure        `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`

	Part  int                    `json:"part,omitempty"` // look: from 1 on, of Of; their threads stand behind the line
	Of    int                    `json:"of,omitempty"`
	Words *counters.ProcessWords `json:"words,omitempty"`
	Usage *Usage                 `json:"usage,omitempty"`

	Refused map[string]uint64 `json:"refused,omitempty"` // bye: messages that the agent has refused, by why
	Why     string            `json:"why,omitempty"`
}

// Usage is what an agent's machine did for a worker since it began.
type Usage struct {
	CPUSeconds      float64 `json:"cpu_seconds"`       // of the worker and what runs below it
	RSSBytes        uint64  `json:"rss_bytes"`         //
	AgentCPUSeconds float64 `json:"agent_cpu_seconds"` // of the agent itself

	// Stops of the worker in the phase, on the agent's clock: the newest stopsMax.
	Stops []host.Stop `json:"stops,omitempty"`
}

// stopsMax bounds how many stops a look tells of.
const stopsMax = 100

// failure is an error that travels. Class is that of a control.Error; "": it is none.
type failure struct {
	Class   string `json:"class,omitempty"`
	Message string `json:"message"`
	Died    bool   `json:"died,omitempty"`
	Hung    bool   `json:"hung,omitempty"`
	Taken   bool   `json:"taken,omitempty"` // it died, killed from outside
}

// encode makes a message's body: a line of JSON, and what stands behind it.
func encode(head any, tail []byte) ([]byte, error) {
	line, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return append(append(line, '\n'), tail...), nil
}

// decode reads a body strictly: a field that this program does not know is of another version.
func decode(body []byte, head any) (tail []byte, err error) {
	line, tail, _ := bytes.Cut(body, []byte{'\n'})
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(head); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one JSON value", errMalformed)
	}
	return tail, nil
}

// A part of a look has threads: the number of each, the length of its copy, and that.
func appendThread(tail []byte, thread int, copied []byte) []byte {
	tail = binary.AppendUvarint(tail, uint64(thread))
	tail = binary.AppendUvarint(tail, uint64(len(copied)))
	return append(tail, copied...)
}

func eachThread(tail []byte, do func(thread int, copied []byte) error) error {
	for len(tail) > 0 {
		thread, n := binary.Uvarint(tail)
		if n <= 0 || thread > trace.ThreadsMax {
			return errors.New("the number of a thread is cut, or none")
		}
		length, m := binary.Uvarint(tail[n:])
		if m <= 0 || length > uint64(len(tail)-n-m) {
			return errors.New("the counters of a thread are cut")
		}
		if err := do(int(thread), tail[n+m:n+m+int(length)]); err != nil {
			return err
		}
		tail = tail[n+m+int(length):]
	}
	return nil
}
