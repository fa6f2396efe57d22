package read

import (
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// ReplayFile is a recording that a phase plays, and how. The file's name alone is the short form.
type ReplayFile struct {
	File    string        `yaml:"file" jsonschema_description:"The recording; it may be compressed by gzip or zstd."`
	Format  RecordingForm `yaml:"format" jsonschema_description:"Its form. Default: found by looking."`
	Columns ColumnsOfFile `yaml:"columns" jsonschema_description:"Of a CSV file, which column is what: by its name in the header, or by its number from 1 on in a file without one. Default: the usual names."`

	Speed  *float64        `yaml:"speed" jsonschema_description:"How many times as fast as recorded requests come. Default: 1."`
	Closed bool            `yaml:"closed" jsonschema_description:"true: as fast as the store answers, whatever the recorded times. Default: false."`
	Loops  *Count          `yaml:"loops" jsonschema_description:"How often all of it is played, one time after the other. Default: 1."`
	From   DurationForm    `yaml:"from" jsonschema_description:"Requests before that time, since the first one, are left out."`
	Until  DurationForm    `yaml:"until" jsonschema_description:"Requests from that time on are left out."`
	TTL    RecordedTTLForm `yaml:"ttl" jsonschema_description:"recorded: values live as long as recorded ones, parted by the speed; none: recorded TTLs are left out. Default: recorded."`
	Sample OneInForm       `yaml:"sample" jsonschema_description:"1/N: one key in N, with all its requests. Default: all keys."`
}

// RecordedTTLForm says what becomes of recorded TTLs: recorded, or none.
type RecordedTTLForm string

const (
	ttlRecorded = "recorded"
	ttlNone     = "none"
)

func (f *RecordedTTLForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	if n.kind != scalar || n.text != ttlRecorded && n.text != ttlNone {
		return n.expected(path, ttlRecorded+" or "+ttlNone)
	}
	*f = RecordedTTLForm(n.text)
	return nil
}

// ColumnsOfFile says which column of a CSV recording is what.
type ColumnsOfFile struct {
	Time     string       `yaml:"time" jsonschema_description:"When the request came."`
	Op       string       `yaml:"op" jsonschema_description:"What it did: get, set, add, delete … Default: all are reads."`
	Key      string       `yaml:"key" jsonschema_description:"Its key, or anything that differs between keys."`
	KeyBytes string       `yaml:"key_length" jsonschema_description:"The key's length, where the key in the file is no more than its number."`
	Size     string       `yaml:"size" jsonschema_description:"The value's length in bytes."`
	TTL      string       `yaml:"ttl" jsonschema_description:"The value's time to live, in seconds."`
	Count    string       `yaml:"count" jsonschema_description:"How many such requests the line stands for."`
	Unit     TimeUnitForm `yaml:"unit" jsonschema_description:"Of times: s, ms, us or ns. Default: s."`
}

// OneInForm is 1/N. 0: not given.
type OneInForm uint64

func (f *OneInForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	rest, ok := strings.CutPrefix(strings.ReplaceAll(n.text, " ", ""), "1/")
	number, whole := parseWhole(rest)
	if n.kind != scalar || !ok || !whole || number < 1 || number > 1e9 {
		return n.expected(path, "1/N, such as 1/100: one key in 100")
	}
	*f = OneInForm(number)
	return nil
}

// Bounds of what follows from recordings.
const (
	speedMax      = 1e6
	loopsMax      = 1e6
	keyBytesSafe  = 6   // of binary keys: as many different ones as a trace has indexes
	keyDigitsSafe = 9   // of decimal keys: more than a recording has keys
	keyDigitsMost = 20  // that a shape may have
	keySuffixMax  = 200 // memcached's keys end at 250 bytes
)

// recordings reads the recordings that phases replay: how many keys they have, and how long these and
// their values are, decides what the file leaves open.
func (r *resolver) recordings() *Error {
	for i, p := range r.file.Phases {
		if p.Replay == nil {
			continue
		}
		replay, err := workResolver{r.ofPhase(i).below("replay")}.recording(p)
		if err != nil {
			return err
		}
		if r.replays == nil {
			r.replays = map[int]*experiment.Replay{}
		}
		r.replays[i] = replay
	}
	return nil
}

// recording resolves which part of a file is played, and reads it once.
func (r workResolver) recording(p PhaseFile) (*experiment.Replay, *Error) {
	f := p.Replay
	if f.File == "" {
		return nil, r.fail(r.in(), "a replay without a recording").hint("expected file: NAME")
	}
	name := f.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.folder, name)
	}
	name, failure := filepath.Abs(name)
	if failure != nil {
		return nil, r.fail(r.in("file"), "the recording %s: %s", f.File, failure)
	}
	replay := &experiment.Replay{
		Selection: recording.Selection{
			File: name, Format: recording.Format(f.Format), From: time.Duration(f.From),
			Until: time.Duration(f.Until), OneIn: uint64(f.Sample),
			Columns: recording.Columns{Time: f.Columns.Time, Operation: f.Columns.Op, Key: f.Columns.Key,
				KeyBytes: f.Columns.KeyBytes,
				Bytes:    f.Columns.Size, TTL: f.Columns.TTL, Count: f.Columns.Count, Unit: string(f.Columns.Unit)},
		},
		Speed: orNumber(f.Speed, 1), Closed: f.Closed, Loops: orCount64(f.Loops, 1), OwnValues: r.ownValues(),
	}
	switch {
	case !(replay.Speed > 0 && replay.Speed <= speedMax):
		return nil, r.fail(r.in("speed"), "a speed is above 0 and at most 1,000,000, not %v", replay.Speed)
	case replay.Closed && f.Speed != nil:
		return nil, r.fail(r.in("speed"), "closed: true plays as fast as the store answers: it has no speed")
	case replay.Loops < 1 || replay.Loops > loopsMax:
		return nil, r.fail(r.in("loops"), "loops are 1 to 1,000,000, not %d", replay.Loops)
	case f.Until > 0 && f.Until <= f.From:
		return nil, r.fail(r.in("until"), "it ends after %s, before it begins, after %s", time.Duration(f.Until), time.Duration(f.From))
	}
	var cuts []uint64
	if r.replays == nil { // the first one, whose keys are the records
		cuts = r.keyCuts()
	}
	summary, failure := replay.Summarize(nil, cuts[:min(len(cuts), keyCutsMax)]...)
	if failure != nil {
		return nil, r.fail(r.in("file"), "%s", failure)
	}
	replay.Summary = *summary
	if f.TTL != ttlNone {
		replay.PlayTTLs()
	}
	if most := uint64(trace.ReplayRequestsMax); summary.Requests > most {
		return nil, r.fail(r.in("file"), "the recording %s has %s requests, and %s fit a trace", f.File, format.Count(summary.Requests), format.Count(most)).
			hint("take one key in %d (sample: 1/%[1]d), or a part of its time (until: %s)", (summary.Requests+most-1)/most,
				time.Duration(float64(summary.DurationNS)*float64(most)/float64(summary.Requests)).
					Truncate(time.Second))
	}
	return replay, nil
}

