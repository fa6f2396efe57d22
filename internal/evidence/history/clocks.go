package history

import (
	"cmp"
	"slices"

	"assay/internal/evidence/audit"
	"assay/internal/experiment/trace"
)

// Times are compared on scales: that of a clock, on which its own operations have their exact order,
// and everyone's, on which an operation began as much earlier and ended as much later as its clock may
// be wrong. Two operations of one clock are compared on the clock's scale, two of different ones on
// everyone's. Where one clock told all times, everyone's is the only scale.
const everyone = 0

// clocks are those that told a phase's times.
type clocks struct {
	ofThread []int // nil: one told all of them
	errorsNS []int64
}

func clocksOf(h *audit.History) clocks { return clocks{h.ClockOf, h.ErrorsNS} }

// of returns the scale on which an operation's times are exact, and by how much they may be wrong on
// everyone's.
func (c clocks) of(e *audit.HistoryEvent) (scale int, withinNS int64) {
	if c.ofThread == nil {
		return everyone, 0
	}
	clock := c.ofThread[e.Thread]
	return everyone + 1 + clock, c.errorsNS[clock]
}

// before says whether a surely ended before b began.
func (c clocks) before(a, b *audit.HistoryEvent) bool {
	scale, within := c.of(a)
	other, otherWithin := c.of(b)
	if scale == other {
		within, otherWithin = 0, 0
	}
	return a.EndNS+within < b.BeginNS-slackNS-otherWithin
}

// effect is the moment on a scale by which a write surely had taken effect: the end of the write, or
// that of a read of it.
type effect struct {
	scale int
	ns    int64
}

// seenBy notes that a write had taken effect when e ended, which is the write itself or a read of it.
func (w *write) seenBy(clocks clocks, e *audit.HistoryEvent) {
	scale, within := clocks.of(e)
	if w.effects[0].ns = min(w.effects[0].ns, e.EndNS+within); scale == everyone || w.begin == before {
		return // what was there before was there before everything, on each scale
	}
	for i := range w.effects {
		if at := &w.effects[i]; at.scale == scale {
			at.ns = min(at.ns, e.EndNS)
			return
		}
	}
	w.effects = append(w.effects, effect{scale, e.EndNS})
}

// line is a key's writes in the order in which they began, on one scale, with the first effect, on
// another, of each and those behind it.
type line struct {
	begins, effects []int64
}

// draw makes the lines of a key. Each write is in one for each scale on which its begin is known and
// each on which its effect is: as many in all as the key has operations, and as many again.
func (k *key) draw() {
	for _, w := range k.ordered {
		if w.begin == before {
			continue
		}
		var within int64
		if w.scale != everyone {
			_, within = k.clocks.of(w.event)
		}
		for _, to := range w.effects {
			k.line(everyone, to.scale).add(w.begin-within, to.ns)
			if w.scale != everyone {
				k.line(w.scale, to.scale).add(w.begin, to.ns)
			}
		}
	}
	for _, l := range k.lines {
		l.sort()
	}
}

func (k *key) line(from, to int) *line {
	l := k.lines[[2]int{from, to}]
	if l == nil {
		l = &line{}
		k.lines[[2]int{from, to}] = l
	}
	return l
}

func (l *line) add(begin, effect int64) {
	l.begins, l.effects = append(l.begins, begin), append(l.effects, effect)
}

func (l *line) sort() {
	order := make([]int, len(l.begins))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(l.begins[a], l.begins[b]) })
	begins, effects, first := make([]int64, len(order)), make([]int64, len(order)), int64(never)
	for i := len(order) - 1; i >= 0; i-- {
		first = min(first, l.effects[order[i]])
		begins[i], effects[i] = l.begins[order[i]], first
	}
	l.begins, l.effects = begins, effects
}

