package recording

import (
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/base/format"
)

// Selection is the part of a recording that is read.
type Selection struct {
	File    string  `json:"file"`
	Format  Format  `json:"format,omitempty"` // "": found by looking
	Columns Columns `json:"columns,omitzero"`

	From  time.Duration `json:"from_ns,omitempty"`  // since the recording's first request
	Until time.Duration `json:"until_ns,omitempty"` // likewise; 0: to its end
	OneIn uint64        `json:"one_in,omitempty"`   // of so many keys one, with all its requests; 0: all
}

const (
	// ValueBytesMax bounds a value: requests with longer ones are left out.
	ValueBytesMax = 64 << 20
	// coarseTick is the shortest tick within which requests are spread evenly.
	coarseTick = int64(time.Millisecond)
	// tickMax bounds the requests of one tick that are spread.
	tickMax = 1 << 22

	batchRequests = 4096
	batchesAhead  = 4
)

// selects reports whether a key is among those that are selected.
func (s Selection) selects(key uint64) bool { return s.OneIn <= 1 || mix(key)%s.OneIn == 0 }

// Each calls for the requests of the selection, in batches that are valid until the call returns. Their
// times count from the selection's begin. Requests of one tick of a recording that has whole
// milliseconds or seconds alone come evenly within it. It ends with the first error of do.
func (s Selection) Each(do func([]Request) error) (told Parsed, err error) {
	r, err := Open(s.File, s.Format, s.Columns)
	if err != nil {
		return Parsed{}, err
	}
	defer r.Close()
	p := producer{Selection: s, reader: r, free: make(chan []Request, batchesAhead), full: make(chan []Request),
		stop: make(chan struct{})}
	for range batchesAhead {
		p.free <- make([]Request, 0, batchRequests)
	}
	go p.run()
	for batch := range p.full {
		if err == nil {
			if err = do(batch); err != nil {
				close(p.stop)
			}
		}
		p.free <- batch[:0]
	}
	if err == nil {
		err = p.err
	}
	told = r.Parsed()
	if p.large.Count > 0 {
		told.Left = append(told.Left, p.large)
	}
	return told, err
}

// producer reads ahead, so that one core parses while another uses what was parsed.
type producer struct {
	Selection
	reader     *Reader
	free, full chan []Request
	stop       chan struct{}
	err        error // once full is closed
	large      LeftOut

	out  []Request // the batch that is being filled
	tick []Request // all at one moment, and spread once the next one begins
}

// errStopped ends reading; it is no error of the reading.
var errStopped = errors.New("stopped")

func (p *producer) run() {
	defer close(p.full)
	p.out = <-p.free
	in := make([]Request, batchRequests)
	for {
		n, err := p.reader.Read(in)
		if kept := p.take(in[:n]); kept != nil {
			err = kept
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = p.flush()
			if err == nil && len(p.out) > 0 {
				err = p.send()
			}
		}
		if !errors.Is(err, errStopped) {
			p.err = err
		}
		return
	}
}

// take passes requests on; io.EOF says that the selection ends here.
func (p *producer) take(requests []Request) error {
	coarse := p.reader.resolution() >= coarseTick
	for i := range requests {
		r := &requests[i]
		if p.Until > 0 && r.AtNS >= int64(p.Until) {
			return io.EOF
		}
		if r.AtNS < int64(p.From) {
			continue
		}
		if !coarse {
			if err := p.give(r); err != nil {
				return err
			}
			continue
		}
		if len(p.tick) > 0 && p.tick[0].AtNS != r.AtNS {
			if err := p.flush(); err != nil {
				return err
			}
		}
		if len(p.tick) == tickMax {
			return fmt.Errorf("the recording %s has more than %s requests at one moment, %s s after its first: its times are too coarse",
				p.File, format.Count(tickMax), format.Number(float64(r.AtNS)/1e9))
		}
		p.tick = append(p.tick, *r)
	}
	return nil
}

// flush spreads the requests of a tick over it.
func (p *producer) flush() error {
	n := int64(len(p.tick))
	if n == 0 {
		return nil
	}
	width := p.reader.resolution()
	for i := range p.tick {
		p.tick[i].AtNS += int64(float64(width) / float64(n) * float64(i))
		if err := p.give(&p.tick[i]); err != nil {
			return err
		}
	}
	p.tick = p.tick[:0]
	return nil
}

// give passes on a request that is selected.
func (p *producer) give(r *Request) error {
	if !p.selects(r.Key) {
		return nil
	}
	if r.ValueBytes > ValueBytesMax {
		if p.large.Count++; p.large.Count == 1 {
			p.large.Why, p.large.First = "a value above 64 MiB", p.reader.line
		}
		return nil
	}
	p.out = append(p.out, *r)
	p.out[len(p.out)-1].AtNS -= int64(p.From)
	if len(p.out) == batchRequests {
		return p.send()
	}
	return nil
}

func (p *producer) send() error {
	select {
	case p.full <- p.out:
	case <-p.stop:
		return errStopped
	}
	select {
	case p.out = <-p.free:
	case <-p.stop:
		return errStopped
	}
	return nil
}