// replayed resolves a phase that plays a recording.
func (r workResolver) replayed(i int, p PhaseFile) (experiment.Phase, *Error) {
	for _, name := range replayHasNot() {
		if r.has(r.in(name)) && (name != "load" || p.Load) {
			return experiment.Phase{}, r.fail(r.in(name), "the phase %s replays a recording, which says what comes when: it has no %s", p.Name, name)
		}
	}
	if p.Threads.changes() {
		return experiment.Phase{}, r.fail(r.in("threads"), "the phase %s replays a recording: its threads do not change", p.Name)
	}
	if r.has([]string{"agents"}) {
		return experiment.Phase{}, r.fail(r.in("replay"), "agents make traces of their own, and have no recording: a replay is for this machine's clients")
	}
	if len(r.file.Values.Columns) > 0 {
		return experiment.Phase{}, r.fail(r.in("replay"), "a recording has lengths of values: records with columns have no place beside it")
	}
	replay := r.replays[i]
	resolved := experiment.Phase{
		Name: p.Name, Mix: map[string]float64{}, Order: experiment.Order{Distribution: trace.Recorded}, Replay: replay,
		Operations: replay.Summary.Requests * replay.Loops, Duration: time.Duration(p.For),
		Unmeasured: p.Unmeasured, Optional: p.Optional,
	}
	for name, n := range replay.Summary.Operations {
		for o := recording.Get; o <= recording.Delete; o++ {
			if o.String() == name {
				resolved.Mix[trace.ReplayedAs(o).String()] += float64(n)
			}
		}
	}
	if len(replay.TTLs) > 0 && r.file.Latency.Every > 1 {
		return resolved, r.fail(r.in("replay"), "with latency: sampled(%d) most operations have no time, from which a recorded TTL could count", r.file.Latency.Every).
			hint("leave out latency, or write replay: {ttl: none}")
	}
	resolved.TTL = replay.TTLMix()
	if err := r.amounts(p, &resolved); err != nil {
		return resolved, err
	}
	r.noteReplay(replay)
	if replay.Closed {
		return resolved, nil
	}
	lasts := replay.Lasts()
	resolved.Rate = float64(resolved.Operations) / lasts.Seconds()
	if resolved.Rate > rateMax {
		return resolved, r.fail(r.in("replay", "speed"), "the recording would come at %s: at most 1e9 requests a second", format.Rate(resolved.Rate))
	}
	if p.For == 0 {
		resolved.Segments = replay.Segments()
	}
	return resolved, nil
}

