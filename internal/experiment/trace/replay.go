package trace

import (
	"errors"
	"fmt"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/recording"
)

// Replay says which requests of a recording a phase does, in place of drawing them. Of a load, it says
// how long the values of its keys are.
type Replay struct {
	recording.Selection
	Requests uint64 // that the selection has; the recording is refused if they are others now
	Keys     uint64
	Bytes    []int // lengths of values that stand for all, ascending; none: those of Spec.Sizes
	// KeyLengths are the stretches of the keys' shape, and KeyBytes stands for a key's length that is not
	// recorded. None: keys have indexes in the order of first sight.
	KeyLengths []keyval.Stretch `json:",omitempty"`
	KeyBytes   int              `json:",omitempty"`
	// TTLSeconds are times to live that stand for all recorded ones, ascending, and TTLsMS for how long such
	// a value is to live here. None: no value has a TTL.
	TTLSeconds []int    `json:",omitempty"`
	TTLsMS     []uint32 `json:",omitempty"`
	// Speed is how many times as fast as recorded requests are due; 0 in closed load.
	Speed  float64
	Loops  uint64 // how often all are done, one time after the other; at least 1
	SpanNS uint64 // of the selection, as recorded
}

// ReplayRequestsMax bounds the requests of a replay whose trace stands on a disk: 16 bytes each, of open load.
const ReplayRequestsMax = 1 << 31

// TraceBytes is how long the requests of a trace of it are.
func (r *Replay) TraceBytes() uint64 {
	if r.Speed > 0 {
		return 16 * r.Requests
	}
	return 8 * r.Requests
}

func (r *Replay) check(s *Spec) error {
	switch {
	case r.Requests == 0 || r.Keys == 0:
		return errors.New("a replay of nothing")
	case s.Load:
		return nil
	case (r.Speed > 0) != (s.Rate > 0):
		return errors.New("a replay has due times if, and only if, it has a rate")
	case len(r.TTLsMS) != len(r.TTLSeconds) || len(r.TTLsMS) > 0 && !s.Expires:
		return errors.New("a replay of values with a TTL, and reads are not held against it")
	case r.Loops == 0 || len(s.Segments) > 0 && r.Loops > 1:
		return fmt.Errorf("a replay of %d loops", r.Loops)
	case s.Batch > 1 || s.MultiRead > 1 || len(s.Request) > 0 || len(s.Spans) > 0:
		return errors.New("a replay has no batches, requests of steps or spans")
	}
	most := s.entriesMax()
	if s.Disk != nil {
		most = ReplayRequestsMax
	}
	if r.Requests > most {
		return fmt.Errorf("%d requests are more than the %d entries that a trace may have", r.Requests, most)
	}
	return nil
}

// replayed is a replay being made.
type replayed struct {
	*generator
	nearest recording.Nearest
	times   recording.Nearest
	lengths []uint32    // of values: of Bytes, or of Sizes
	drawn   choice[int] // position of the length of a value whose length is not recorded
	classes [][]int16   // size class of each length with no TTL, and with each; −1: none yet
	sizes   random
	keys    *recording.Numbering
	places  *recording.Places // of keys; nil: they have none
	known   []uint8           // of each key: position of its length + 1, once the recording tells one; 0: not yet
	n       uint64            // requests so far
}

func newReplayed(g *generator) *replayed {
	r := &replayed{generator: g, nearest: recording.NewNearest(g.Replay.Bytes),
		times: recording.NewNearest(g.Replay.TTLSeconds), keys: recording.NewNumbering(),
		sizes: newRandom(g.Seed, 0, purposeSizes)}
	if len(g.Replay.KeyLengths) > 0 {
		r.places = recording.NewPlaces(g.Replay.KeyLengths, g.Replay.KeyBytes)
	}
	for _, bytes := range g.Replay.Bytes {
		r.lengths = append(r.lengths, uint32(bytes))
	}
	for _, z := range g.Sizes {
		at := r.nearest.Of(int64(z.Bytes))
		if at < 0 {
			at, r.lengths = len(r.lengths), append(r.lengths, uint32(z.Bytes))
		}
		r.drawn.add(at, z.Weight)
	}
	for range r.lengths {
		none := make([]int16, 1+len(g.Replay.TTLsMS))
		for i := range none {
			none[i] = -1
		}
		r.classes = append(r.classes, none)
	}
	return r
}

// each calls for the requests in their order, with the numbers of their keys. It holds that they are as
// many as they were when the experiment was read.
func (r *replayed) each(do func(request *recording.Request, key uint32) error) error {
	replay := r.Replay
	changed := func() error {
		return fmt.Errorf("the recording %s has changed: it had %d requests for %d keys when the experiment was read", replay.File, replay.Requests, replay.Keys)
	}
	_, err := replay.Each(func(batch []recording.Request) error {
		if r.Stopped != nil {
			if err := r.Stopped(); err != nil {
				return err
			}
		}
		if r.n+uint64(len(batch)) > replay.Requests {
			return changed()
		}
		for i := range batch {
			key, isNew, err := r.keys.NumberIn(r.places, batch[i].Key, batch[i].KeyBytes)
			if err != nil {
				return err
			}
			if missing := int(key) + 1 - len(r.known); isNew && missing > 0 {
				r.known = append(r.known, make([]uint8, missing)...)
			}
			if bytes := batch[i].ValueBytes; bytes != recording.Unknown && r.known[key] == 0 && len(replay.Bytes) > 0 {
				r.known[key] = uint8(r.nearest.Of(bytes)) + 1
			}
			if err := do(&batch[i], key); err != nil {
				return err
			}
			r.n++
		}
		return nil
	})
	if err == nil && (r.n != replay.Requests || uint64(r.keys.Len()) != replay.Keys) {
		err = changed()
	}
	return err
}

