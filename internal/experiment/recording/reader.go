package recording

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/base/format"
)

// LeftOut is why some lines or requests are not among what is read.
type LeftOut struct {
	Why   string `json:"why"`   // the reason
	Count uint64 `json:"count"` // how many
	First uint64 `json:"first"` // the first line or record, from 1 on
}

// Parsed is what is known of a recording once it was read.
type Parsed struct {
	Format Format    `json:"format"`
	Lines  uint64    `json:"lines"` // or records
	Wrong  uint64    `json:"wrong,omitempty"`
	Left   []LeftOut `json:"left,omitempty"`
	// Late are requests whose time is before that of the one above them. They are taken to come with it.
	Late   uint64 `json:"late,omitempty"`
	TickNS int64  `json:"tick_ns"` // resolution of the times
}

// Reader gives the requests of a file, one batch after the other. It is for one goroutine.
type Reader struct {
	name    string
	format  Format
	content *content
	parse   parser // nil: records
	tick    int64
	finer   *bool // times have fractions of a tick; nil: none has
	begun   bool
	first   int64 // time of the first request
	last    int64
	line    uint64
	good    uint64
	late    uint64
	reasons []LeftOut
	wrong   uint64
	pending []Request
}

// Bounds of a reader.
const (
	reasonsMax = 64
	// wrongShare: of more than one line in so many that is wrong, and more than wrongMin, the file is
	// taken to be something else.
	wrongShare = 10
	wrongMin   = 100
	centuryNS  = 100 * 365 * 86_400 * 1_000_000_000
)

// Open opens a recording. With "" its form is found by its beginning; columns make it CSV.
func Open(name string, form Format, columns Columns) (*Reader, error) {
	c, err := openContent(name)
	if err != nil {
		return nil, fmt.Errorf("opening the recording %s: %w", name, plain(err))
	}
	r := &Reader{name: name, format: form, content: c}
	if err := r.begin(columns); err != nil {
		c.close()
		return nil, fmt.Errorf("the recording %s: %w", name, err)
	}
	return r, nil
}

// plain leaves out the name that an error of the file system repeats.
func plain(err error) error {
	var inner interface{ Unwrap() error }
	if errors.As(err, &inner) && inner.Unwrap() != nil && strings.HasPrefix(err.Error(), "open ") {
		return inner.Unwrap()
	}
	return err
}

func (r *Reader) begin(columns Columns) (err error) {
	head, err := r.content.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return fmt.Errorf("reading its beginning: %w", err)
	}
	if len(head) == 0 {
		return errors.New("it is empty")
	}
	if r.format == "" {
		if r.format, err = find(head, columns); err != nil {
			return err
		}
	}
	r.tick = 1e9
	switch r.format {
	case Oracle:
		if !looksLikeOracle(head) {
			return fmt.Errorf("it is not oracleGeneral: its first records of %d bytes have times or next requests that can't be", oracleBytes)
		}
	case Twitter:
		r.parse = twitterLine
	case Monitor:
		r.parse, r.tick = monitorLine, 1e3
	case RocksDB:
		r.parse, r.tick = rocksLine, 1e3
	case CacheLib, CSV:
		return r.header(columns)
	default:
		return fmt.Errorf("unknown format %q: expected %s", r.format, strings.Join(Formats, ", "))
	}
	return nil
}

// header reads the line that names columns, unless they are given by number.
func (r *Reader) header(columns Columns) error {
	if m, ok := numbered(columns); ok {
		r.parse, r.tick, r.finer = m.parser(), m.unit, m.fraction
		return nil
	}
	line, _, err := r.content.line()
	if err != nil {
		return fmt.Errorf("its header: %w", err)
	}
	r.line++
	m, err := mapping(lowered(fieldsOf(line)), columns)
	if err != nil {
		return err
	}
	r.parse, r.tick, r.finer = m.parser(), m.unit, m.fraction
	return nil
}

// Close gives the file back.
func (r *Reader) Close() { r.content.close() }