// replayHasNot are the fields of a phase that say what a recording says, also those that are yet to come.
func replayHasNot() []string {
	names := []string{"load", "groups"}
	for field := range reflect.TypeFor[WorkFile]().Fields() {
		if name := field.Tag.Get("yaml"); !slices.Contains([]string{"for", "threads", "milestones"}, name) {
			names = append(names, name)
		}
	}
	return names
}

// noteReplay says what of a recording is played otherwise than it was.
func (r workResolver) noteReplay(replay *experiment.Replay) {
	s := &replay.Summary
	file := filepath.Base(replay.File)
	for _, left := range s.Parsed.Left {
		r.note("%s: %s left out: %s (the first is line %s)", file, format.Plural(int(left.Count), "line or request", "lines or requests"), left.Why, format.Count(left.First))
	}
	if s.Parsed.Late > 0 {
		r.note("%s: %s have a time before that of the line above, and are taken to come with it", file, format.Plural(int(s.Parsed.Late), "request", ""))
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(s.Operations)) {
		if name != recording.Get.String() && name != recording.Set.String() && name != recording.Delete.String() {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		r.note("%s: %s write a whole value here", file, format.List(others))
	}
	r.noteTTLs(file, replay)
}

// noteTTLs says what becomes of recorded TTLs.
func (r workResolver) noteTTLs(file string, replay *experiment.Replay) {
	s := &replay.Summary
	writes := uint64(0)
	for _, n := range s.TTLWrites {
		writes += n
	}
	switch {
	case writes > 0 && len(replay.TTLs) == 0:
		r.note("%s: the TTLs of %s are left out, as replay: {ttl: none} says", file, format.Plural(int(writes), "write", ""))
	case writes > 0 && replay.Speed != 1 && !replay.Closed:
		r.note("%s: TTLs are parted by the speed, and in whole seconds", file)
	}
	if others := s.TTLs - writes; others > 0 {
		r.note("%s: the TTLs of %s that write nothing have no effect", file, format.Plural(int(others), "request", ""))
	}
}

// ownValues reports whether the file says itself how long values are.
func (r *resolver) ownValues() bool {
	v := &r.file.Values
	return len(v.Bytes) > 0 || v.Sizes.count() > 0 || len(v.Columns) > 0
}

// firstReplay is the one from which the records follow; nil: there is none.
func (r *resolver) firstReplay() *experiment.Replay {
	for _, i := range slices.Sorted(maps.Keys(r.replays)) {
		return r.replays[i]
	}
	return nil
}

// usualRecords is how many records there are where the file does not say: all keys of a recording.
func (r *resolver) usualRecords() Count {
	if replay := r.firstReplay(); replay != nil {
		return Count(replay.Summary.Keys)
	}
	return defaultRecords
}

// recordedKeyBytes is the mean length of a recording's keys; 0: none tells one.
func (r *resolver) recordedKeyBytes() int {
	if replay := r.firstReplay(); replay != nil {
		return int(math.Round(replay.Summary.KeyBytesMean))
	}
	return 0
}

// recordedSizes are lengths of values as often as keys of the recording have them.
func (r *resolver) recordedSizes() (all []experiment.Size) {
	replay := r.firstReplay()
	if replay == nil || replay.Summary.ValueBytesMean() == 0 && len(replay.Summary.Sizes) == 0 {
		return nil
	}
	for i, bytes := range replay.Summary.Sizes {
		all = append(all, experiment.Size{Bytes: bytes, Weight: float64(replay.Summary.SizeKeys[i])})
	}
	return all
}

func (r *resolver) recordedValueBytes() Count {
	return Count(math.Round(r.firstReplay().Summary.ValueBytesMean()))
}