// class returns that of a value that is written; where the recording does not report its length, that of
// the key, or one that is drawn.
func (r *replayed) class(request *recording.Request, key uint32) (uint8, error) {
	length, ttl := 0, 0
	switch {
	case len(r.Replay.Bytes) == 0:
		length = r.drawn.pick(r.sizes)
	case request.ValueBytes != recording.Unknown:
		length = r.nearest.Of(request.ValueBytes)
	case r.known[key] > 0:
		length = int(r.known[key] - 1)
	default:
		length = r.drawn.pick(r.sizes)
	}
	if request.TTLSeconds > 0 && len(r.Replay.TTLsMS) > 0 {
		ttl = r.times.Of(int64(request.TTLSeconds)) + 1
	}
	return r.classFor(length, ttl)
}

// classFor returns the size class of a length with a TTL, by their positions; 0: without a TTL.
func (r *replayed) classFor(length, ttl int) (uint8, error) {
	if class := r.classes[length][ttl]; class >= 0 {
		return uint8(class), nil
	}
	a := amount{amount: r.lengths[length]}
	if ttl > 0 {
		a.ttlMS = r.Replay.TTLsMS[ttl-1]
	}
	class, err := r.classOf(a)
	r.classes[length][ttl] = int16(class)
	return class, err
}

// ReplayedAs returns the operation by which a recorded one is played. What changes a value writes a
// whole one.
func ReplayedAs(o recording.Operation) Operation {
	switch o.Played() {
	case recording.Get:
		return Read
	case recording.Delete:
		return Delete
	}
	return Upsert
}

// replay makes the threads of a replay: requests go to them in turn, so that number i of all is number
// i ÷ threads of thread i mod threads.
func (g *generator) replay() error {
	r := newReplayed(g)
	threads := g.threads()
	if err := g.makeRoom(threads); err != nil {
		return err
	}
	at := 0
	err := r.each(func(request *recording.Request, key uint32) (err error) {
		o, class := ReplayedAs(request.Operation), uint8(0)
		if o.Puts() {
			if class, err = r.class(request, key); err != nil {
				return err
			}
		}
		t := &threads[at]
		if at++; at == len(threads) {
			at = 0
		}
		t.Entries = append(t.Entries, MakeEntry(o, uint64(key), class, false))
		if g.Rate > 0 {
			t.Due = append(t.Due, g.FromNS+uint64(float64(request.AtNS)/g.Replay.Speed))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range threads {
		g.limitReplay(&threads[i])
	}
	return nil
}

// makeRoom gives the threads of a replay room for their requests.
func (g *generator) makeRoom(threads []Thread) error {
	requests := func(thread int) uint64 {
		return (g.Replay.Requests + uint64(g.Threads-1-thread)) / uint64(g.Threads)
	}
	for i := range threads {
		threads[i] = Thread{Endpoint: g.endpoint(i)}
	}
	if g.Disk != nil && len(threads) == len(g.file.Threads) {
		file, err := g.Disk()
		if err != nil {
			return fmt.Errorf("making a file for the requests of a replay: %w", err)
		}
		return g.file.placeOnDisk(file, threads, requests, g.Rate > 0)
	}
	for i := range threads {
		threads[i].Entries = make([]Entry, 0, requests(i))
		if g.Rate > 0 {
			threads[i].Due = make([]uint64, 0, requests(i))
		}
	}
	return nil
}

// limitReplay says when a thread of a replay ends: with its loops, or before what is due too late.
func (g *generator) limitReplay(t *Thread) {
	if len(t.Entries) == 0 {
		return
	}
	t.Limit = g.Replay.Loops * uint64(len(t.Entries))
	if g.Rate == 0 {
		return
	}
	t.LapNS = uint64(float64(g.Replay.SpanNS) / g.Replay.Speed)
	if g.EndNS > 0 {
		before := t.DueBefore(g.FromNS + g.EndNS)
		if t.Limit = min(t.Limit, before); t.Limit == 0 { // a limit of 0 entries would mean none
			*t = Thread{Endpoint: t.Endpoint}
		}
	}
}

// keyClasses returns the position of the length of each key's value + 1, of those that the recording
// tells, for their load; 0: it reports none. Each has a size class with each TTL of the load.
func (g *generator) keyClasses() ([]uint8, *replayed, error) {
	r := newReplayed(g)
	if err := r.each(func(*recording.Request, uint32) error { return nil }); err != nil {
		return nil, nil, err
	}
	ttls := g.TTLs
	if len(ttls) == 0 {
		ttls = []TTL{{}}
	}
	for _, bytes := range g.Replay.Bytes {
		for _, ttl := range ttls {
			if _, err := g.classOf(amount{amount: uint32(bytes), ttlMS: ttl.MS}); err != nil {
				return nil, nil, err
			}
		}
	}
	return r.known, r, nil
}

// loadClass returns the size class of a length, by its position, with a TTL of the load.
func (r *replayed) loadClass(length uint8, ttlMS uint32) uint8 {
	return r.generator.classes[amount{amount: r.lengths[length], ttlMS: ttlMS}]
}