// Read fills a batch, or what is left of the recording. At its end it returns 0 and io.EOF. It returns
// an error where the file is not what its form says.
func (r *Reader) Read(batch []Request) (n int, err error) {
	for n < len(batch) {
		if len(r.pending) > 0 {
			copied := copy(batch[n:], r.pending)
			n, r.pending = n+copied, r.pending[copied:]
			continue
		}
		out, err := r.next(batch[n:n:len(batch)])
		if err != nil {
			if n > 0 && errors.Is(err, io.EOF) {
				return n, nil
			}
			return n, err
		}
		if len(out) <= len(batch)-n {
			n += copy(batch[n:], out) // mostly where it is already
			continue
		}
		r.pending = out
	}
	return n, nil
}

// next appends the requests of the next line or record that has some.
func (r *Reader) next(out []Request) ([]Request, error) {
	for {
		r.line++
		if r.parse == nil {
			request, err := r.content.oracleRecord()
			if err != nil {
				return nil, r.ended(err)
			}
			if out = append(out, request); r.timed(out) {
				r.good++
				return out, nil
			}
			out = out[:0]
			continue
		}
		line, cut, err := r.content.line()
		if errors.Is(err, errLong) {
			if err := r.isWrong(whyLong); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, r.ended(err)
		}
		if len(line) == 0 {
			continue
		}
		var why string
		out, why = r.parse(line, out[:0])
		switch {
		case why == "" && (len(out) == 0 || r.timed(out)):
			if r.good++; len(out) > 0 {
				return out, nil
			}
		case why == "":
		case strings.HasPrefix(why, leftWord):
			r.good++
			if why != leftWord+"OK" {
				r.leave(strings.TrimPrefix(why, leftWord))
			}
		default:
			if cut {
				why = "cut at the file's end"
			}
			if err := r.isWrong(why); err != nil {
				return nil, err
			}
		}
	}
}

// timed makes times count from the first request's, and reports whether they can be.
func (r *Reader) timed(requests []Request) bool {
	if !r.begun {
		r.begun, r.first = true, requests[0].AtNS
	}
	for i := range requests {
		at := requests[i].AtNS - r.first
		if at > centuryNS {
			r.wrong++
			r.leave(whyFar)
			return false
		}
		if at < r.last {
			r.late++
			at = r.last
		}
		requests[i].AtNS, r.last = at, at
	}
	return true
}

func (r *Reader) leave(why string) {
	at := slices.IndexFunc(r.reasons, func(l LeftOut) bool { return l.Why == why })
	if at < 0 {
		if len(r.reasons) == reasonsMax {
			why = "others"
			at = reasonsMax - 1
			r.reasons[at].Why = why
		} else {
			at = len(r.reasons)
			r.reasons = append(r.reasons, LeftOut{Why: why, First: r.line})
		}
	}
	r.reasons[at].Count++
}

// isWrong counts a line that is left out, and refuses a file that has too many.
func (r *Reader) isWrong(why string) error {
	r.wrong++
	r.leave(why)
	if r.good == 0 && r.wrong == wrongMin || r.wrong > wrongMin && r.wrong*wrongShare > r.line {
		return r.refuse()
	}
	return nil
}

// refuse says why a file is not of its form.
func (r *Reader) refuse() error {
	first := r.reasons[0]
	for _, l := range r.reasons {
		if l.First < first.First {
			first = l
		}
	}
	return fmt.Errorf("the recording %s is not of the form %s: line %d has %s, and %s of %s lines are wrong",
		r.name, r.format, first.First, first.Why, format.Count(r.wrong), format.Count(r.line))
}

// ended says how a file ends: well, or in the middle of what is compressed.
func (r *Reader) ended(err error) error {
	r.line--
	if errors.Is(err, io.EOF) {
		if r.good == 0 && r.wrong > 0 {
			return r.refuse()
		}
		return io.EOF
	}
	what := "line"
	if r.parse == nil {
		what = "record"
	}
	return fmt.Errorf("the recording %s can't be read beyond %s %d: %w", r.name, what, r.line, err)
}

// Parsed says what was read so far.
func (r *Reader) Parsed() Parsed {
	return Parsed{Format: r.format, Lines: r.line, Wrong: r.wrong, Left: slices.Clone(r.reasons), Late: r.late,
		TickNS: r.resolution()}
}

// resolution is that of the recording's times, in ns.
func (r *Reader) resolution() int64 {
	if r.finer != nil && *r.finer {
		return min(r.tick, 1e3)
	}
	return r.tick
}