// after returns when the first of the writes that began after a moment surely had taken effect.
func (l *line) after(ns int64) int64 {
	at, _ := slices.BinarySearchFunc(l.begins, ns, func(begin, ns int64) int {
		if begin > ns {
			return 1
		}
		return -1
	})
	if at == len(l.begins) {
		return never
	}
	return l.effects[at]
}

// overwritten returns when w was first surely overwritten, on a scale; never, if it was not.
func (k *key) overwritten(w *write, scale int) int64 {
	first := int64(never)
	for _, from := range w.effects {
		if l := k.lines[[2]int{from.scale, scale}]; l != nil {
			first = min(first, l.after(from.ns))
		}
	}
	return first
}

// late returns how long after its overwriting w was read by e, in ns; 0: it need not have been
// overwritten.
func (k *key) late(w *write, e *audit.HistoryEvent) (ns int64) {
	scale, within := k.clocks.of(e)
	for _, at := range []effect{{everyone, e.BeginNS - within}, {scale, e.BeginNS}} {
		if over := k.overwritten(w, at.scale); over < at.ns-slackNS {
			ns = max(ns, at.ns-over)
		}
		if scale == everyone {
			break
		}
	}
	return ns
}

// present says whether a value was surely there when e began, in a key without deletes.
func (k *key) present(e *audit.HistoryEvent) bool {
	scale, within := k.clocks.of(e)
	is := func(scale int, begin int64) bool {
		from, known := k.there[scale]
		return known && from < begin
	}
	return is(everyone, e.BeginNS-slackNS-within) || is(scale, e.BeginNS-slackNS)
}

// widened returns an operation with as much more time, before and after it, as its clock may be wrong,
// and withinNS more.
func (c clocks) widened(e audit.HistoryEvent, withinNS int64) audit.HistoryEvent {
	_, own := c.of(&e)
	e.BeginNS, e.EndNS = e.BeginNS-own-withinNS, e.EndNS+own+withinNS
	return e
}

// onOneClock returns a key of operations whose times are of one scale.
func (k *key) onOneClock(events []audit.HistoryEvent) *key {
	slices.SortStableFunc(events, func(a, b audit.HistoryEvent) int { return cmp.Compare(a.BeginNS, b.BeginNS) })
	return newKey(k.number, clocks{}, events, k.untilNS)
}

// forEveryone returns the key with all times on everyone's scale.
func (k *key) forEveryone() *key {
	if k.clocks.ofThread == nil {
		return k
	}
	all := make([]audit.HistoryEvent, len(k.events))
	for i, e := range k.events {
		all[i] = k.clocks.widened(e, 0)
	}
	return k.onOneClock(all)
}

// forEachClock returns a key for each clock: its operations as it reported them, and of those of others
// the writes that its reads returned, and deletes. Where all operations have an order, so have these:
// writes that nothing read can be left out of it.
func (k *key) forEachClock() (keys []*key) {
	if k.clocks.ofThread == nil {
		return nil
	}
	own := map[int][]audit.HistoryEvent{}
	var scales []int
	for _, e := range k.events {
		scale, _ := k.clocks.of(&e)
		if own[scale] == nil {
			scales = append(scales, scale)
		}
		own[scale] = append(own[scale], e)
	}
	for _, scale := range scales {
		events := own[scale]
		_, within := k.clocks.of(&events[0])
		var needed []*write
		taken := map[*write]bool{}
		for _, e := range events {
			if w := k.writes[e.Read]; w != nil && w.event != nil && !taken[w] {
				taken[w] = true
				needed = append(needed, w)
			}
		}
		for _, w := range k.ordered {
			if w.version == audit.Absent {
				needed = append(needed, w)
			}
		}
		for _, w := range needed {
			if w.scale == scale {
				continue
			}
			e := k.clocks.widened(*w.event, within)
			if e.Read = audit.NothingRead; e.Operation != trace.Delete {
				e.Operation = trace.Update // what it saw before it wrote is left out as well
			}
			events = append(events, e)
		}
		keys = append(keys, k.onOneClock(events))
	}
	return keys
}
